"""Write a file so that it is either old or new after a crash, or only if it is new; say why a disk refuses it."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

from explorer.errors import InvalidSetting, shorten
from explorer.visible_text import escape_in_json


def json_bytes(data: Any) -> bytes:
    """Return data as a readable JSON file; invisible characters of its texts are escaped."""
    return escape_in_json(json.dumps(data, indent=2, ensure_ascii=False) + "\n").encode()


def write_file(file: Path, content: bytes) -> None:
    """Write a file atomically: temporary file, fsync, rename."""
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_name(f".{file.name}.new")
    try:
        with new.open("wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        new.replace(file)
    except OSError:
        new.unlink(missing_ok=True)
        raise
    sync_folder(file.parent)


def is_disk_full(error: OSError) -> bool:
    """Return whether a file could not be written because the disk, or the share of this user, is full."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def describe_disk_error(error: OSError) -> str:
    """Return the end of a sentence that names the cause for which something could not be written."""
    if is_disk_full(error):
        return "the disk is full. Delete stored runs or other files; on a server, ask its operator."
    return f"the disk cannot be written to ({error.strerror or type(error).__name__})."


def describe_file_error(error: OSError | ValueError) -> str:
    """Return why a file cannot be read or written. ValueError: a name that no file can have, as one with a NUL."""
    return getattr(error, "strerror", None) or "it is no file name"


def check_new_file(file: Path, force: bool, how_to_force: str = "--force") -> None:
    """Raise InvalidSetting if a file exists and may not be overwritten, or if it cannot be written."""
    try:
        if file.is_dir():
            raise InvalidSetting(f"{file} is a folder. Give the name of a file.")
        if file.exists() and not force:
            raise InvalidSetting(f"{file} exists. Give another name, or {how_to_force} to overwrite it.")
        if not file.parent.is_dir():
            raise InvalidSetting(
                f"{file} cannot be written: there is no folder {file.parent}. Make it first, or give another."
            )
        if not os.access(file if file.exists() else file.parent, os.W_OK):
            raise InvalidSetting(f"{file} cannot be written: permission denied. Give another file.")
    except (OSError, ValueError) as error:
        raise InvalidSetting(
            f"{shorten(file, 200)} cannot be written: {describe_file_error(error)}. Give another file."
        ) from error


def write_new_file(file: Path, content: bytes, force: bool, how_to_force: str = "--force") -> None:
    """Write a file. Raises InvalidSetting if it exists and may not be overwritten, or if it cannot be written."""
    check_new_file(file, force, how_to_force)
    try:
        file.write_bytes(content)
    except OSError as error:
        raise InvalidSetting(f"{file} cannot be written: {error.strerror}. Give another file.") from error


def sync_folder(folder: Path) -> None:
    """Flush the directory entry of a folder to disk. Windows cannot open a folder; it writes the entries itself."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except PermissionError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
