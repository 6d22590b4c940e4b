"""The runs that several servers share, in the folder or object storage of LINEAGE_RUNS. Needs no torch.

    .lineage-store             the id of this storage: a database is the index of one storage, see `index.py`
    cards/KEY.json             a stored run: its card, its configuration; name, size and SHA-256 of each file
    runs/KEY/VERSION/…         these files, as in a run folder; they never change
    trash/KEY.json             the card of a deleted run that can still be restored
    checkpoints/KEY.zip        the checkpoint of an unfinished training

A run is there as soon as its card is, which is written last. A run that replaces another one has another VERSION, so
that a reader finds all of the old files or all of the new ones, and a server that is killed while it writes leaves
files that nobody sees; `tidy` deletes them after an hour.

`environment().runs` has copies of these runs (`local_copies.py`). Without LINEAGE_RUNS `current` is None, and that
folder has the runs themselves. Every function raises StoreError if the storage does not answer, and may be called from
any thread.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import logging
import re
import shutil
import tempfile
import uuid
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import pydantic

from explorer.environment import environment
from explorer.errors import DamagedRun, InvalidSetting, LineageError, StoreError, shorten
from explorer.run_store import store
from explorer.run_store.change_lock import changing_runs
from explorer.run_store.places import Folder, Place, open_place
from explorer.run_store.store import Card
from explorer.training.config import KEY, RunConfig, key, parse_config, to_json

log = logging.getLogger(__name__)
_ID_FILE = ".lineage-store"
_ID = re.compile("[0-9a-f]{32}")
_VERSION = re.compile("[0-9a-f]{32}")
_RUN_FILE = re.compile(r"config\.json|events\.parquet|tokenizer\.json|(snapshots|optimiser)/[0-9]{8}\.safetensors")
_MOST_FILES = 2_000  # of one run
_MOST_CARD = 16_000_000  # bytes of a file in cards/
_LEFTOVER = datetime.timedelta(hours=1)  # after which files without a card are deleted
_TRASH = datetime.timedelta(days=1)  # after which a deleted run can no longer be restored
_FORGOTTEN = datetime.timedelta(days=30)  # after which nobody continues a training from its checkpoint


class _File(pydantic.BaseModel, frozen=True):
    bytes: Annotated[int, pydantic.Field(ge=0, le=2**50)]
    sha256: str


class _Document(pydantic.BaseModel, frozen=True):
    """The content of a file in cards/ or trash/."""

    format: int = 1
    version: str
    files: dict[str, _File]
    config: dict[str, Any]
    card: Card


@dataclass(frozen=True)
class SharedRun:
    """A run in the storage, without its curves and weights."""

    card: Card
    config: RunConfig
    version: str  # of its files
    files: dict[str, _File]
    changed: int  # differs after every change of the card

    @property
    def key(self) -> str:
        return self.card.key

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files.values())


def current() -> Storage | None:
    """Return the storage of LINEAGE_RUNS, or None. Raises InvalidSetting if it names none."""
    url = environment().run_storage
    return _open(url, environment().home) if url else None


@lru_cache(maxsize=4)
def _open(url: str, home: Path) -> Storage:
    place = open_place(url)
    if isinstance(place, Folder) and place.root.resolve().is_relative_to(home.resolve()):
        raise InvalidSetting(
            f"LINEAGE_RUNS = {shorten(place.address, 100)} lies in LINEAGE_HOME = {home}, where this server deletes "
            "its copies of runs to free space. Give LINEAGE_RUNS a folder elsewhere."
        )
    return Storage(place)


def save_checkpoint(run_key: str, folder: Path) -> None:
    """Copy the checkpoint of a training, a folder as `store.write_run` makes it, so that another server can continue.

    It replaces an earlier one at once. Does nothing without LINEAGE_RUNS. Raises StoreError or OSError.
    """
    if storage := current():
        storage.save_checkpoint(run_key, folder)


def load_checkpoint(run_key: str, folder: Path) -> bool:
    """Replace the checkpoint in a folder by the one in the storage; return False if there is none.

    A checkpoint that is damaged or is that of another run is ignored, and the folder stays as it was. Files in the
    folder that belong to no run (`job.json`) stay. Returns False without LINEAGE_RUNS. Raises StoreError or OSError.
    """
    storage = current()
    return storage.load_checkpoint(run_key, folder) if storage else False


def delete_checkpoint(run_key: str) -> None:
    """Delete the checkpoint of a training, if there is one. Does nothing without LINEAGE_RUNS. Raises StoreError."""
    if storage := current():
        storage.delete_checkpoint(run_key)


class Storage:
    """The runs and checkpoints in one place."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._known_id = ""

    @property
    def address(self) -> str:
        """Its URL, without credentials."""
        return self.place.address

    def id(self) -> str:
        """Return the id of this storage, which is created if there is none. Raises StoreError."""
        if not self._known_id:
            self.place.check()
            if (found := self._read_id()) is None:
                self.place.create(_ID_FILE, f"{uuid.uuid4().hex}\n".encode())
                found = self._read_id()  # perhaps that of another server
            if found is None:
                raise StoreError(f"The run storage {self.address} does not keep what is written. Check LINEAGE_RUNS.")
            self._known_id = found
        return self._known_id

    def verify(self) -> None:
        """Raise StoreError if this is another storage than before, such as a folder that is no longer mounted."""
        known = self.id()
        if self._read_id() != known:
            raise StoreError(
                f"{self.address} no longer contains the run storage that was there. Mount it again, or restart the "
                "server if LINEAGE_RUNS is meant to be another storage now."
            )

    def _read_id(self) -> str | None:
        content = self.place.read(_ID_FILE, 100)
        if content is None:
            return None
        if not _ID.fullmatch(text := content.decode(errors="replace").strip()):
            raise StoreError(
                f"{self.address} contains a file {_ID_FILE} that is not one of Lineage. Give LINEAGE_RUNS another "
                "folder or prefix."
            )
        return text

    def find(self, run_key: str, deleted: bool = False) -> SharedRun | None:
        """Return a run, or a deleted one; None if there is none. Raises DamagedRun if its card cannot be read."""
        content = self.place.read(_card_name(run_key, deleted), _MOST_CARD)
        return None if content is None else _parse(content, run_key)

    def has(self, run_key: str) -> bool:
        """Return whether there is a run with this key, perhaps a damaged one."""
        return self.place.size(_card_name(run_key)) is not None

    def keys(self, deleted: bool = False) -> dict[str, str]:
        """Return the keys of all runs, or of the deleted ones, each with a text that differs after a change."""
        names = self.place.names("trash" if deleted else "cards")
        return {name[:-5]: mark for name, mark in names.items() if name.endswith(".json") and KEY.fullmatch(name[:-5])}

    def upload(self, folder: Path, card: Card) -> SharedRun:
        """Copy the files of a run folder into the storage, where nobody sees them until `publish`."""
        self.verify()
        config = parse_config(json.loads((folder / "config.json").read_text("utf-8")))
        files = {
            name: _File(bytes=file.stat().st_size, sha256=_sha256(file)) for name, file in sorted(_run_files(folder))
        }
        version = uuid.uuid4().hex
        self.place.upload({f"runs/{card.key}/{version}/{name}": folder / name for name in files})
        return SharedRun(card, config, version, files, 0)

    def publish(self, run: SharedRun) -> SharedRun:
        """Write the card of a run whose files are in the storage. It replaces a run with the same key."""
        document = _Document(version=run.version, files=run.files, config=to_json(run.config), card=run.card)
        content = store.json_bytes(document.model_dump())
        self.place.write(_card_name(run.key), content)
        return replace(run, changed=_fingerprint(content))

    def download(self, run: SharedRun, folder: Path) -> None:
        """Write a run into a new folder, with its card last. Raises DamagedRun, FileNotFoundError or StoreError."""
        most = max((file.bytes for file in run.files.values()), default=0)
        names = {f"runs/{run.key}/{run.version}/{name}": folder / name for name in run.files}
        self.place.download(names, most)
        for name, file in run.files.items():
            if (folder / name).stat().st_size != file.bytes or _sha256(folder / name) != file.sha256:
                raise DamagedRun(f"The run {run.key} in {self.address} is damaged: {name} has changed. Train it again.")
        store.write_file(folder / "card.json", store.json_bytes(run.card.model_dump()))

    def delete(self, run_key: str) -> None:
        """Move a run to the trash; only its card is moved."""
        content = self.place.read(_card_name(run_key), _MOST_CARD)
        if content is None:
            return
        before = self._find_readable(run_key, deleted=True)
        self.place.write(_card_name(run_key, deleted=True), content)
        self.place.delete(_card_name(run_key))
        run = _parse_if_possible(content, run_key)
        if before and run and before.version != run.version:
            self.delete_files(before)

    def restore(self, run_key: str) -> None:
        """Move a run back from the trash."""
        content = self.place.read(_card_name(run_key, deleted=True), _MOST_CARD)
        if content is not None:
            self.place.write(_card_name(run_key), content)
            self.place.delete(_card_name(run_key, deleted=True))

    def purge(self, run_key: str) -> None:
        """Delete a run in the trash for good."""
        trashed, stored = self._find_readable(run_key, deleted=True), self._find_readable(run_key)
        self.place.delete(_card_name(run_key, deleted=True))
        if trashed and not (stored and stored.version == trashed.version):
            self.delete_files(trashed)

    def erase(self, run_key: str) -> None:
        """Delete a run for good, without the trash."""
        run = self._find_readable(run_key)
        self.place.delete(_card_name(run_key))
        if run:
            self.delete_files(run)

    def delete_files(self, run: SharedRun) -> None:
        """Delete the files of a run whose card is gone or names other files."""
        self.place.delete(f"runs/{run.key}/{run.version}")

    def tidy(self, now: datetime.datetime) -> None:
        """Delete what killed servers have left, and what has been in the trash for a day.

        Holds the lock of all servers for one run at a time, and not while it lists the files of thousands.
        """
        for run_key in self.keys(deleted=True):
            with changing_runs():
                if self._is_older(_card_name(run_key, deleted=True), now - _TRASH):
                    self.purge(run_key)
        versions: dict[str, dict[str, datetime.datetime]] = {}  # of each run, with the time of the newest file
        for name, changed in self.place.change_times("runs").items():
            run_key, _, rest = name.partition("/")
            found = versions.setdefault(run_key, {})
            version = rest.partition("/")[0]
            found[version] = max(changed, found.get(version, changed))
        listed = self.keys().keys() | self.keys(deleted=True).keys()
        for run_key, found in versions.items():
            if KEY.fullmatch(run_key) and (run_key not in listed or len(found.keys() - {""}) > 1):
                self._delete_unused(run_key, [each for each, changed in found.items() if changed < now - _LEFTOVER])
        for name, changed in self.place.change_times("checkpoints").items():
            if name.endswith(".zip") and changed < now - _FORGOTTEN:
                self.place.delete(f"checkpoints/{name}")
        for folder in ("", "cards", "trash", "checkpoints", "runs"):
            for name in self.place.names(folder):
                path = f"{folder}/{name}" if folder else name
                if name.startswith(".") and name != _ID_FILE and self._is_older(path, now - _LEFTOVER):
                    self.place.delete(path)

    def _delete_unused(self, run_key: str, versions: list[str]) -> None:
        """Delete these versions of the files of a run, except those that a card names. "" is their folder."""
        with changing_runs():
            try:
                cards = [self.find(run_key), self.find(run_key, deleted=True)]
            except DamagedRun:
                return  # it is not known which files it names
            used = {card.version for card in cards if card}
            for version in versions:
                if version and version not in used:
                    self.place.delete(f"runs/{run_key}/{version}")
            if versions and not used and not self.place.names(f"runs/{run_key}"):
                self.place.delete(f"runs/{run_key}")

    def save_checkpoint(self, run_key: str, folder: Path) -> None:
        """See the function `save_checkpoint`."""
        environment().home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=environment().home, prefix=".importing-") as work:
            packed = Path(work) / "checkpoint.zip"
            with zipfile.ZipFile(packed, "w") as archive:  # weights cannot be compressed
                for name, file in sorted([*_run_files(folder), ("card.json", folder / "card.json")]):
                    archive.write(file, name)
            self.place.replace(_checkpoint_name(run_key), packed)

    def load_checkpoint(self, run_key: str, folder: Path) -> bool:
        """See the function `load_checkpoint`."""
        size = self.place.size(_checkpoint_name(run_key))
        if size is None:
            return False
        folder.parent.mkdir(parents=True, exist_ok=True)
        environment().home.mkdir(parents=True, exist_ok=True)
        try:
            with tempfile.TemporaryDirectory(dir=environment().home, prefix=".importing-") as work:
                packed, unpacked = Path(work) / "checkpoint.zip", Path(work) / "run"
                if size > environment().most_disk:
                    raise DamagedRun(f"It has {size:,} bytes, more than LINEAGE_MOST_DISK.")
                self.place.download({_checkpoint_name(run_key): packed}, size)
                _unpack(packed, unpacked)
                if store.load(unpacked).key != run_key:
                    raise DamagedRun("It is that of another run.")
                _replace_run_files(folder, unpacked)
        except FileNotFoundError:
            return False  # deleted meanwhile
        except (LineageError, zipfile.BadZipFile, zlib.error, ValueError, RuntimeError, EOFError) as error:
            if isinstance(error, StoreError):
                raise
            log.warning("the checkpoint of %s in %s cannot be used: %s", run_key, self.address, error)
            return False
        return True

    def delete_checkpoint(self, run_key: str) -> None:
        """See the function `delete_checkpoint`."""
        self.place.delete(_checkpoint_name(run_key))

    def _find_readable(self, run_key: str, deleted: bool = False) -> SharedRun | None:
        try:
            return self.find(run_key, deleted)
        except DamagedRun as error:
            log.warning("the card of run %s in the storage cannot be read: %s", run_key, error)
            return None

    def _is_older(self, name: str, moment: datetime.datetime) -> bool:
        return max(self.place.change_times(name).values(), default=moment) < moment


def _card_name(run_key: str, deleted: bool = False) -> str:
    return f"{'trash' if deleted else 'cards'}/{_require_key(run_key)}.json"


def _checkpoint_name(run_key: str) -> str:
    return f"checkpoints/{_require_key(run_key)}.zip"


def _require_key(run_key: str) -> str:
    if not KEY.fullmatch(run_key):
        raise ValueError(f"“{shorten(run_key)}” is not the key of a run")
    return run_key


def _parse(content: bytes, run_key: str) -> SharedRun:
    """Return the run of a card in the storage. Raises DamagedRun."""
    try:
        if len(content) > _MOST_CARD:
            raise ValueError("it is too large")
        document = _Document.model_validate_json(content)
        config = parse_config(document.config)
        if not run_key == document.card.key == key(config):
            raise ValueError("it is that of another run")
        if not config.first_step <= document.card.step <= config.steps:
            raise ValueError("its step is not one of its training")
        if not _VERSION.fullmatch(document.version) or len(document.files) > _MOST_FILES:
            raise ValueError("its files are not those of a run")
        if wrong := [name for name in document.files if not _RUN_FILE.fullmatch(name)]:
            raise ValueError(f"“{shorten(wrong[0])}” is not a file of a run")
    except (LineageError, ValueError, TypeError, LookupError, ArithmeticError, RecursionError) as error:
        raise DamagedRun(f"The card of run {run_key} cannot be read: {shorten(error, 200)}.") from error
    return SharedRun(document.card, config, document.version, document.files, _fingerprint(content))


def _parse_if_possible(content: bytes, run_key: str) -> SharedRun | None:
    try:
        return _parse(content, run_key)
    except DamagedRun:
        return None


def _run_files(folder: Path) -> Iterable[tuple[str, Path]]:
    """Return the names and paths of the files of a run, without its card and without what belongs to a job."""
    for file in folder.rglob("*"):
        name = file.relative_to(folder).as_posix()
        if _RUN_FILE.fullmatch(name) and file.is_file():
            yield name, file


def _unpack(packed: Path, folder: Path) -> None:
    """Unpack a checkpoint into a new folder. Raises ValueError if it contains anything but the files of a run."""
    folder.mkdir()
    with zipfile.ZipFile(packed) as archive:
        entries, room = archive.infolist(), environment().most_disk
        names = [entry.filename for entry in entries]
        wrong = [name for name in names if name != "card.json" and not _RUN_FILE.fullmatch(name)]
        if wrong or len(set(names)) != len(names) or len(names) > _MOST_FILES:
            raise ValueError(f"“{shorten(wrong[0] if wrong else len(names))}” is not a file of a run")
        for entry in entries:
            file = folder / entry.filename
            file.parent.mkdir(exist_ok=True)
            with archive.open(entry) as source, file.open("wb") as copy:
                while part := source.read(1 << 20):
                    room -= len(part)
                    if room < 0:
                        raise ValueError("it unpacks to more bytes than LINEAGE_MOST_DISK")
                    copy.write(part)


def _replace_run_files(folder: Path, new: Path) -> None:
    """Move the files of a run into a folder in place of those there, with the card last."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "card.json").unlink(missing_ok=True)
    for _, file in list(_run_files(folder)):
        file.unlink()
    for name, file in sorted(_run_files(new)):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.move(file, folder / name)
    shutil.move(new / "card.json", folder / "card.json")


def _fingerprint(content: bytes) -> int:
    """Return a number of 63 bits that differs for different contents."""
    return int.from_bytes(hashlib.sha256(content).digest()[:8]) >> 1


def _sha256(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
