"""Where the stored runs lie. Needs no torch.

    runs/KEY/…           the files of a stored run, see `store.py`
    trash/KEY/…          a deleted run that can still be restored
    jobs/KEY/…           the files of an unfinished training
    .lineage-store       the id of this storage: a database is the index of one storage, see `index.py`

These folders lie in LINEAGE_HOME or, if LINEAGE_RUNS is a folder, in LINEAGE_RUNS, which several servers can share. A
URL such as s3://BUCKET/PREFIX is opened by another package.
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import re
import shutil
import tempfile
import threading
import time
import uuid
from collections.abc import Hashable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from pathlib import Path, PurePath
from pkgutil import resolve_name
from typing import Protocol, TypeAlias

from filelock import FileLock, Timeout

from explorer.atomic_files import sync_folder, write_file
from explorer.environment import environment
from explorer.errors import StoreError, shorten
from explorer.training.config import KEY as KEY

log = logging.getLogger(__name__)
ID_FILE = ".lineage-store"
HELP = "Give a folder that exists, such as /mnt/runs, or the URL of an object storage, such as s3://BUCKET/PREFIX."
RUN_FILE = re.compile(r"(config|card|tokenizer)\.json|events\.parquet|(snapshots|optimiser)/[0-9]{8}\.safetensors")
LEFTOVER_SECONDS = 3_600.0  # after which an incomplete run is the leftover of a crash, and nobody is writing it
TRASH_SECONDS = 86_400.0  # after which a deleted run of several servers can no longer be restored
_ELSEWHERE = "explorer.cluster.object_storage:open_shared"  # loaded only if LINEAGE_RUNS is set
_LOCK_SECONDS = 30.0  # that a process waits for another one that changes runs


class RemoteFolder(Hashable, Protocol):
    """The files of a run that are not on this machine. It is used like the path of a folder."""

    @property
    def name(self) -> str: ...

    def __truediv__(self, name: str) -> Path:
        """Return a copy of a file on this machine; it does not exist if there is no such file. Raises StoreError."""

    def glob(self, pattern: str) -> Iterable[PurePath]:
        """Return the paths of the files that match a pattern, within this folder. Raises StoreError."""

    def size(self) -> int:
        """Return the bytes of all files. Raises StoreError."""


RunFolder: TypeAlias = Path | RemoteFolder


class RunStorage:
    """All stored runs, in folders on a disk. Storage of another kind is a subclass that replaces every public method.

    is_shared: whether the folder is that of LINEAGE_RUNS

    Every method may be called from any thread, and raises StoreError or OSError.
    """

    refresh_seconds = 2.0  # after which the index looks for changes

    def __init__(self, root: Path, is_shared: bool) -> None:
        self.address = str(root)  # shown to users, without credentials
        # The folder of the unfinished trainings of a cluster; those of a server are in LINEAGE_HOME/jobs.
        self.jobs = root / ("jobs" if is_shared else "cluster-jobs")
        self._root, self._is_shared, self._id = root, is_shared, ""
        self._runs, self._trash = root / "runs", root / "trash"

    def id(self) -> str:
        """Return the id of this storage, which is created if there is none."""
        if not self._id:
            file = self._root / ID_FILE
            with _lock, self.lock():
                if not file.is_file():
                    write_file(file, f"{uuid.uuid4().hex}\n".encode())
                self._id = file.read_text("utf-8").strip()
        return self._id

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Exclude other processes that change runs, if this is possible. See `changing_runs`."""
        if self._is_shared and not self._root.is_dir():
            raise StoreError(
                f"LINEAGE_RUNS = {shorten(self.address, 100)}: there is no such folder. Create it, or mount it."
            )
        held: AbstractContextManager[object] = nullcontext()
        try:
            # A singleton, so that the thread that holds it can take it again.
            held = FileLock(self._root / "runs.lock", _LOCK_SECONDS, thread_local=False, is_singleton=True).acquire()
        except Timeout:
            raise StoreError(
                "Runs cannot be changed now, because another process has been changing them for a long time. Try "
                "again in a moment."
            ) from None
        except (OSError, NotImplementedError):
            pass  # a folder that cannot be written, or that knows no locks
        with held:
            yield

    def folder(self, key: str, deleted: bool = False) -> RunFolder:
        """Return the folder of a run, or of a deleted one; there need not be such a run."""
        return (self._trash if deleted else self._runs) / key

    def changes(self) -> dict[str, int]:
        """Return the keys of all runs, each with a number that differs after a change of its card."""
        self._check_mounted()
        found, names = {}, []
        try:
            names = sorted(os.listdir(self._runs))
        except OSError as error:  # there are no runs yet, or they cannot be read
            if self._is_shared and not isinstance(error, FileNotFoundError):
                raise StoreError(f"The runs in {self.address} cannot be read: {error.strerror}.") from error
        for key in filter(KEY.fullmatch, names):
            with contextlib.suppress(OSError):  # not a run, or deleted meanwhile
                found[key] = self.card_version(key)
        return found

    def card_version(self, key: str) -> int:
        """Return the number of `changes` for one run."""
        # A string: to make a Path for each of thousands of runs is slow.
        return os.stat(f"{self.address}/runs/{key}/card.json").st_mtime_ns

    def install(self, folder: Path, key: str) -> None:
        """Move a complete run folder of this machine into the storage, where it replaces an older run."""
        self._check_mounted()
        self._runs.mkdir(parents=True, exist_ok=True)
        try:
            replace_folder(folder, self._runs / key)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            with tempfile.TemporaryDirectory(dir=self._runs, prefix=".writing-") as work:  # on another disk
                new = Path(work) / "run"
                shutil.copytree(folder, new, copy_function=lambda a, b: write_file(Path(b), Path(a).read_bytes()))
                replace_folder(new, self._runs / key)
            shutil.rmtree(folder)

    def write_card(self, key: str, content: bytes) -> None:
        """Replace the card of a run."""
        write_file(self._runs / key / "card.json", content)

    def delete(self, key: str) -> None:
        """Move a run to the trash, where it replaces an older one."""
        self._trash.mkdir(parents=True, exist_ok=True)
        os.utime(self._runs / key)  # since when it is in the trash
        replace_folder(self._runs / key, self._trash / key)

    def restore(self, key: str) -> None:
        """Move a run back from the trash."""
        self._runs.mkdir(parents=True, exist_ok=True)
        replace_folder(self._trash / key, self._runs / key)

    def erase(self, key: str, deleted: bool = False) -> None:
        """Delete a run, or a deleted one, for good, if there is one."""
        if isinstance(folder := self.folder(key, deleted), Path) and folder.is_dir():
            remove_folder(folder)

    def empty_trash(self) -> None:
        """Delete the runs in the trash for good; with LINEAGE_RUNS, those that have been there for a day."""
        if not self._is_shared and self._trash.is_dir():
            remove_folder(self._trash)
        for folder in self._trash.glob("[!.]*"):
            if folder.stat().st_mtime < time.time() - TRASH_SECONDS:
                remove_folder(folder)

    def recover(self) -> None:
        """Clean up after crashes. Leftovers younger than an hour are kept: a process may still be writing them."""
        for left in (
            *(left for folder in (self._runs, self._trash) for left in folder.glob(".*-*")),
            *environment().home.glob(".importing-*"),
        ):
            try:
                if left.stat().st_mtime > time.time() - LEFTOVER_SECONDS:
                    continue
                if left.match("runs/.old-*") and (left / "run" / "card.json").is_file():
                    key = json.loads((left / "run" / "card.json").read_text("utf-8"))["key"]
                    if KEY.fullmatch(key) and not (self._runs / key).exists():  # a crash between two renames
                        (left / "run").rename(self._runs / key)
                shutil.rmtree(left)
            except (OSError, ValueError, KeyError, TypeError):
                log.exception("%s was left by a crash and cannot be cleaned up", left)

    def unfinished_keys(self) -> list[str]:
        """Return the keys of the unfinished trainings in `jobs`."""
        return sorted(file.parent.name for file in self.jobs.glob("[!.]*/job.json"))

    def save_job(self, key: str) -> None:
        """Keep the files of an unfinished training where every machine finds them; nothing to do if `jobs` is there."""

    def load_job(self, key: str) -> None:
        """Replace the files of an unfinished training by those that `save_job` has kept, if there are any."""

    def delete_job(self, key: str) -> None:
        """Delete what `save_job` has kept."""

    def _check_mounted(self) -> None:
        """Raise StoreError if LINEAGE_RUNS has other content than before: all runs would seem to be gone."""
        if not self._is_shared:
            return
        known, found = self.id(), ""
        with contextlib.suppress(OSError):
            found = (self._root / ID_FILE).read_text("utf-8").strip()
        if found != known:
            raise StoreError(
                f"{shorten(self.address, 100)} no longer contains the runs that were there. Mount it again, or restart "
                "the server if LINEAGE_RUNS is meant to be another folder now."
            )


_lock = threading.RLock()


def current() -> RunStorage:
    """Return the storage of the current settings. Raises InvalidSetting if LINEAGE_RUNS names none, or StoreError."""
    settings = environment()
    return _open(settings.run_storage, settings.home)


@lru_cache(maxsize=8)
def _open(url: str, home: Path) -> RunStorage:
    if not url:
        return RunStorage(home, is_shared=False)
    shared: RunStorage = resolve_name(_ELSEWHERE)(url)
    return shared


@contextmanager
def changing_runs() -> Iterator[None]:
    """Hold the lock under which runs are changed; a thread may take it again. Raises StoreError if others keep it."""
    with _lock, current().lock():
        yield


def folder_size(folder: RunFolder) -> int:
    """Return the bytes that a run takes."""
    if not isinstance(folder, Path):
        return folder.size()
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def replace_folder(folder: Path, place: Path) -> None:
    """Move a complete run folder to its place, where it replaces an older one."""
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=".old-") as old:
        before_it = Path(old) / "run"
        if place.exists():
            place.rename(before_it)
        try:
            folder.rename(place)
        except OSError:
            if before_it.exists():
                before_it.rename(place)
            raise
    sync_folder(place.parent)


def remove_folder(folder: Path) -> None:
    """Delete a folder; it is renamed first, so it is never visible half deleted."""
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".old-") as old:
        folder.rename(Path(old) / "run")
