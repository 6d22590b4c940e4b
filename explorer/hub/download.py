"""Download a model of the Hugging Face hub: what its repository says, checks before the download, and the files.

Files go to LINEAGE_CACHE/models/OWNER--NAME/COMMIT. Each is received under another name, compared with the checksum
that the hub names, and renamed; a later download continues a file where an earlier one ended. (`snapshot_download` of
huggingface_hub 2.4 deletes incomplete files and compares no checksums.) The environment variables HF_ENDPOINT,
HF_HUB_OFFLINE and HF_TOKEN have their usual meaning.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from explorer.atomic_files import is_disk_full, json_bytes, write_file
from explorer.environment import environment
from explorer.errors import InvalidSetting, shorten
from explorer.hub import files
from explorer.hub.allowed import COMMIT, Repository
from explorer.hub.architectures import check
from explorer.lazy_libraries import httpx2, huggingface_hub
from explorer.number_format import format_bytes, format_percent

DOWNLOADING = "downloading"  # the stage that counts bytes
SOURCE = "source.json"  # written last: repository, commit and licence of a complete download
_SECONDS = 30.0  # without any byte, after which a request has failed
_TRIES = 5  # of a file that stops arriving, each after it has continued
_MOST_HEADER = 25_000_000  # bytes of the header of a safetensors file
_ROOM = 100_000_000  # bytes that stay free on the disk


class Cancelled(InvalidSetting):
    """The operator has cancelled the opening of a model."""

    def __init__(self) -> None:
        super().__init__("Cancelled. What has arrived is kept, and opening the model again continues from there.")


@dataclass
class Progress:
    """What a model that is being opened waits for; read by other threads."""

    stage: str = "waiting"  # what is being done, in words
    received: int = 0  # bytes of the download
    total: int = 0
    _cancelled: threading.Event = field(default_factory=threading.Event)

    def begin(self, stage: str) -> None:
        """Set the stage. Raises Cancelled."""
        self.check()
        self.stage = stage

    def add(self, count: int) -> None:
        """Count received bytes. Raises Cancelled."""
        self.check()
        self.received += count

    def check(self) -> None:
        """Raise Cancelled if it has been cancelled."""
        if self._cancelled.is_set():
            raise Cancelled

    def cancel(self) -> None:
        """Stop at the next byte or stage."""
        self._cancelled.set()

    @property
    def cancelled(self) -> bool:
        return self._cancelled.is_set()

    def describe(self) -> str:
        """Return the stage, with the bytes of a download."""
        if self.stage != DOWNLOADING or not self.total:
            return self.stage
        share = format_percent(min(self.received / self.total, 1), 0)
        return f"{DOWNLOADING}, {format_bytes(self.received)} of {format_bytes(self.total)} ({share})"


@dataclass(frozen=True)
class RemoteFile:
    """A file of a repository."""

    name: str
    size: int
    sha256: str  # empty: a small file, which git knows by `blob`
    blob: str


@dataclass(frozen=True)
class RemoteModel:
    """A repository at one commit."""

    id: str
    commit: str
    licence: str
    files: dict[str, RemoteFile]  # those at the top, by name
    revision: str = ""  # by which the commit was asked for

    @property
    def folder(self) -> Path:
        """Where its files go on this machine."""
        return download_folder(self.id, self.commit)


def download_folder(repository: str, commit: str) -> Path:
    """Return where the files of a repository at a commit go."""
    return environment().downloaded_models / repository.replace("/", "--") / commit


def is_offline() -> bool:
    """Return whether the environment forbids requests to the hub."""
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")


def find_local(repository: Repository, commit: str) -> Path | None:
    """Return the folder of a complete model: one of an earlier download, or in the cache of huggingface_hub."""
    if COMMIT.fullmatch(commit):
        folder = download_folder(repository.id, commit)
        if (folder / SOURCE).is_file():
            return folder
    found = huggingface_hub.try_to_load_from_cache(repository.id, files.CONFIG, revision=commit or None)
    if not isinstance(found, str):
        return None
    folder = Path(found).parent
    try:
        files.weight_files(folder)
    except InvalidSetting:  # incomplete
        return None
    return folder


def downloaded_commits(repository: Repository) -> list[str]:
    """Return the commits of a repository that were downloaded completely."""
    place = download_folder(repository.id, "")
    return sorted(file.parent.name for file in place.glob(f"*/{SOURCE}") if COMMIT.fullmatch(file.parent.name))


def read_source(folder: Path) -> dict[str, str]:
    """Return repository, commit and licence of a download; empty for another folder."""
    try:
        found = files.parse_json((folder / SOURCE).read_bytes())
    except (OSError, ValueError):
        return {}
    return {name: str(value) for name, value in found.items()}


def read_repository(repository: Repository) -> RemoteModel:
    """Return what the hub says about a repository at its revision. Raises InvalidSetting."""
    with hub_errors(repository.id):
        info = huggingface_hub.HfApi(endpoint=_endpoint()).model_info(
            repository.id, revision=repository.revision or None, files_metadata=True, timeout=_SECONDS
        )
    if not COMMIT.fullmatch(info.sha or ""):
        raise InvalidSetting(f"The hub names no commit of {repository.id}. Try again later.")
    found = {}
    for each in info.siblings or []:
        if "/" not in each.rfilename:
            lfs: Any = each.lfs
            size = (lfs.size if lfs else each.size) or 0
            found[each.rfilename] = RemoteFile(each.rfilename, size, lfs.sha256 if lfs else "", each.blob_id or "")
    licence = getattr(info.card_data, "license", None) if info.card_data else None
    return RemoteModel(repository.id, str(info.sha), shorten(licence or ""), found, repository.revision)


def check_before_download(remote: RemoteModel) -> tuple[RemoteFile, ...]:
    """Return the files to download, after architecture, format, memory and disk were checked. Raises InvalidSetting."""
    with hub_errors(remote.id):
        if files.CONFIG not in remote.files:
            raise InvalidSetting(f"{remote.id} has no {files.CONFIG}, so it is no model of the transformers library.")
        check(_read_remote_json(remote, files.CONFIG))
        if files.TOKENIZER_CONFIG in remote.files:
            files.check_tokenizer_config(_read_remote_json(remote, files.TOKENIZER_CONFIG))
        names = [name for name in files.TEXT_FILES if name in remote.files]
        if files.WEIGHTS in remote.files:
            weights: tuple[str, ...] = (files.WEIGHTS,)
        elif files.INDEX in remote.files:
            weights = files.shards(_read_remote_json(remote, files.INDEX))
            names.append(files.INDEX)
        else:
            raise InvalidSetting(files.no_safetensors(remote.files))
        missing = [name for name in weights if name not in remote.files]
        if missing:
            raise InvalidSetting(f"{remote.id} has no file {missing[0]}, which its index names.")
        numbers = 0
        for name in weights:
            tensors = _read_remote_header(remote, name)
            tensors.check()
            numbers += tensors.numbers.total()
        files.check_memory(numbers)
    wanted = tuple(remote.files[name] for name in (*names, *weights))
    for each in wanted:
        if each.name in files.TEXT_FILES and each.size > files.MOST_TEXT_BYTES:
            raise InvalidSetting(f"{each.name} of {remote.id} has {format_bytes(each.size)}, too much for such a file.")
    _check_disk(remote, wanted)
    return wanted


def download(remote: RemoteModel, wanted: tuple[RemoteFile, ...], progress: Progress) -> Path:
    """Download files and return their folder. Raises InvalidSetting, or Cancelled."""
    folder = remote.folder
    progress.total = sum(each.size for each in wanted)
    progress.received = 0
    with hub_errors(remote.id):
        folder.mkdir(parents=True, exist_ok=True)
        for each in wanted:
            if (folder / each.name).is_file():
                progress.add(each.size)
            else:
                _download_file(remote, each, folder / each.name, progress)
        source = {
            "repository": remote.id,
            "commit": remote.commit,
            "revision": remote.revision,
            "licence": remote.licence,
        }
        write_file(folder / SOURCE, json_bytes(source))
    return folder


def _download_file(remote: RemoteModel, wanted: RemoteFile, place: Path, progress: Progress) -> None:
    part = place.with_name(f".{place.name}.part")
    before = progress.received
    for attempt in range(_TRIES):
        have = part.stat().st_size if part.is_file() else 0
        if have > wanted.size:
            part.unlink()
            have = 0
        progress.received = before + have
        if have == wanted.size and part.is_file():
            break
        try:
            _receive(remote, wanted, part, have, progress)
        except (httpx2.TimeoutException, httpx2.NetworkError, httpx2.RemoteProtocolError):
            if attempt + 1 == _TRIES or part.stat().st_size == have:
                raise
    progress.check()
    if part.stat().st_size != wanted.size or not _has_checksum(part, wanted):
        part.unlink()
        raise InvalidSetting(
            f"{wanted.name} has arrived with other content than the hub names (checksum or size), and was deleted. "
            "Open the model again."
        )
    part.replace(place)


def _receive(remote: RemoteModel, wanted: RemoteFile, part: Path, have: int, progress: Progress) -> None:
    with _request(remote, wanted.name, f"bytes={have}-" if have else "") as response:
        continues = response.status_code == 206
        if have and not continues:  # the server sends everything again
            progress.received -= have
        with part.open("ab" if continues else "wb") as out:
            for chunk in response.iter_bytes():
                out.write(chunk)
                progress.add(len(chunk))
                if out.tell() > wanted.size:
                    return  # more than announced: the size is checked next


@contextmanager
def _request(remote: RemoteModel, name: str, byte_range: str = "") -> Iterator[Any]:
    headers = huggingface_hub.utils.build_hf_headers(library_name="lineage") | {"Accept-Encoding": "identity"}
    if byte_range:
        headers["Range"] = byte_range
    url = huggingface_hub.hf_hub_url(remote.id, name, revision=remote.commit, endpoint=_endpoint())
    if is_offline():
        raise offline_error()
    with huggingface_hub.get_session().stream(
        "GET", url, headers=headers, timeout=httpx2.Timeout(_SECONDS)
    ) as response:
        huggingface_hub.utils.hf_raise_for_status(response)
        yield response


def _read_bytes(remote: RemoteModel, name: str, most: int, byte_range: str = "") -> bytes:
    """Return a file, or a part of it. Raises InvalidSetting if it has more than `most` bytes."""
    content = b""
    with _request(remote, name, byte_range) as response:
        for chunk in response.iter_bytes():
            content += chunk
            if len(content) > most:
                if byte_range:  # a server that ignores ranges sends the whole file
                    return bytes(content[:most])
                raise InvalidSetting(f"{name} of {remote.id} has more than {format_bytes(most)}. Open another model.")
    return content


def _read_remote_json(remote: RemoteModel, name: str) -> dict[str, Any]:
    try:
        return files.parse_json(_read_bytes(remote, name, files.MOST_TEXT_BYTES))
    except (ValueError, RecursionError):
        raise InvalidSetting(f"{name} of {remote.id} cannot be read. Open another model.") from None


def _read_remote_header(remote: RemoteModel, name: str) -> files.Tensors:
    try:
        (length,) = struct.unpack("<Q", _read_bytes(remote, name, 8, "bytes=0-7"))
        if not 0 < length <= _MOST_HEADER:
            raise ValueError
        header = files.parse_json(_read_bytes(remote, name, 8 + length, f"bytes=0-{7 + length}")[8:])
        about = header.pop("__metadata__", {})
        return files.count_tensors(
            ((each["dtype"], map(int, each["shape"])) for each in header.values()), about.get("precision", "")
        )
    except (ValueError, KeyError, TypeError, AttributeError, struct.error, RecursionError):
        raise InvalidSetting(f"{name} of {remote.id} is no safetensors file. Open another model.") from None


def _check_disk(remote: RemoteModel, wanted: tuple[RemoteFile, ...]) -> None:
    folder = remote.folder
    there = next(place for place in (folder, *folder.parents) if place.exists())
    kept = sum(file.stat().st_size for file in folder.iterdir()) if folder.is_dir() else 0
    needed = sum(each.size for each in wanted) - kept
    free = shutil.disk_usage(there).free
    if needed + _ROOM > free:
        raise InvalidSetting(
            f"The model needs {format_bytes(max(needed, 0))} on disk, and {format_bytes(free)} are free in {there}. "
            "Delete files, or open a smaller model."
        ).for_operator("Or set LINEAGE_CACHE to a folder on another disk.")


def _has_checksum(file: Path, wanted: RemoteFile) -> bool:
    """Return whether a file has the content that the hub names; git's checksum begins with the size."""
    if wanted.sha256:
        with file.open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest() == wanted.sha256
    content_bytes = file.read_bytes()
    return not wanted.blob or (
        hashlib.sha1(b"blob %d\0" % len(content_bytes) + content_bytes, usedforsecurity=False).hexdigest()
        == wanted.blob
    )


def offline_error() -> InvalidSetting:
    """Return the error for a model that is not on this machine while requests to the hub are switched off."""
    return InvalidSetting(
        "This model is not on this machine, and requests to the hub are switched off (--offline, or HF_HUB_OFFLINE). "
        "Allow them, or open a folder with the model."
    )


def _endpoint() -> str | None:
    return os.environ.get("HF_ENDPOINT") or None


@contextmanager
def hub_errors(repository: str) -> Iterator[None]:
    """Raise InvalidSetting, with the reason and a remedy, for every error of the hub, the network or the disk."""
    errors = huggingface_hub.errors
    try:
        yield
    except errors.GatedRepoError:
        raise InvalidSetting(
            f"{repository} is gated: its authors give access only to people who have agreed to their terms. Do so on "
            "the page of the model, download it with “hf download”, and open its folder."
        ) from None
    except errors.RevisionNotFoundError:
        raise InvalidSetting(
            f"{repository} has no such revision. Give a commit, a tag or a branch that it has."
        ) from None
    except errors.RepositoryNotFoundError:
        raise InvalidSetting(f"The hub has no repository {repository}, or it is private. Check its name.") from None
    except errors.EntryNotFoundError:
        raise InvalidSetting(f"The hub no longer has a file that {repository} lists. Open the model again.") from None
    except errors.OfflineModeIsEnabled:
        raise offline_error() from None
    except errors.HfHubHTTPError as error:
        status = error.response.status_code
        if status in (401, 403):
            raise InvalidSetting(
                f"The hub refuses access to {repository} ({status}): it does not exist, is private, or needs a login."
            ) from None
        raise InvalidSetting(
            f"The hub answered the request for {repository} with {status}. Try again later."
        ) from error
    except httpx2.HTTPError as error:
        raise InvalidSetting(
            f"The hub could not be reached, or the connection ended ({shorten(error, 80) or type(error).__name__}). "
            "Check the network and open the model again: what has arrived is kept. Without a network, open a folder."
        ) from error
    except json.JSONDecodeError as error:
        raise InvalidSetting(f"The answer of the hub about {repository} cannot be read. Try again later.") from error
    except OSError as error:
        if is_disk_full(error):
            raise InvalidSetting(
                "The disk is full. Delete files and open the model again: what has arrived is kept."
            ).for_operator("Or set LINEAGE_CACHE to a folder on another disk.") from error
        raise InvalidSetting(f"The model could not be written: {error.strerror or error}.") from error
