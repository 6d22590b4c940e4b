"""The stored runs in object storage: LINEAGE_RUNS is the URL of an fsspec file system, such as s3://BUCKET/PREFIX.

Below the prefix lie the folders that `run_store/storage.py` names. Importing this module registers the storage; fsspec
is imported when it is opened. Files are read through the file cache of fsspec in LINEAGE_CACHE. The card of a run is
written last and deleted first, so that a run with a card is complete.
"""

from __future__ import annotations

import contextlib
import datetime
import fnmatch
import hashlib
import logging
import math
import re
import shutil
import tempfile
import threading
import time
import urllib.parse
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from explorer.cluster import old_layout
from explorer.environment import environment
from explorer.errors import InvalidSetting, LineageError, StoreError, shorten
from explorer.run_store import storage, store
from explorer.training.config import KEY

log = logging.getLogger(__name__)
_PAUSE_SECONDS = 5.0  # after the storage did not answer, until it is asked again
_LISTING_SECONDS = 2.0  # that a listing is used for: pages look for many runs at once
_CHECKPOINT_SECONDS = 30 * 86_400.0  # after which nobody continues a training
_S3_OPTIONS: dict[str, Any] = {
    "use_listings_cache": False,  # other servers change what is listed
    "config_kwargs": {"connect_timeout": 5, "read_timeout": 15, "retries": {"total_max_attempts": 2}},
}


@dataclass(frozen=True)
class ObjectFolder:
    """The files of one run in object storage; see `RemoteFolder`."""

    place: ObjectStorage
    path: str  # below the prefix

    @property
    def name(self) -> str:
        return PurePosixPath(self.path).name

    def __str__(self) -> str:
        return f"{self.place.address}/{self.path}"

    def __truediv__(self, name: str) -> Path:
        return self.place.fetch(self.path, name)

    def glob(self, pattern: str) -> list[PurePosixPath]:
        return [PurePosixPath(name) for name in self.place.files(self.path) if fnmatch.fnmatch(name, pattern)]

    def size(self) -> int:
        return sum(int(each["size"]) for each in self.place.files(self.path).values())


class ObjectStorage:
    """See `RunStorage`."""

    refresh_seconds = 60.0

    def __init__(self, files: Any, root: str, address: str, hidden: list[str]) -> None:
        self.address, self.jobs = address, environment().home / "cluster-jobs"
        self._files, self._root, self._hidden = files, root, hidden
        self._id, self._asked_again_at = "", -math.inf
        self._listings: dict[str, tuple[float, Any]] = {}
        self._fetched: dict[str, tuple[str, Path]] = {}  # what a file looked like when it was fetched, and its copy
        self._fetching = threading.RLock()  # the cache of fsspec is for one thread at a time

    def id(self) -> str:
        if not self._id:
            path, new = self._path(storage.ID_FILE), f"{uuid.uuid4().hex}\n".encode()
            with self._answering(writes=True):
                old_layout.convert(self._files, self._root)
                if not self._files.exists(path):
                    try:
                        self._files.pipe_file(path, new, mode="create")  # one of two servers wins
                    except FileExistsError:
                        pass
                    except (NotImplementedError, TypeError):  # a storage without conditional writes
                        self._files.pipe_file(path, new)
                self._id = self._files.cat_file(path).decode().strip()
        return self._id

    def lock(self) -> AbstractContextManager[None]:
        return nullcontext()

    def folder(self, key: str, deleted: bool = False) -> ObjectFolder:
        return ObjectFolder(self, f"{'trash' if deleted else 'runs'}/{key}")

    def changes(self) -> dict[str, int]:
        runs = self._find_folders("runs")
        for key, files in runs.items():
            self._listings[f"runs/{key}"] = time.monotonic(), files
        return {key: _number(files["card.json"]) for key, files in runs.items() if "card.json" in files}

    def changed(self, key: str) -> int:
        return _number(self.files(f"runs/{key}").get("card.json", {}))

    def install(self, folder: Path, key: str) -> None:
        self._upload(folder, f"runs/{key}")
        self._delete(f"jobs/{key}")
        shutil.rmtree(folder)

    def write_card(self, key: str, content: bytes) -> None:
        with self._answering(writes=True):
            self._files.pipe_file(self._path(f"runs/{key}/card.json"), content)
        self._listings.clear()

    def delete(self, key: str) -> None:
        self._move(f"runs/{key}", f"trash/{key}")

    def restore(self, key: str) -> None:
        self._move(f"trash/{key}", f"runs/{key}")

    def erase(self, key: str, deleted: bool = False) -> None:
        self._delete(self.folder(key, deleted).path)

    def empty_trash(self) -> None:
        self._delete_old("trash", storage.TRASH_SECONDS)

    def recover(self) -> None:
        self._delete_old("runs", storage.LEFTOVER_SECONDS, without_card=True)
        self._delete_old("jobs", _CHECKPOINT_SECONDS)
        with self._fetching:
            self._cache.clear_expired_cache()  # what was not fetched for a week

    def save_checkpoint(self, key: str, folder: Path) -> None:
        self._upload(folder, f"jobs/{key}")

    def load_checkpoint(self, key: str, folder: Path) -> bool:
        names = [name for name in self._find(f"jobs/{key}") if storage.RUN_FILE.fullmatch(name)]
        if "card.json" not in names:
            return False
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".writing-") as work:
            new = Path(work) / "run"
            with self._answering():
                self._files.get([self._path(f"jobs/{key}/{name}") for name in names], [str(new / n) for n in names])
            try:
                if store.load(new).key != key:
                    return False
            except LineageError as error:
                log.warning("the checkpoint of %s in %s cannot be used: %s", key, self.address, error)
                return False
            if (folder / "job.json").is_file():
                shutil.copy(folder / "job.json", new)
            storage.replace_folder(new, folder)
        return True

    def files(self, path: str) -> dict[str, Any]:
        """Return the files of a run by their names, without one request for each run that does not exist."""
        kind, _, key = path.partition("/")
        if key not in self._remember(kind, lambda: self._list_names(kind)):
            return {}
        return dict(self._remember(path, lambda: self._find(path)))

    def fetch(self, path: str, name: str) -> Path:
        """Return the local copy of a file of a run; it does not exist if the file does not."""
        missing = Path(self._cache.storage[-1]) / "missing"
        found, full = self.files(path).get(name), self._path(f"{path}/{name}")
        if found is None:
            return missing
        with self._fetching:
            mark, copy = self._fetched.get(full, ("", missing))
            if mark != _mark(found) or not copy.is_file():
                try:
                    with self._answering(), self._cache.open(full) as file:
                        copy = Path(file.name)
                except FileNotFoundError:  # deleted meanwhile
                    return missing
                self._fetched[full] = _mark(found), copy
        return copy

    @cached_property
    def _cache(self) -> Any:
        import fsspec

        server = hashlib.sha256(f"{environment().home} {self.address}".encode()).hexdigest()[:12]
        folder = environment().cache / "runs" / server  # two processes that fill one folder would disturb each other
        return fsspec.filesystem(
            "filecache", fs=self._files, cache_storage=str(folder), check_files=True, skip_instance_cache=True
        )

    def _upload(self, folder: Path, path: str) -> None:
        """Replace the files of a run by those of a folder."""
        names = [
            name
            for each in folder.rglob("*")
            if storage.RUN_FILE.fullmatch(name := each.relative_to(folder).as_posix())
        ]
        before = self._find(path)
        with self._answering(writes=True):
            for part in ([name for name in names if name != "card.json"], ["card.json"]):
                self._files.put([str(folder / name) for name in part], [self._path(f"{path}/{name}") for name in part])
            if old := [self._path(f"{path}/{name}") for name in before if name not in names]:
                self._files.rm(old)
        self._listings.clear()

    def _move(self, source: str, target: str) -> None:
        self._delete(target)
        names = sorted(self._find(source), key="card.json".__eq__)  # the card is the last
        with self._answering(writes=True):
            for name in names:
                self._files.cp_file(self._path(f"{source}/{name}"), self._path(f"{target}/{name}"))
        self._delete(source)

    def _delete(self, path: str) -> None:
        names = self._find(path)
        with self._answering(writes=True), contextlib.suppress(FileNotFoundError):
            if "card.json" in names:
                self._files.rm_file(self._path(f"{path}/card.json"))
            if others := [self._path(f"{path}/{name}") for name in names if name != "card.json"]:
                self._files.rm(others)
        self._listings.clear()

    def _delete_old(self, kind: str, seconds: float, without_card: bool = False) -> None:
        """Delete runs of which nothing has changed for a time; `without_card`: only incomplete ones."""
        for key, files in self._find_folders(kind).items():
            changes = [_time(each) for each in files.values()]
            if max(changes) < time.time() - seconds and not (without_card and "card.json" in files):
                self._delete(f"{kind}/{key}")

    def _find_folders(self, kind: str) -> dict[str, dict[str, Any]]:
        """Return the files of all runs by their key and their name."""
        found: dict[str, dict[str, Any]] = {}
        for path, facts in self._find(kind).items():
            key, _, name = path.partition("/")
            if KEY.fullmatch(key) and name:
                found.setdefault(key, {})[name] = facts
        return found

    def _find(self, path: str) -> dict[str, Any]:
        """Return all files below a path, by their path below it."""
        with self._answering():
            self._files.invalidate_cache()
            top = self._path(path).strip("/")
            found = self._files.find(top, detail=True)
            return {name.strip("/")[len(top) + 1 :]: facts for name, facts in found.items()}

    def _list_names(self, path: str) -> set[str]:
        with self._answering():
            self._files.invalidate_cache()
            try:
                return {PurePosixPath(name).name for name in self._files.ls(self._path(path), detail=False)}
            except FileNotFoundError:
                return set()

    def _remember(self, path: str, look: Callable[[], Any]) -> Any:
        """Return what a function has found within the last seconds, or call it."""
        moment, found = self._listings.get(path, (-math.inf, None))
        if time.monotonic() - moment > _LISTING_SECONDS:
            moment, found = time.monotonic(), look()
            self._listings[path] = moment, found
        return found

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}" if self._root else f"/{name}"

    @contextlib.contextmanager
    def _answering(self, writes: bool = False) -> Iterator[None]:
        """Raise StoreError for every error, except FileNotFoundError for a file that is missing."""
        if time.monotonic() < self._asked_again_at:
            raise self._unreachable()
        try:
            yield
        except LineageError:
            raise
        except FileNotFoundError:
            if not writes:
                raise
            raise StoreError(
                f"{self.address} cannot be written to, because there is no such bucket. Create it, or change "
                "LINEAGE_RUNS."
            ) from None
        except Exception as error:  # each kind of storage has errors of its own
            text = str(error)
            for secret in self._hidden:
                text = text.replace(secret, "…")
            log.warning("the storage of the runs, %s: %s: %s", self.address, type(error).__name__, shorten(text, 300))
            if isinstance(error, PermissionError) or "Credentials" in type(error).__name__:  # of botocore
                raise StoreError(
                    f"The run storage {self.address} refuses access. Its operator finds the reason in the log."
                ) from None
            self._asked_again_at = time.monotonic() + _PAUSE_SECONDS
            raise self._unreachable() from None

    def _unreachable(self) -> StoreError:
        return StoreError(
            f"The run storage {shorten(self.address, 100)} does not answer. Nothing is lost; try again in a moment. "
            "Its operator finds the reason in the log."
        )


def _mark(facts: Mapping[str, Any]) -> str:
    """Return a text that differs after a change of a listed file."""
    marks = (facts.get(name) for name in ("ETag", "etag", "mtime", "modified", "created", "LastModified"))
    return f"{next((str(mark) for mark in marks if mark), '')} {facts.get('size')}"


def _number(facts: Mapping[str, Any]) -> int:
    """Return a number of 63 bits that differs after a change of a listed file."""
    return int.from_bytes(hashlib.sha256(_mark(facts).encode()).digest()[:8]) >> 1


def _time(facts: Mapping[str, Any]) -> float:
    """Return when a listed file was last changed; one of which that is not known is taken as new."""
    moments = (facts.get(name) for name in ("LastModified", "modified", "created", "mtime"))
    return next((each.timestamp() for each in moments if isinstance(each, datetime.datetime)), math.inf)


def open_shared(url: str) -> storage.RunStorage:
    """Return the storage of a value of LINEAGE_RUNS. Raises InvalidSetting or StoreError."""
    if (folder := environment().shared_folder) is None:
        return _open_url(url)
    place = storage.FolderStorage(folder, is_shared=True)
    if (folder / "cards").is_dir():
        import fsspec

        with place.lock():
            old_layout.convert(fsspec.filesystem("file"), str(folder))
        with contextlib.suppress(OSError):  # something in it could not be read
            (folder / "cards").rmdir()
    return place


def _open_url(url: str) -> ObjectStorage:
    """Return the storage of an fsspec URL. Nothing is read yet. Raises InvalidSetting."""
    import fsspec

    shown = shorten(re.sub("(?<=://).*@", "", url.split("?")[0]), 100)
    if "::" in url:
        raise InvalidSetting(f"LINEAGE_RUNS = {shown} is not possible. {storage.HELP}")
    is_s3 = fsspec.utils.get_protocol(url) in ("s3", "s3a")
    try:
        files, root = fsspec.core.url_to_fs(url, **(_S3_OPTIONS if is_s3 else {}))
    except ImportError:
        package = "Install s3fs." if is_s3 else "Install the package that fsspec names for it."
        raise InvalidSetting(f"LINEAGE_RUNS = {shown} needs a package that is not installed. {package}") from None
    except Exception as error:  # each kind of storage has errors of its own
        log.warning("LINEAGE_RUNS: %s", type(error).__name__)  # its text may contain a password
        raise InvalidSetting(f"LINEAGE_RUNS = {shown} is not possible. {storage.HELP}") from None
    root = str(root).strip("/")
    if any(character in root for character in "*?["):
        raise InvalidSetting(f"LINEAGE_RUNS = {shown} is not possible: a prefix has no *, ? or [. {storage.HELP}")
    if is_s3:
        if re.search("^$|[@:]", root.split("/")[0]):
            raise InvalidSetting(f"LINEAGE_RUNS = {shown} names no bucket. {storage.HELP}")
        files.retries = 1  # s3fs would repeat five times what already has a limit of time and a second attempt
    return ObjectStorage(files, root, shown, _credentials(url))


def _credentials(url: str) -> list[str]:
    """Return the parts of a URL that must not be shown."""
    try:
        parts = urllib.parse.urlsplit(url)
        found = [parts.password, parts.username, parts.netloc.rpartition("@")[0], parts.query]
    except ValueError:
        return []
    return [part for part in found if part]


storage.register(open_shared)
