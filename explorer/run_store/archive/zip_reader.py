"""Reads the files of an untrusted zip: nothing is extracted to disk, and no header is trusted.

`read.py` checks whether the files are a run.
"""

from __future__ import annotations

import io
import re
import stat
import zipfile
import zlib
from pathlib import Path
from typing import BinaryIO

from explorer.environment import environment
from explorer.errors import DamagedRun, shorten

_MAX_ENTRIES = 400  # two for each of 64 snapshots, and a few
MAX_HEADER_BYTES = 1_000_000  # limit for descriptions: config, card, safetensors header, zip directory
STEP_FILE = re.compile(r"(snapshots|optimiser)/([0-9]{8})\.safetensors")
CURVES = "curves.safetensors"
PARQUET_CURVES = "events.parquet"  # all that archives of earlier versions have; now for those who unzip a run by hand
_RUN_FILES = ("config.json", "card.json", CURVES)
_INFORMATION_FILES = ("metrics.csv", "MODEL_CARD.md")
_FOLDERS = ("", "snapshots/", "optimiser/")
NOTHING_IMPORTED = "Nothing was imported: "


def step_file(what: str, step: int) -> str:
    """Return the name of a file of weights ("snapshots") or of optimizer state ("optimiser")."""
    return f"{what}/{step:08d}.safetensors"


def refusal(why: object) -> DamagedRun:
    """Return the error for an import that is refused, with its reason."""
    return DamagedRun(f"{NOTHING_IMPORTED}{why}")


class _LimitedReader:
    """A file that never returns more than MAX_HEADER_BYTES at once, whatever a header says."""

    def __init__(self, file: BinaryIO) -> None:
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable
        self._file = file

    def read(self, size: int = -1) -> bytes:
        return self._file.read(size if 0 <= size < MAX_HEADER_BYTES else MAX_HEADER_BYTES)


def read_files(content: bytes | Path | BinaryIO) -> dict[str, bytes]:
    """Return the contents of the run's files in a zip by name. Raises DamagedRun."""
    if isinstance(content, Path):
        try:
            with content.open("rb") as opened:
                return read_files(opened)
        except OSError as error:
            raise refusal(f"{shorten(content.name)} cannot be read ({error.strerror}).") from error
    file = io.BytesIO(content) if isinstance(content, bytes) else content
    try:
        archive = zipfile.ZipFile(_LimitedReader(file))
    except _ZIP_ERRORS as error:
        raise refusal("the file is not a zip file, or it is incomplete.") from error
    with archive:
        wanted = _run_entries(archive.infolist())
        room, files = environment().most_upload, {}
        for name, info in wanted.items():
            files[name] = _read_entry(archive, info, name, room)
            room -= len(files[name])
    for name in _RUN_FILES:
        if name not in files and not (name == CURVES and PARQUET_CURVES in files):
            raise refusal(f"the zip has no {name}, so it is not a run exported by Lineage.")
    return files


def _run_entries(entries: list[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
    """Return the entries of the run's files by name. Raises DamagedRun if an entry does not belong to a run."""
    if len(entries) > _MAX_ENTRIES:
        raise refusal(f"the zip has {len(entries):,} entries; a run has at most {_MAX_ENTRIES}.")
    if sum(info.file_size for info in entries) > environment().most_upload:
        raise refuse_size()
    for info in entries:
        name, kind = info.orig_filename, stat.S_IFMT(info.external_attr >> 16)
        if "\\" in name or "\0" in name or name.startswith("/") or ":" in name or ".." in name.split("/"):
            raise refusal(f"the name “{shorten(name)}” in the zip points outside the run's folder.")
        if kind not in (0, stat.S_IFDIR if name.endswith("/") else stat.S_IFREG):
            raise refusal(f"“{shorten(name)}” in the zip is a link or a device, not a file.")
        if info.flag_bits & 0x2041:
            raise refusal("the zip is encrypted. Make one without a password.")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise refusal(f"“{shorten(name)}” uses an unsupported compression. Zip it with deflate.")
    kept = [each for each in entries if not re.match(r"__MACOSX/|(.*/)?\.DS_Store$", each.orig_filename, re.DOTALL)]
    top = _common_folder([info.orig_filename for info in kept])
    wanted: dict[str, zipfile.ZipInfo] = {}
    for info in kept:
        name = info.orig_filename.removeprefix(top)
        if name in _FOLDERS:
            continue
        known = (*_RUN_FILES, PARQUET_CURVES, "tokenizer.json", *_INFORMATION_FILES)
        if name not in known and not STEP_FILE.fullmatch(name):
            raise refusal(f"the zip contains “{shorten(name)}”, which is not a file of a run.")
        if name in wanted:
            raise refusal(f"the zip contains “{name}” twice.")
        wanted[name] = info
    unread = (*_INFORMATION_FILES, *([PARQUET_CURVES] if CURVES in wanted else []))
    return {name: info for name, info in wanted.items() if name not in unread}


def _common_folder(names: list[str]) -> str:
    """Return the folder that contains all entries, if the run's folder itself was zipped, otherwise an empty text."""
    tops = {name.split("/", 1)[0] + "/" if "/" in name else "" for name in names}
    return tops.pop() if len(tops) == 1 and not tops & set(_FOLDERS) else ""


def _read_entry(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str, room: int) -> bytes:
    """Return the content of an entry. Raises DamagedRun if it is damaged or has more than `room` bytes."""
    try:
        with archive.open(info) as file:
            content = file.read(room + 1)
    except _ZIP_ERRORS as error:
        raise refusal(f"“{name}” in the zip is damaged.") from error
    if len(content) > room:
        raise refuse_size()
    if len(content) != info.file_size:
        raise refusal(f"“{name}” in the zip is damaged.")
    if name.endswith(".json") and len(content) > MAX_HEADER_BYTES:
        raise refusal(f"{name} is too large.")
    return content


def refuse_size() -> DamagedRun:
    """Return the error for a zip that unpacks to more than the limit."""
    problem = refusal(f"the zip unpacks to more than {environment().most_upload:,} bytes.")
    return problem.for_operator("The limit is LINEAGE_MOST_UPLOAD.")


# What zipfile raises on invalid files: mostly BadZipFile, the others on unusual fields.
_ZIP_ERRORS = (
    zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, RuntimeError, LookupError, OverflowError
)  # fmt: skip
