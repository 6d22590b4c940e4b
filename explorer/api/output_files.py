"""Files that a user of the Python API asks for."""

from __future__ import annotations

from pathlib import Path

from explorer.api.arguments import describe_file_error, require_file
from explorer.errors import InvalidSetting, shorten


def write_new_file(file: str | Path, content: bytes, force: bool) -> Path:
    """Write a file and return its path.

    force: whether an existing file may be replaced

    Raises InvalidSetting if it may not, or if the file cannot be written.
    """
    path = require_file(file)
    try:
        if path.exists() and not force:
            raise InvalidSetting(f"{path} is already there. Give another file, or force=True to replace it.")
        path.write_bytes(content)
    except (OSError, ValueError) as error:
        raise InvalidSetting(
            f"{shorten(path, 200)} cannot be written: {describe_file_error(error)}. Give another file."
        ) from error
    return path
