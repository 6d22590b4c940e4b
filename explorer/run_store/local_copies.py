"""The folder `environment().runs` with LINEAGE_RUNS: copies of the runs in the storage, made when they are needed.

A copy has a file `.copy.json` that names the version of the run; the time of this file is that of its last use. A
folder without it is a run of this machine that is not in the storage yet: `operations.upload_runs` copies it there.

The index says whether a copy is up to date, so that the storage is asked only about runs that are new here or have
changed. Copies that were not used for the longest time are deleted when all of them take more than LINEAGE_MOST_COPIES.
"""

from __future__ import annotations

import contextlib
import logging
import os
import tempfile
import threading
import time
from concurrent.futures import Future
from pathlib import Path
from typing import TypeAlias

import pydantic

from explorer.database.servers import is_registered
from explorer.environment import environment
from explorer.errors import DamagedRun, StoreError
from explorer.number_format import format_bytes
from explorer.run_store import index, storage, store
from explorer.run_store.storage import SharedRun, Storage

log = logging.getLogger(__name__)
_MARKER = ".copy.json"
_WAIT_SECONDS = 3.0  # that a page of a server waits for a download; it goes on in the background
_SHORT_WAIT_SECONDS = 0.2  # the same for _SLOW_SECONDS after a page waited in vain: it may need many runs
_SLOW_SECONDS = 30.0
_IN_USE_SECONDS = 60.0  # after which a copy may be deleted to free space
_TRUST_SECONDS = 60.0  # how long a copy counts as up to date although the index has another version
_DATABASE_SECONDS = 5.0  # after the database did not answer, until it is asked again
_AT_ONCE = threading.BoundedSemaphore(8)
_Copy: TypeAlias = tuple[Path, str]  # the folder of all copies, and the key of a run


class _Marker(pydantic.BaseModel, frozen=True):
    version: str  # of the files
    changed: int  # of the card
    bytes: int


_lock = threading.Lock()
_folders_lock = threading.RLock()  # held while folders of copies are replaced or deleted
_downloads: dict[_Copy, Future[None]] = {}
_confirmed: dict[_Copy, tuple[int | None, float]] = {}  # what the index said of a copy that is up to date, and when
_database_failed_at = float("-inf")
_slow_at = float("-inf")  # when a page waited in vain


def update(key: str, patient: bool = False) -> None:
    """Make the local copy of a run that of the storage: download it, write its changed card, or delete it.

    patient: wait for a download until its end; a terminal and a notebook always do

    A copy stays as it is while the storage does not answer. Raises StoreError if there is none, or if the download
    takes too long, and DamagedRun if the files in the storage do not fit together.
    """
    shared = storage.current()
    if shared is None:
        return
    copy = (environment().runs, key)
    folder = copy[0] / key
    marker = _read_marker(folder)
    if marker is None and (folder / "card.json").is_file():
        return  # not in the storage yet
    try:
        known = _indexed_version(key)
    except StoreError:
        if marker:
            return
        known = None
    else:
        if marker is None and known is None:
            return  # there is no such run
        confirmed, moment = _confirmed.get(copy, (None, float("-inf")))
        trusted = confirmed == known and time.monotonic() - moment < _TRUST_SECONDS
        if marker and (known == marker.changed or trusted):
            _mark_as_used(folder)
            return
    try:
        _download_once(shared, copy, patient or not is_registered())
    except StoreError:
        if marker is None:
            raise
        log.warning("the copy of run %s may be outdated", key)
    _confirmed[copy] = (known, time.monotonic())


def holds(key: str) -> bool:
    """Return whether this machine or the storage has a run with this key, by the index."""
    if (environment().runs / key / "card.json").is_file():
        return True
    try:
        return _indexed_version(key) is not None
    except StoreError:
        return True  # asked when it is loaded


def install(folder: Path, place: Path, run: SharedRun) -> None:
    """Make a folder with the files of a run in the storage the local copy of this run.

    place: where the copy lies; it may be the folder itself
    """
    _mark(folder, run)
    if folder != place:
        place.parent.mkdir(parents=True, exist_ok=True)
        with _folders_lock:
            store.replace_folder(folder, place)
    free_space(kept=run.key)


def _mark(folder: Path, run: SharedRun) -> None:
    """Say that the files in a folder are those of a run in the storage, and write its card."""
    store.write_file(folder / "card.json", store.json_bytes(run.card.model_dump()))
    marker = _Marker(version=run.version, changed=run.changed, bytes=run.bytes)
    store.write_file(folder / _MARKER, store.json_bytes(marker.model_dump()))


def forget(key: str) -> None:
    """Delete the copy of a run; a run that is not in the storage yet stays."""
    folder = environment().runs / key
    if _read_marker(folder):
        _remove(folder)


def not_uploaded() -> list[Path]:
    """Return the folders of the runs that are not in the storage yet."""
    files = sorted(environment().runs.glob("*/card.json"))
    return [file.parent for file in files if not file.parent.name.startswith(".") and not _read_marker(file.parent)]


def free_space(kept: str = "") -> None:
    """Delete the copies that were not used for the longest time until the rest fits into LINEAGE_MOST_COPIES."""
    copies = []
    for file in environment().runs.glob(f"*/{_MARKER}"):
        marker = _read_marker(file.parent)
        if marker and not file.parent.name.startswith("."):
            with contextlib.suppress(FileNotFoundError):  # deleted meanwhile
                copies.append((file.stat().st_mtime, marker.bytes, file.parent))
    total = sum(size for _, size, _ in copies)
    for used, size, folder in sorted(copies):
        if total <= environment().most_copies or time.time() - used < _IN_USE_SECONDS:
            return
        if folder.name != kept:
            _remove(folder)
            total -= size


def reset() -> None:
    """Forget what was downloaded and asked. For tests."""
    global _database_failed_at, _slow_at
    _confirmed.clear()
    _database_failed_at = _slow_at = float("-inf")


def _indexed_version(key: str) -> int | None:
    """Return the version of a run in the index. Raises StoreError; a database that is down is asked now and then."""
    global _database_failed_at
    if time.monotonic() - _database_failed_at < _DATABASE_SECONDS:
        raise StoreError("The list of runs cannot be read now.")
    try:
        return index.stored_runs().get(key)
    except StoreError:
        _database_failed_at = time.monotonic()
        raise


def _download_once(shared: Storage, copy: _Copy, patient: bool) -> None:
    """Run `_download` on a thread, once for all that wait for it. Raises its error, or StoreError if not `patient`."""
    global _slow_at
    with _lock:
        running = _downloads.get(copy)
        if running is None:
            running = _downloads[copy] = Future()
            threading.Thread(target=_run_download, args=(shared, copy, running), name="download", daemon=True).start()
    seconds = _SHORT_WAIT_SECONDS if time.monotonic() - _slow_at < _SLOW_SECONDS else _WAIT_SECONDS
    try:
        running.result(timeout=None if patient else seconds)
    except TimeoutError:
        if seconds == _WAIT_SECONDS:
            _slow_at = time.monotonic()
        raise StoreError(
            f"Run {copy[1]} is still being fetched from {shared.address}. This goes on in the background; try again in "
            "a moment."
        ) from None


def _run_download(shared: Storage, copy: _Copy, running: Future[None]) -> None:
    error: BaseException | None = None
    try:
        with _AT_ONCE:
            _download(shared, copy)
    except OSError as failed:
        error = StoreError(f"The run could not be fetched: {store.describe_disk_error(failed)}")
    except BaseException as failed:  # whoever waits gets it
        error = failed
    with _lock:
        _downloads.pop(copy, None)
    if error:
        running.set_exception(error)
    else:
        running.set_result(None)


def _download(shared: Storage, copy: _Copy) -> None:
    """Make a copy that of the storage now. Raises StoreError, DamagedRun or OSError."""
    runs, key = copy
    folder = runs / key
    for _ in range(3):
        run, marker = shared.find(key), _read_marker(folder)
        if run is None:
            if marker:
                _remove(folder)
            return
        if marker and marker.version == run.version:
            if marker.changed != run.changed:
                _mark(folder, run)
            return
        if run.bytes > environment().most_copies:
            raise StoreError(
                f"Run {key} has {format_bytes(run.bytes)}, more than all copies of runs may take on this server."
            ).for_operator("The limit is LINEAGE_MOST_COPIES.")
        runs.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=runs, prefix=".writing-") as work:
            new = Path(work) / "run"
            try:
                shared.download(run, new)
            except FileNotFoundError:
                continue  # replaced or deleted meanwhile
            store.load(new)  # raises DamagedRun
            if marker is None and (folder / "card.json").is_file():
                return  # trained here meanwhile
            install(new, folder, run)
        return
    raise DamagedRun(f"The files of run {key} are missing in {shared.address}. Train it again.")


def _remove(folder: Path) -> None:
    """Delete a copy, if another thread was not quicker."""
    with _folders_lock, contextlib.suppress(FileNotFoundError):
        store.remove_folder(folder)


def _read_marker(folder: Path) -> _Marker | None:
    try:
        return _Marker.model_validate_json((folder / _MARKER).read_text("utf-8"))
    except (OSError, ValueError):
        return None


def _mark_as_used(folder: Path) -> None:
    file = folder / _MARKER
    try:
        if time.time() - file.stat().st_mtime > _IN_USE_SECONDS / 2:
            os.utime(file)
    except OSError:
        pass  # deleted meanwhile, or on a disk that cannot be written
