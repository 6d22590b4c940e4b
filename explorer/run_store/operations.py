"""Operations on stored runs, with permissions and the limit on disk space. Needs no torch.

Each operation changes the folders first and then the index, which repairs itself. A visitor is an opaque text; the
operator is the command line, or a browser that knows the password. A run with an empty `owner` belongs to the
operator. A lock serializes all operations.
"""

from __future__ import annotations

import logging
import threading
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from explorer.environment import environment
from explorer.errors import InvalidSetting, LineageError, NotAllowed, RunError, StoreError, UnknownRun, shorten
from explorer.run_store import index, store
from explorer.run_store.store import StoredRun
from explorer.training.config import KEY
from explorer.visible_text import remove_formatting

log = logging.getLogger(__name__)
MAX_NAME_LENGTH = 80  # characters
MAX_TAGS = 12
MAX_TAG_LENGTH = 30  # characters
_lock = threading.RLock()


def add_run(folder: Path) -> StoredRun:
    """Move a run folder on the same disk into the stored runs, replacing an older run with its key.

    Raises RunError if it is not a run, and StoreError if there is no space; then the folder is not moved.
    """
    with _lock, _report_disk_errors("The run could not be stored"):
        run = store.load(folder)
        _free_disk_space(store.folder_size(folder), run.key)
        kept = store.install_run(folder, environment().runs / run.key)
        _add_to_index(kept.folder)
        return kept


def free_disk_space(need: int) -> list[str]:
    """Delete the oldest runs of visitors until `need` bytes fit, and return their keys.

    Pinned runs and the operator's runs are kept. Raises StoreError, and deletes nothing, if that is not enough.
    """
    with _lock, _report_disk_errors("Old runs could not be deleted"):
        return _free_disk_space(need)


def edit_card(
    key: str,
    visitor: str,
    operator: bool,
    *,
    name: str | None = None,
    tags: Iterable[str] | None = None,
    note: str | None = None,
    pinned: bool | None = None,
) -> StoredRun:
    """Change name, tags, note or pin of a run; None leaves a value unchanged.

    Raises NotAllowed, InvalidSetting, RunError or StoreError.
    """
    words: dict[str, Any] = {}
    if name is not None:
        words["name"] = _clean_text("name", " ".join(name.split()), MAX_NAME_LENGTH)
    if tags is not None:
        words["tags"] = _clean_tags(tags)
    if note is not None:
        words["note"] = _clean_text("note", note, environment().most_text)
    if pinned is not None:
        words["pinned"] = pinned
    with _lock, _report_disk_errors("The card of the run could not be written"):
        run = store.load(_changeable_folder(key, environment().runs, visitor, operator))
        if words:
            run = store.update_card(run, **words)
            _add_to_index(run.folder)
        return run


def delete_runs(keys: Iterable[str], visitor: str, operator: bool) -> None:
    """Move runs to the trash: all, or none if one is not allowed. Raises NotAllowed, RunError or StoreError."""
    with _lock, _report_disk_errors("Not every run could be deleted"):
        for folder in [_changeable_folder(key, environment().runs, visitor, operator) for key in dict.fromkeys(keys)]:
            _move_folder(folder, environment().trash)
            _remove_from_index(folder.name)


def restore_runs(keys: Iterable[str], visitor: str, operator: bool) -> None:
    """Move runs back from the trash: all or none. Raises NotAllowed, RunError or StoreError."""
    with _lock, _report_disk_errors("Not every run could be restored"):
        folders = [_changeable_folder(key, environment().trash, visitor, operator) for key in dict.fromkeys(keys)]
        for folder in folders:
            if (environment().runs / folder.name).exists():
                raise StoreError(
                    f"Run {folder.name} was trained again in the meantime. Delete the new run to restore the old one."
                )
        _free_disk_space(sum(store.folder_size(folder) for folder in folders))
        for folder in folders:
            _move_folder(folder, environment().runs)
            _add_to_index(environment().runs / folder.name)


def purge_runs(keys: Iterable[str]) -> None:
    """Delete runs in the trash permanently; keys that are not there are ignored."""
    with _lock, _report_disk_errors("The trash could not be emptied"):
        for key in keys:
            if KEY.fullmatch(key) and (environment().trash / key).is_dir():
                store.remove_folder(environment().trash / key)


def empty_trash() -> None:
    """Delete everything in the trash permanently."""
    with _lock, _report_disk_errors("The trash could not be emptied"):
        if environment().trash.is_dir():
            store.remove_folder(environment().trash)


def may_change(run: StoredRun | index.Entry, visitor: str, operator: bool) -> bool:
    """Return whether a visitor may change, pin and delete a run: its owner and the operator may, except shipped
    runs.
    """
    owner = run.card.owner if isinstance(run, StoredRun) else run.owner
    return not run.shipped and (operator or (visitor != "" and visitor == owner))


def _changeable_folder(key: str, place: Path, visitor: str, operator: bool) -> Path:
    """Return the folder of a run that the visitor may change. Only the operator may change damaged runs, whose owner is
    unknown. Raises NotAllowed or UnknownRun.
    """
    folder = place / key if KEY.fullmatch(key) else None
    if folder is None or not folder.is_dir():
        shipped = store.pretrained_folders()
        if place == environment().runs and (key in shipped or key in shipped.values()):
            raise NotAllowed(f"Run “{shorten(key)}” is included with the program and cannot be changed or deleted.")
        where = "on this machine" if place == environment().runs else "in the trash: it can no longer be restored"
        raise UnknownRun(f"There is no run “{shorten(key)}” {where}.")
    try:
        allowed = may_change(store.load(folder), visitor, operator)
    except RunError:
        allowed = operator
    if not allowed:
        raise NotAllowed(
            f"Run {key} belongs to another visitor: only its owner or the operator may change or delete it."
        )
    return folder


def _free_disk_space(need: int, replaced: str = "") -> list[str]:
    """See `free_disk_space`; the space of the run `replaced` counts as free, and it is not deleted."""
    limit = environment().most_disk
    used = _used_bytes()
    if replaced and (before := environment().runs / replaced).is_dir():
        used -= store.folder_size(before)
    if used + need <= limit:
        return []
    own = index.search(index.Query(shipped=False, order="created", limit=2**31 - 1))
    free, chosen = 0, []
    for entry in own:
        if used + need - free > limit and entry.owner and not entry.pinned and entry.key != replaced:
            free += entry.bytes
            chosen.append(entry.key)
    if used + need - free > limit:
        raise StoreError(
            f"There is no space for {need:,} more bytes: stored runs take {used:,} of {limit:,} "
            "(LINEAGE_MOST_DISK). Delete runs, or unpin some."
        )
    for key in chosen:
        if (environment().runs / key).is_dir():
            store.remove_folder(environment().runs / key)
        log.info("run %s was deleted to free space", key)
        _remove_from_index(key)
    return chosen


def _used_bytes() -> int:
    """Return the bytes of the stored runs, counted on disk if the index does not answer."""
    try:
        index.refresh()
        return index.used_bytes()
    except LineageError:
        log.exception("the index does not answer; the runs are counted on disk")
        return store.folder_size(environment().runs)


def _move_folder(folder: Path, place: Path) -> None:
    """Move a run folder into another folder and replace a run of the same name there."""
    place.mkdir(parents=True, exist_ok=True)
    if (place / folder.name).exists():
        store.remove_folder(place / folder.name)
    folder.rename(place / folder.name)


def _add_to_index(folder: Path) -> None:
    _update_index(lambda: index.add_run(store.load(folder)))


def _remove_from_index(key: str) -> None:
    _update_index(lambda: index.remove_run(key))


def _update_index(news: Callable[[], None]) -> None:
    """Apply a change to the index; if it does not answer, its next refresh repairs it."""
    try:
        news()
    except LineageError:
        log.exception("the index does not answer; its next refresh repairs it")


@contextmanager
def _report_disk_errors(failed: str) -> Iterator[None]:
    """Raise StoreError, with a sentence that begins with `failed`, for errors of the disk."""
    try:
        yield
    except OSError as error:
        log.exception("%s", failed)
        raise StoreError(f"{failed}: {store.describe_disk_error(error)}") from error


def _clean_text(what: str, given: str, most: int) -> str:
    """Return a text without control characters. Raises InvalidSetting if it is too long."""
    kept = "".join(c for c in given if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs"))
    kept = remove_formatting(kept).strip()
    if len(kept) > most:
        raise InvalidSetting(
            f"The {what} “{shorten(kept)}” has {len(kept):,} characters. Give at most {most:,} characters."
        )
    return kept


def _clean_tags(given: Iterable[str]) -> tuple[str, ...]:
    tags: dict[str, str] = {}
    for each in given:
        tag = _clean_text("tag", " ".join(each.split()), MAX_TAG_LENGTH)
        if "," in tag:
            raise InvalidSetting(f"The tag “{shorten(tag)}” contains a comma. Give two tags, or leave the comma out.")
        if tag:
            tags.setdefault(tag.casefold(), tag)
    if len(tags) > MAX_TAGS:
        raise InvalidSetting(f"These are {len(tags)} tags. Give at most {MAX_TAGS}.")
    return tuple(tags.values())
