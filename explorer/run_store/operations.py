"""Operations on stored runs, with permissions and the limit on disk space. Needs no torch.

Each operation changes the storage first and then the index, which repairs itself. A visitor is an opaque text; the
operator is the command line, or a browser that knows the password. A run with an empty `owner` belongs to the operator.
A lock serializes all operations.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from explorer.environment import environment
from explorer.errors import InvalidSetting, LineageError, NotAllowed, RunError, StoreError, UnknownRun, shorten
from explorer.run_store import index, storage, store
from explorer.run_store.storage import changing_runs
from explorer.run_store.store import StoredRun
from explorer.training.config import KEY
from explorer.visible_text import remove_controls

log = logging.getLogger(__name__)
MAX_NAME_LENGTH = 80  # characters
MAX_TAGS = 12
MAX_TAG_LENGTH = 30  # characters


def add_run(folder: Path) -> StoredRun:
    """Move a run folder of this machine into the stored runs. Raises RunError, or StoreError without space."""
    with _report_disk_errors("The run could not be stored"):
        run_key = store.load(folder).key
        with changing_runs():
            stored = storage.current().folder(run_key)
            free_disk_space(store.folder_size(folder), run_key)
            store.keep_entered_on(folder, stored)
            storage.current().install(folder, run_key)
            kept = store.load(stored)
            _update_index(index.add_run, kept)
            return kept


def free_disk_space(need: int, replaced: str = "") -> list[str]:
    """Delete the oldest unpinned runs of visitors until `need` bytes fit, and return their keys.

    The space of the run with the key `replaced` counts as free. Raises StoreError, and deletes nothing, if it is not
    enough.
    """
    with changing_runs(), _report_disk_errors("Old runs could not be deleted"):
        limit = environment().most_disk
        used = _used_bytes()
        if replaced:
            used -= store.folder_size(storage.current().folder(replaced))
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
                f"There is no space for {need:,} more bytes: stored runs take {used:,} of {limit:,}. "
                "Delete runs, or unpin some."
            ).for_operator("The limit is LINEAGE_MOST_DISK.")
        for key in chosen:
            storage.current().erase(key)
            log.info("run %s was deleted to free space", key)
            _update_index(index.remove_run, key)
        return chosen


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
    """Change what is not None on the card of a run. Raises NotAllowed, InvalidSetting, RunError or StoreError."""
    words: dict[str, Any] = {
        "name": None if name is None else _clean_text("name", " ".join(name.split()), MAX_NAME_LENGTH),
        "tags": None if tags is None else _clean_tags(tags),
        "note": None if note is None else _clean_text("note", note, environment().most_text),
        "pinned": pinned,
    }
    words = {what: value for what, value in words.items() if value is not None}
    with changing_runs(), _report_disk_errors("The card of the run could not be written"):
        _check_may_change(key, visitor, operator)
        run = store.load(storage.current().folder(key))
        if words:
            storage.current().write_card(key, store.changed_card(run, **words))
            run = store.load(run.folder)
            _update_index(index.add_run, run)
        return run


def delete_runs(keys: Iterable[str], visitor: str, operator: bool) -> None:
    """Move runs to the trash: all, or none if one is not allowed. Raises NotAllowed, RunError or StoreError."""
    keys = list(dict.fromkeys(keys))
    with changing_runs(), _report_disk_errors("Not every run could be deleted"):
        for key in keys:
            _check_may_change(key, visitor, operator)
        for key in keys:
            storage.current().delete(key)
            _update_index(index.remove_run, key)


def restore_runs(keys: Iterable[str], visitor: str, operator: bool) -> None:
    """Move runs back from the trash: all or none. Raises NotAllowed, RunError or StoreError."""
    keys = list(dict.fromkeys(keys))
    with changing_runs(), _report_disk_errors("Not every run could be restored"):
        for key in keys:
            _check_may_change(key, visitor, operator, deleted=True)
        for key in keys:
            if store.is_stored(key):
                raise StoreError(
                    f"Run {key} was trained again in the meantime. Delete the new run to restore the old one."
                )
        free_disk_space(sum(store.folder_size(storage.current().folder(key, deleted=True)) for key in keys))
        for key in keys:
            storage.current().restore(key)
            _update_index(lambda key: index.add_run(store.load(storage.current().folder(key))), key)


def purge_runs(keys: Iterable[str]) -> None:
    """Delete runs in the trash permanently; keys that are not there are ignored."""
    with changing_runs(), _report_disk_errors("The trash could not be emptied"):
        for key in filter(KEY.fullmatch, keys):
            storage.current().erase(key, deleted=True)


def empty_trash() -> None:
    """Delete everything in the trash permanently.

    With LINEAGE_RUNS only what has been there for a day, because a browser tab of another server may still restore it.
    """
    with changing_runs(), _report_disk_errors("The trash could not be emptied"):
        storage.current().empty_trash()


def may_change(run: StoredRun | index.Entry, visitor: str, operator: bool) -> bool:
    """Return whether a visitor may change and delete a run: its owner and the operator may, except shipped runs."""
    owner = run.owner if isinstance(run, index.Entry) else run.card.owner
    return not run.shipped and (operator or (visitor != "" and visitor == owner))


def _check_may_change(key: str, visitor: str, operator: bool, deleted: bool = False) -> None:
    """Raise NotAllowed or UnknownRun unless the visitor may change this run; a damaged one only the operator may."""
    run, exists = None, KEY.fullmatch(key) is not None
    if exists:
        try:
            run = store.load(storage.current().folder(key, deleted))
        except UnknownRun:
            exists = False
        except RunError:
            pass
    if not exists:
        shipped = store.pretrained_folders()
        if not deleted and (key in shipped or key in shipped.values()):
            raise NotAllowed(f"Run “{shorten(key)}” is included with the program and cannot be changed or deleted.")
        where = "in the trash: it can no longer be restored" if deleted else "on this machine"
        raise UnknownRun(f"There is no run “{shorten(key)}” {where}.")
    if not (may_change(run, visitor, operator) if run else operator):
        raise NotAllowed(
            f"Run {key} belongs to another visitor: only its owner or the operator may change or delete it."
        )


def _used_bytes() -> int:
    """Return the bytes of the stored runs, counted in the storage if the index does not answer."""
    try:
        index.refresh()
        return index.used_bytes()
    except LineageError:
        log.exception("the index does not answer; the runs are counted in the storage")
        return sum(store.folder_size(storage.current().folder(key)) for key in storage.current().changes())


def _update_index(change: Callable[..., None], *arguments: object) -> None:
    """Apply a change to the index; if it does not answer, its next refresh repairs it."""
    try:
        change(*arguments)
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
    kept = remove_controls(given).strip()
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
