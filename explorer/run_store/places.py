"""Where files of several servers lie: a shared folder, or the object storage of an fsspec URL. Needs no torch.

`storage.py` decides what lies there. Names are paths relative to the root, as in `cards/KEY.json`. A file that is
missing raises FileNotFoundError, or is None where the docstring says so; every other problem raises StoreError, whose
sentence never contains a password.
"""

from __future__ import annotations

import contextlib
import datetime
import itertools
import logging
import os
import re
import shutil
import stat
import time
import urllib.parse
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from explorer.atomic_files import describe_disk_error, is_disk_full, sync_folder
from explorer.database.engine import to_utc
from explorer.errors import InvalidSetting, LineageError, StoreError, shorten

log = logging.getLogger(__name__)
_PAUSE_SECONDS = 5.0  # after an object storage did not answer, until it is asked again
_S3_OPTIONS: dict[str, Any] = {
    "use_listings_cache": False,  # other servers change what is listed
    "config_kwargs": {"connect_timeout": 5, "read_timeout": 15, "retries": {"total_max_attempts": 2}},
}
_HELP = "Give a folder that exists, such as /mnt/runs, or the URL of an object storage, such as s3://BUCKET/PREFIX."


class Place(Protocol):
    """A tree of files that several servers read and change."""

    address: str  # its URL without credentials

    def check(self) -> None:
        """Raise StoreError if it cannot be reached."""

    def read(self, name: str, most: int) -> bytes | None:
        """Return the content of a file, of which at most `most` + 1 bytes are read; None if it does not exist."""

    def write(self, name: str, content: bytes) -> None:
        """Write a file, so that readers find the old content or the new one."""

    def create(self, name: str, content: bytes) -> None:
        """Write a file unless it exists; of two servers that create it together, one wins."""

    def upload(self, files: Mapping[str, Path]) -> None:
        """Write files with the contents of local ones; on an error some of them may be there."""

    def replace(self, name: str, file: Path) -> None:
        """Write one file with the content of a local one, so that readers find the old content or the new one."""

    def download(self, files: Mapping[str, Path], most: int) -> None:
        """Copy files to local ones, of at most `most` bytes each."""

    def size(self, name: str) -> int | None:
        """Return the bytes of a file; None if it does not exist."""

    def delete(self, name: str) -> None:
        """Delete a file, or a folder with all its files; nothing happens if it does not exist."""

    def names(self, folder: str) -> dict[str, str]:
        """Return the names of the files and folders in a folder, each with a text that differs after a change."""

    def change_times(self, name: str) -> dict[str, datetime.datetime]:
        """Return when a file, or each file and folder within a folder, was last changed, by its path within `name`."""


def open_place(url: str) -> Place:
    """Return the place of a path or an fsspec URL. Nothing is read yet. Raises InvalidSetting."""
    import fsspec

    shown = _without_credentials(url)
    if "::" in url or not url.strip():
        raise InvalidSetting(f"LINEAGE_RUNS = {shown} is not possible. {_HELP}")
    protocol = fsspec.utils.get_protocol(url)
    try:
        files, root = fsspec.core.url_to_fs(url, **(_S3_OPTIONS if protocol in ("s3", "s3a") else {}))
    except ImportError:
        package = "Install s3fs." if protocol in ("s3", "s3a") else "Install the package that fsspec names for it."
        raise InvalidSetting(f"LINEAGE_RUNS = {shown} needs a package that is not installed. {package}") from None
    except Exception as error:  # each kind of storage has errors of its own
        log.warning("LINEAGE_RUNS: %s", type(error).__name__)  # its text may contain a password
        raise InvalidSetting(f"LINEAGE_RUNS = {shown} is not possible. {_HELP}") from None
    if protocol in ("file", "local"):
        return Folder(Path(root))
    root = str(root).strip("/")
    if any(character in root for character in "*?["):
        raise InvalidSetting(f"LINEAGE_RUNS = {shown} is not possible: a prefix has no *, ? or [. {_HELP}")
    if protocol in ("s3", "s3a"):
        if re.search("^$|[@:]", root.split("/")[0]):
            raise InvalidSetting(f"LINEAGE_RUNS = {shown} names no bucket. {_HELP}")
        files.retries = 1  # s3fs would repeat five times what already has a limit of time and a second attempt
    return ObjectStorage(files, root, shown, [part for part in _credentials(url) if part])


def _credentials(url: str) -> list[str]:
    """Return the parts of a URL that must not be shown."""
    try:
        parts = urllib.parse.urlsplit(url)
        user = parts.netloc.rpartition("@")[0]
        return [parts.password or "", parts.username or "", user, parts.query]
    except ValueError:
        return []


def _without_credentials(url: str) -> str:
    if "://" not in url:
        return shorten(url, 100)
    protocol, _, rest = url.partition("://")
    return shorten(f"{protocol}://{rest.split('?')[0].rpartition('@')[2]}", 100)


class Folder:
    """A folder that several servers have mounted. Links in it are never followed."""

    def __init__(self, root: Path) -> None:
        self.root, self.address = root, str(root)

    def check(self) -> None:
        if not self.root.is_dir():
            raise StoreError(
                f"LINEAGE_RUNS = {shorten(self.address, 100)}: there is no such folder. Create it, or mount it."
            )

    def read(self, name: str, most: int) -> bytes | None:
        with self._answering():
            try:
                with self._path(name).open("rb") as file:
                    return file.read(most + 1)
            except (FileNotFoundError, NotADirectoryError):
                return None

    def write(self, name: str, content: bytes) -> None:
        with self._answering():
            self._write(self._path(name), lambda new: new.write_bytes(content))

    def create(self, name: str, content: bytes) -> None:
        with self._answering():
            file = self._path(name)
            new = file.with_name(f".{file.name}.{uuid.uuid4().hex}")
            try:
                new.write_bytes(content)
                with contextlib.suppress(FileExistsError):
                    os.link(new, file)  # fails if the file exists, unlike a rename
            except OSError:
                if file.exists():
                    return
                new.replace(file)  # a file system without hard links
            finally:
                new.unlink(missing_ok=True)

    def upload(self, files: Mapping[str, Path]) -> None:
        with self._answering():
            for name, local in files.items():
                self._write(self._path(name), lambda new, local=local: shutil.copyfile(local, new))  # type: ignore[misc]

    def replace(self, name: str, file: Path) -> None:
        self.upload({name: file})

    def download(self, files: Mapping[str, Path], most: int) -> None:
        with self._answering():
            for name, local in files.items():
                local.parent.mkdir(parents=True, exist_ok=True)
                with self._path(name).open("rb") as source, local.open("wb") as copy:
                    size = 0
                    while part := source.read(1 << 20):
                        size += len(part)
                        if size > most:
                            raise OSError(f"{name} is larger than expected")
                        copy.write(part)

    def size(self, name: str) -> int | None:
        with self._answering():
            try:
                return self._path(name).stat().st_size
            except (FileNotFoundError, NotADirectoryError):
                return None

    def delete(self, name: str) -> None:
        with self._answering(), contextlib.suppress(FileNotFoundError):
            path = self._path(name)
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()

    def names(self, folder: str) -> dict[str, str]:
        with self._answering():
            found = {}
            try:
                for entry in os.scandir(self._path(folder) if folder else self.root):
                    if not entry.is_symlink():
                        with contextlib.suppress(FileNotFoundError):
                            status = entry.stat()
                            found[entry.name] = f"{status.st_mtime_ns} {status.st_size} {status.st_ino}"
            except (FileNotFoundError, NotADirectoryError):
                return {}
            return found

    def change_times(self, name: str) -> dict[str, datetime.datetime]:
        with self._answering():
            top = str(self._path(name))
            paths = [top]
            paths += (
                os.path.join(folder, each) for folder, *inside in os.walk(top) for each in itertools.chain(*inside)
            )
            found = {}
            for path in paths:
                with contextlib.suppress(FileNotFoundError):
                    status = os.lstat(path)
                    if not stat.S_ISLNK(status.st_mode):
                        inner = path[len(top) + 1 :].replace(os.sep, "/")
                        found[inner] = datetime.datetime.fromtimestamp(status.st_mtime, datetime.UTC)
            return found

    def _path(self, name: str) -> Path:
        path = self.root
        for part in name.split("/"):
            path = path / part
            if path.is_symlink():
                raise OSError(f"{name} is a link")
        return path

    def _write(self, file: Path, fill: Callable[[Path], object]) -> None:
        """Write a file under another name, sync and rename it. Other servers may write the same file."""
        file.parent.mkdir(parents=True, exist_ok=True)
        new = file.with_name(f".{file.name}.{uuid.uuid4().hex}")
        try:
            fill(new)
            with new.open("rb+") as written:
                os.fsync(written.fileno())
            new.replace(file)
        finally:
            new.unlink(missing_ok=True)
        sync_folder(file.parent)

    @contextlib.contextmanager
    def _answering(self) -> Iterator[None]:
        try:
            if not self.root.is_dir():
                raise OSError("the folder is missing")
            yield
        except FileNotFoundError:
            raise
        except OSError as error:
            log.warning("the storage of the runs, %s: %s", self.address, error)
            if is_disk_full(error):
                raise StoreError(
                    f"The run storage {shorten(self.address, 100)}: {describe_disk_error(error)}"
                ) from error
            raise _unreachable(self.address) from error


class ObjectStorage:
    """The files of an fsspec file system: each write of a file is complete or does not happen."""

    def __init__(self, files: Any, root: str, shown: str, hidden: list[str]) -> None:
        self.address = shown
        self._files, self._root, self._hidden = files, root, hidden
        self._asked_again_at = 0.0

    def check(self) -> None:
        """A bucket that does not exist is noticed when something is written."""
        with self._answering(), contextlib.suppress(FileNotFoundError):
            self._files.ls(self._root, detail=False)

    def read(self, name: str, most: int) -> bytes | None:
        with self._answering():
            try:
                return bytes(self._files.cat_file(self._path(name), start=0, end=most + 1))
            except FileNotFoundError:
                return None

    def write(self, name: str, content: bytes) -> None:
        with self._answering(writes=True):
            self._files.pipe_file(self._path(name), content)

    def create(self, name: str, content: bytes) -> None:
        with self._answering(writes=True):
            try:
                self._files.pipe_file(self._path(name), content, mode="create")
            except FileExistsError:
                return
            except (NotImplementedError, TypeError):  # a storage without conditional writes
                if not self._files.exists(self._path(name)):
                    self._files.pipe_file(self._path(name), content)

    def upload(self, files: Mapping[str, Path]) -> None:
        with self._answering(writes=True):
            self._files.put([str(local) for local in files.values()], [self._path(name) for name in files])

    def replace(self, name: str, file: Path) -> None:
        self.upload({name: file})

    def download(self, files: Mapping[str, Path], most: int) -> None:
        with self._answering():
            for local in files.values():
                local.parent.mkdir(parents=True, exist_ok=True)
            paths = [self._path(name) for name in files]
            if any(size > most for size in self._files.sizes(paths)):
                raise OSError("a file is larger than expected")
            self._files.get(paths, [str(local) for local in files.values()])

    def size(self, name: str) -> int | None:
        with self._answering():
            self._files.invalidate_cache()
            try:
                return int(self._files.size(self._path(name)))
            except FileNotFoundError:
                return None

    def delete(self, name: str) -> None:
        with self._answering(), contextlib.suppress(FileNotFoundError):
            self._files.invalidate_cache()
            self._files.rm(self._path(name), recursive=True)

    def names(self, folder: str) -> dict[str, str]:
        with self._answering():
            self._files.invalidate_cache()
            try:
                found = self._files.ls(self._path(folder), detail=True)
            except FileNotFoundError:
                return {}
            return {str(each["name"]).rstrip("/").rpartition("/")[2]: _change_of(each) for each in found}

    def change_times(self, name: str) -> dict[str, datetime.datetime]:
        with self._answering():
            self._files.invalidate_cache()
            top = self._path(name).strip("/")
            return {
                path.strip("/")[len(top) + 1 :]: _time_of(each) or to_utc(self._files.modified(path))
                for path, each in self._files.find(top, detail=True).items()
            }

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}" if self._root else f"/{name}"

    @contextlib.contextmanager
    def _answering(self, writes: bool = False) -> Iterator[None]:
        if time.monotonic() < self._asked_again_at:
            raise _unreachable(self.address)
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
            raise _unreachable(self.address) from None


def _unreachable(shown: str) -> StoreError:
    return StoreError(
        f"The run storage {shorten(shown, 100)} does not answer. Nothing is lost; try again in a moment. "
        "Its operator finds the reason in the log."
    )


def _change_of(entry: Mapping[str, Any]) -> str:
    """Return a text that differs after a change of a listed file."""
    marks = (entry.get(name) for name in ("ETag", "etag", "mtime", "modified", "created", "LastModified"))
    return f"{next((str(mark) for mark in marks if mark), '')} {entry.get('size')}"


def _time_of(entry: Mapping[str, Any]) -> datetime.datetime | None:
    found = next((entry[name] for name in ("LastModified", "modified") if entry.get(name)), None)
    return found if isinstance(found, datetime.datetime) and found.tzinfo else None
