"""The stored runs in object storage: LINEAGE_RUNS is the URL of an fsspec file system, such as s3://BUCKET/PREFIX.

Below the prefix lie the folders that `run_store/storage.py` names. fsspec is imported when a storage is opened; files
are read through its file cache, in LINEAGE_CACHE. The card of a run is written last and deleted first, so that a run
with a card is complete.
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
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from pathlib import Path, PurePosixPath
from typing import Any

from cachetools import TTLCache, cachedmethod

from explorer.cluster import earlier_runs
from explorer.environment import environment
from explorer.errors import InvalidSetting, LineageError, StoreError, shorten
from explorer.lazy_libraries import fsspec
from explorer.run_store import storage

log = logging.getLogger(__name__)
_PAUSE_SECONDS = 5.0  # after the storage did not answer, until it is asked again
_LISTING_SECONDS = 2.0  # for which a listing is used again: pages look for many runs at once
_CHECKPOINT_SECONDS = 30 * 86_400.0  # after which nobody continues a training
_S3_OPTIONS: dict[str, Any] = {
    "use_listings_cache": False,  # other servers change what is listed
    "config_kwargs": {"connect_timeout": 5, "read_timeout": 15, "retries": {"total_max_attempts": 2}},
}


@dataclass(frozen=True)
class ObjectFolder:
    """The files of one run in object storage; see `RemoteFolder`."""

    storage: ObjectStorage
    path: str  # below the prefix

    @property
    def name(self) -> str:
        return PurePosixPath(self.path).name

    def __str__(self) -> str:
        return f"{self.storage.address}/{self.path}"

    def __truediv__(self, name: str) -> Path:
        return self.storage.fetch(self.path, name)

    def glob(self, pattern: str) -> list[PurePosixPath]:
        return [PurePosixPath(name) for name in self.storage.find_run(self.path) if fnmatch.fnmatch(name, pattern)]

    def size(self) -> int:
        return sum(int(facts["size"]) for facts in self.storage.find_run(self.path).values())


class ObjectStorage(storage.RunStorage):
    """Runs in an fsspec file system; `secrets` are parts of its URL that must not be shown."""

    refresh_seconds = 60.0

    def __init__(self, files: Any, root: str, address: str, secrets: list[str]) -> None:
        self.address, self.jobs = address, environment().home / "cluster-jobs"
        self._files, self._prefix, self._secrets = files, root, secrets
        self._id, self._asked_again_at = "", -math.inf
        self._listing = threading.Lock()
        self._forget()
        self._fetched: dict[str, tuple[str, Path]] = {}  # the versions of files that were fetched, and their copies
        self._fetching = threading.Lock()  # the cache of fsspec is for one thread at a time

    def id(self) -> str:
        if not self._id:
            path, new = self._path(storage.ID_FILE), f"{uuid.uuid4().hex}\n".encode()
            with self._answering(writes=True):
                earlier_runs.convert(self._files, self._prefix)
                if not self._files.exists(path):
                    try:
                        self._files.pipe_file(path, new, mode="create")
                    except FileExistsError:
                        pass  # another server was quicker
                    except (NotImplementedError, TypeError):  # a storage without conditional writes
                        self._files.pipe_file(path, new)
                self._id = self._files.cat_file(path).decode().strip()
        return self._id

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        yield  # object storage has no locks

    def folder(self, key: str, deleted: bool = False) -> ObjectFolder:
        return ObjectFolder(self, f"{'trash' if deleted else 'runs'}/{key}")

    def changes(self) -> dict[str, int]:
        self._forget()
        return {key: _number(files) for key, files in self._find_runs("runs").items() if "card.json" in files}

    def card_version(self, key: str) -> int:
        return _number(self.find_run(f"runs/{key}"))

    def install(self, folder: Path, key: str) -> None:
        self._upload(folder, f"runs/{key}")
        self._delete(f"jobs/{key}")
        shutil.rmtree(folder)

    def write_card(self, key: str, content: bytes) -> None:
        with self._answering(writes=True):
            self._files.pipe_file(self._path(f"runs/{key}/card.json"), content)
        self._forget()

    def delete(self, key: str) -> None:
        self._move(f"runs/{key}", f"trash/{key}")

    def restore(self, key: str) -> None:
        self._move(f"trash/{key}", f"runs/{key}")

    def erase(self, key: str, deleted: bool = False) -> None:
        self._delete(self.folder(key, deleted).path)

    def empty_trash(self) -> None:
        self._delete_old("trash", storage.TRASH_SECONDS)

    def recover(self) -> None:
        self._delete_old("runs", storage.LEFTOVER_SECONDS, keep_complete=True)
        self._delete_old("jobs", _CHECKPOINT_SECONDS)
        with self._fetching:
            self._cache.clear_expired_cache()  # what was not fetched for a week

    def unfinished_keys(self) -> list[str]:
        self._forget()
        return sorted(filter(storage.KEY.fullmatch, self._list("jobs")))

    def save_job(self, key: str) -> None:
        self._upload(self.jobs / key, f"jobs/{key}", with_job=True)

    def delete_job(self, key: str) -> None:
        self._delete(f"jobs/{key}")

    def load_job(self, key: str) -> None:
        self._forget()
        names = [name for name in self._find(f"jobs/{key}") if storage.RUN_FILE.fullmatch(name) or name == "job.json"]
        if not names:
            return
        self.jobs.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.jobs, prefix=".writing-") as work:
            new = Path(work) / "run"
            with self._answering():
                self._files.get([self._path(f"jobs/{key}/{n}") for n in names], [str(new / n) for n in names])
            storage.replace_folder(new, self.jobs / key)

    def find_run(self, path: str) -> dict[str, Any]:
        """Return the facts about each file of a run by its name, without a request for each run that does not exist."""
        kind, _, key = path.partition("/")
        return self._find(path) if key in self._list(kind) else {}

    def fetch(self, path: str, name: str) -> Path:
        """Return the local copy of a file of a run; it does not exist if the file does not."""
        missing = Path(self._cache.storage[-1]) / "missing"
        if not (facts := self.find_run(path).get(name)):
            return missing
        full, version = self._path(f"{path}/{name}"), _version(facts)
        with self._fetching, contextlib.suppress(FileNotFoundError):  # deleted meanwhile
            before, copy = self._fetched.get(full, ("", missing))
            if before != version or not copy.is_file():
                with self._answering(), self._cache.open(full) as file:
                    copy = Path(file.name)
                self._fetched[full] = version, copy
            return copy
        return missing

    @cached_property
    def _cache(self) -> Any:
        server = hashlib.sha256(f"{environment().home} {self.address}".encode()).hexdigest()[:12]
        folder = environment().cache / "runs" / server  # two processes that fill one folder would disturb each other
        options = {"fs": self._files, "cache_storage": str(folder), "check_files": True, "skip_instance_cache": True}
        return fsspec.filesystem("filecache", **options)

    def _upload(self, folder: Path, path: str, with_job: bool = False) -> None:
        """Replace the files of a run by those of a folder. with_job: also `job.json`"""
        names = [file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()]
        names = [name for name in names if storage.RUN_FILE.fullmatch(name) or (with_job and name == "job.json")]
        names.sort(key="card.json".__eq__)
        old = [self._path(f"{path}/{name}") for name in self._find(path) if name not in names]
        with self._answering(writes=True):
            for part in (names[:-1], names[-1:]):
                self._files.put([str(folder / name) for name in part], [self._path(f"{path}/{name}") for name in part])
            if old:
                self._files.rm(old)
        self._forget()

    def _move(self, source: str, target: str) -> None:
        self._delete(target)
        with self._answering(writes=True):
            for name in sorted(self._find(source), key="card.json".__eq__):
                self._files.cp_file(self._path(f"{source}/{name}"), self._path(f"{target}/{name}"))
        self._delete(source)

    def _delete(self, path: str) -> None:
        self._forget()
        names = sorted(self._find(path), key="card.json".__ne__)
        with self._answering(writes=True), contextlib.suppress(FileNotFoundError):
            for part in (names[:1], names[1:]):
                if part:
                    self._files.rm([self._path(f"{path}/{name}") for name in part])
        self._forget()

    def _delete_old(self, kind: str, seconds: float, keep_complete: bool = False) -> None:
        """Delete runs in which nothing has changed for a time."""
        for key, files in self._find_runs(kind).items():
            changed = max(map(_time, files.values()))
            if changed < time.time() - seconds and not (keep_complete and "card.json" in files):
                self._delete(f"{kind}/{key}")

    def _find_runs(self, kind: str) -> dict[str, dict[str, Any]]:
        """Return the facts about each file of all runs, by key and name."""
        found: dict[str, dict[str, Any]] = {}
        for path, facts in self._find(kind).items():
            key, _, name = path.partition("/")
            if storage.KEY.fullmatch(key) and name:
                found.setdefault(key, {})[name] = facts
        return found

    @cachedmethod(attrgetter("_listings"), lock=attrgetter("_listing"))
    def _find(self, path: str) -> dict[str, Any]:
        """Return the facts about each file below a path, by its path below it."""
        with self._answering():
            self._files.invalidate_cache()
            top = self._path(path).strip("/")
            found = self._files.find(top, detail=True)
            return {name.strip("/")[len(top) + 1 :]: facts for name, facts in found.items()}

    @cachedmethod(attrgetter("_listings"), lock=attrgetter("_listing"), key=lambda _, path: ("list", path))
    def _list(self, path: str) -> set[str]:
        with self._answering(), contextlib.suppress(FileNotFoundError):
            self._files.invalidate_cache()
            return {PurePosixPath(name).name for name in self._files.ls(self._path(path), detail=False)}
        return set()

    def _forget(self) -> None:
        # A new object: a thread that is listing while something changes stores what it found in the old one.
        self._listings: TTLCache[Any, Any] = TTLCache(20_000, _LISTING_SECONDS)

    def _path(self, name: str) -> str:
        return f"{self._prefix}/{name}" if self._prefix else f"/{name}"

    @contextlib.contextmanager
    def _answering(self, writes: bool = False) -> Iterator[None]:
        """Raise StoreError for every error, except FileNotFoundError for a file that is missing."""
        silent = StoreError(
            f"The run storage {self.address} does not answer, or refuses access. Nothing is lost; try again in a "
            "moment. Its operator finds the reason in the log."
        )
        if time.monotonic() < self._asked_again_at:
            raise silent
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
            for secret in self._secrets:
                text = text.replace(secret, "…")
            log.warning("the storage of the runs, %s: %s: %s", self.address, type(error).__name__, shorten(text, 300))
            self._asked_again_at = time.monotonic() + _PAUSE_SECONDS
            raise silent from None


def _version(facts: Mapping[str, Any]) -> str:
    """Return a text that differs after a change of a listed file."""
    marks = (facts.get(name) for name in ("ETag", "etag", "mtime", "modified", "created", "LastModified"))
    return f"{next((str(mark) for mark in marks if mark), '')} {facts.get('size')}"


def _number(files: Mapping[str, Any]) -> int:
    """Return a number of 63 bits that differs after a change of the card of a run."""
    return int.from_bytes(hashlib.sha256(_version(files.get("card.json", {})).encode()).digest()[:8]) >> 1


def _time(facts: Mapping[str, Any]) -> float:
    """Return when a listed file was last changed; one of which that is not known is taken as new."""
    moments = (facts.get(name) for name in ("LastModified", "modified", "created", "mtime"))
    return next((each.timestamp() for each in moments if isinstance(each, datetime.datetime)), math.inf)


def open_shared(url: str) -> storage.RunStorage:
    """Return the storage of a value of LINEAGE_RUNS. Raises InvalidSetting or StoreError."""
    if folder := environment().shared_folder:
        place = storage.RunStorage(folder, is_shared=True)
        if (folder / "cards").is_dir():
            with place.lock():
                earlier_runs.convert(fsspec.filesystem("file"), str(folder))
            with contextlib.suppress(OSError):  # something in it could not be read
                (folder / "cards").rmdir()
        return place
    return _open_url(url)


def _open_url(url: str) -> ObjectStorage:
    """Return the storage of an fsspec URL. Nothing is read yet. Raises InvalidSetting."""
    user, query = url.partition("://")[2].rpartition("@")[0], url.partition("?")[2]
    shown = shorten(url.split("?")[0].replace(f"{user}@", ""), 100)
    is_s3 = fsspec.utils.get_protocol(url) in ("s3", "s3a")
    refused = f"LINEAGE_RUNS = {shown} is not possible"
    try:
        if "::" in url:
            raise ValueError("a chain of file systems")
        files, root = fsspec.core.url_to_fs(url, **(_S3_OPTIONS if is_s3 else {}))
    except ImportError:
        package = "s3fs" if is_s3 else "the package that fsspec names for it"
        raise InvalidSetting(f"{refused} without a package that is not installed. Install {package}.") from None
    except Exception as error:  # each kind of storage has errors of its own
        log.warning("LINEAGE_RUNS: %s", type(error).__name__)  # its text may contain a password
        raise InvalidSetting(f"{refused}. {storage.HELP}") from None
    root = str(root).strip("/")
    if re.search(r"[*?[]", root):
        raise InvalidSetting(f"{refused}: a prefix has no *, ? or [. {storage.HELP}")
    if is_s3:
        if re.search("^$|[@:]", root.split("/")[0]):
            raise InvalidSetting(f"{refused}: it names no bucket. {storage.HELP}")
        files.retries = 1  # s3fs would repeat five times what already has a limit of time and a second attempt
    return ObjectStorage(files, root, shown, [part for part in (user, *user.split(":"), query) if part])
