"""The files of a zip that anybody may have made: nothing is extracted, and no header is believed.

Whether they make a run is for `unpacking.py` to say.
"""

from __future__ import annotations

import io
import re
import stat
import zipfile
import zlib
from pathlib import Path
from typing import Protocol, runtime_checkable

from explorer.environment import environment
from explorer.errors import DamagedRun, shortened

_MOST_ENTRIES = 400  # two for each of 64 snapshots, and a few
MOST_HEADER = 1_000_000  # bytes of what describes data: config, card, the header of weights, the list of a zip
_CHUNK = 1 << 16
STEP_FILE = re.compile(r"(snapshots|optimiser)/([0-9]{8})\.safetensors")
_RUN_FILES = ("config.json", "card.json", "events.parquet")
_TOKENIZER = "tokenizer.json"  # of runs that learned a text
_FOR_PEOPLE = ("metrics.csv", "MODEL_CARD.md")
_FOLDERS = ("", "snapshots/", "optimiser/")
NOTHING = "Nothing was imported: "


@runtime_checkable
class Readable(Protocol):
    """An open file: what `open(…, "rb")`, `io.BytesIO` and an upload are."""

    def read(self, size: int = ..., /) -> bytes: ...

    def seek(self, offset: int, whence: int = ..., /) -> int: ...

    def tell(self) -> int: ...

    def seekable(self) -> bool: ...


def refused(why: object) -> DamagedRun:
    return DamagedRun(f"{NOTHING}{why}")


class _Source:
    """A file of which nobody reads much at once, whatever a header says."""

    def __init__(self, file: Readable) -> None:
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable
        self._file = file

    def read(self, size: int = -1) -> bytes:
        return self._file.read(size if 0 <= size < MOST_HEADER else MOST_HEADER)


def files_in(content: bytes | Path | Readable) -> dict[str, bytes]:
    """The run's files in a zip, by name. What a header says of a size or a name is not believed."""
    if isinstance(content, Path):
        try:
            with content.open("rb") as opened:
                return files_in(opened)
        except OSError as error:
            raise refused(f"{shortened(content.name)} cannot be read ({error.strerror}).") from error
    file = io.BytesIO(content) if isinstance(content, bytes) else content
    try:
        archive = zipfile.ZipFile(_Source(file))
    except _BROKEN as error:
        raise refused("this is no zip file, or only a part of one.") from error
    with archive:
        wanted = _wanted(archive.infolist())
        room, files = environment().most_upload, {}
        for name, info in wanted.items():
            files[name] = _content(archive, info, name, room)
            room -= len(files[name])
    for name in _RUN_FILES:
        if name not in files:
            raise refused(f"the zip holds no {name}, so it is no run that Lineage exported.")
    return files


def _wanted(entries: list[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
    """The entries of the run's files, by name. Raises DamagedRun for anything that has no place in a run."""
    if len(entries) > _MOST_ENTRIES:
        raise refused(f"the zip has {len(entries):,} entries; a run has at most {_MOST_ENTRIES}.")
    if sum(info.file_size for info in entries) > environment().most_upload:
        raise too_large()
    for info in entries:
        name, kind = info.orig_filename, stat.S_IFMT(info.external_attr >> 16)
        if "\\" in name or "\0" in name or name.startswith("/") or ":" in name or ".." in name.split("/"):
            raise refused(f"the name “{shortened(name)}” in the zip leads out of the run's folder.")
        if kind not in (0, stat.S_IFDIR if name.endswith("/") else stat.S_IFREG):
            raise refused(f"“{shortened(name)}” in the zip is a link or a device, not a file.")
        if info.flag_bits & 0x2041:
            raise refused("the zip is encrypted. Make one without a password.")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise refused(f"“{shortened(name)}” is compressed in an unusual way. Zip it with deflate.")
    kept = [info for info in entries if not _of_a_mac(info.orig_filename)]
    top = _top([info.orig_filename for info in kept])
    wanted: dict[str, zipfile.ZipInfo] = {}
    for info in kept:
        name = info.orig_filename.removeprefix(top)
        if name in _FOLDERS:
            continue
        if name not in (*_RUN_FILES, _TOKENIZER) and name not in _FOR_PEOPLE and not STEP_FILE.fullmatch(name):
            raise refused(f"the zip holds “{shortened(name)}”, which is no file of a run.")
        if name in wanted:
            raise refused(f"the zip holds “{name}” twice.")
        wanted[name] = info
    return {name: info for name, info in wanted.items() if name not in _FOR_PEOPLE}


def _of_a_mac(name: str) -> bool:
    return name.startswith("__MACOSX/") or name.rsplit("/", 1)[-1] == ".DS_Store"


def _top(names: list[str]) -> str:
    """The one folder that holds everything, if somebody zipped the folder and not what is in it."""
    tops = {name.split("/", 1)[0] + "/" if "/" in name else "" for name in names}
    return tops.pop() if len(tops) == 1 and not tops & set(_FOLDERS) else ""


def _content(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str, room: int) -> bytes:
    """A file of the zip, as long as there is room for it."""
    parts: list[bytes] = []
    try:
        with archive.open(info) as file:
            while part := file.read(_CHUNK):
                room -= len(part)
                if room < 0:
                    raise too_large()
                parts.append(part)
    except _BROKEN as error:
        raise refused(f"“{name}” in the zip is damaged.") from error
    content = b"".join(parts)
    if len(content) != info.file_size:
        raise refused(f"“{name}” in the zip is damaged.")
    if name.endswith(".json") and len(content) > MOST_HEADER:
        raise refused(f"{name} is larger than that of any run.")
    return content


def too_large() -> DamagedRun:
    return refused(f"the zip unpacks to more than {environment().most_upload:,} bytes (LINEAGE_MOST_UPLOAD).")


# What zipfile raises on a file that is none: mostly BadZipFile, on odd fields these.
_BROKEN = (
    zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, RuntimeError, LookupError, OverflowError
)  # fmt: skip
