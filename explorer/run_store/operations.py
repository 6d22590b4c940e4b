"""Operations on stored runs, with permissions and the limit on disk space. Needs no torch.

Each operation changes the folders first and then the index, which repairs itself; with LINEAGE_RUNS it changes the
storage first, then the index and the local copies. A visitor is an opaque text; the operator is the command line, or a
browser that knows the password. A run with an empty `owner` belongs to the operator. A lock serializes all operations.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from explorer.environment import environment
from explorer.errors import InvalidSetting, LineageError, NotAllowed, RunError, StoreError, UnknownRun, shorten
from explorer.run_store import index, local_copies, storage, store
from explorer.run_store.change_lock import changing_runs
from explorer.run_store.storage import SharedRun, Storage
from explorer.run_store.store import StoredRun
from explorer.training.config import KEY
from explorer.visible_text import remove_controls

log = logging.getLogger(__name__)
MAX_NAME_LENGTH = 80  # characters
MAX_TAGS = 12
MAX_TAG_LENGTH = 30  # characters


def add_run(folder: Path, check: Callable[[], None] = lambda: None) -> StoredRun:
    """Move a run folder on the same disk into the stored runs, replacing an older run with its key.

    check: is called just before the run replaces the older one, while nobody else changes runs; if it raises an
        exception, nothing is stored

    Raises RunError if it is not a run, and StoreError if there is no space; then the folder is not moved.
    """
    with _report_disk_errors("The run could not be stored"):
        run = store.load(folder)
        if shared := storage.current():
            _upload(shared, run, check)
            return store.load(environment().runs / run.key)
        with changing_runs():
            _free_disk_space(store.folder_size(folder), run.key)
            check()
            kept = store.install_run(folder, environment().runs / run.key)
            _update_index(lambda: index.add_run(store.load(kept.folder)))
            return kept


def upload_runs() -> list[str]:
    """Copy the runs of this machine that are not in LINEAGE_RUNS yet into it, and return their keys.

    These are runs from the time before LINEAGE_RUNS was set, and those that the terminal trained while the storage did
    not answer. A finished run in the storage is not replaced by a stopped one. Raises StoreError.
    """
    shared, uploaded = storage.current(), []
    for folder in local_copies.not_uploaded() if shared else ():
        with _report_disk_errors("A run could not be stored"):
            try:
                run = store.load(folder)
                before = shared.find(run.key) if shared else None
            except RunError as error:
                log.warning("the run in %s is not copied into LINEAGE_RUNS: %s", folder, error)
                continue
            if before and before.card.finished and not run.card.finished:
                store.remove_folder(folder)
            elif shared:
                _upload(shared, run, lambda: None)
                uploaded.append(run.key)
    return uploaded


def free_disk_space(need: int) -> list[str]:
    """Delete the oldest runs of visitors until `need` bytes fit, and return their keys.

    Pinned runs and the operator's runs are kept. Raises StoreError, and deletes nothing, if that is not enough.
    """
    with changing_runs(), _report_disk_errors("Old runs could not be deleted"):
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
    with changing_runs(), _report_disk_errors("The card of the run could not be written"):
        _check_may_change(key, visitor, operator)
        if not (shared := storage.current()):
            run = store.load(environment().runs / key)
            if words:
                run = store.update_card(run, **words)
                _update_index(lambda: index.add_run(store.load(run.folder)))
            return run
        if words and (found := shared.find(key)):
            card = store.Card.model_validate(found.card.model_dump() | words)
            changed = shared.publish(dataclasses.replace(found, card=card))
            _update_index(lambda: index.add_run(changed))
        return store.load(environment().runs / key)


def delete_runs(keys: Iterable[str], visitor: str, operator: bool) -> None:
    """Move runs to the trash: all, or none if one is not allowed. Raises NotAllowed, RunError or StoreError."""
    keys = list(dict.fromkeys(keys))
    with changing_runs(), _report_disk_errors("Not every run could be deleted"):
        for key in keys:
            _check_may_change(key, visitor, operator)
        for key in keys:
            if shared := storage.current():
                shared.delete(key)
                local_copies.forget(key)
            else:
                _move_folder(environment().runs / key, environment().trash)
            _remove_from_index(key)


def restore_runs(keys: Iterable[str], visitor: str, operator: bool) -> None:
    """Move runs back from the trash: all or none. Raises NotAllowed, RunError or StoreError."""
    keys, shared = list(dict.fromkeys(keys)), storage.current()
    with changing_runs(), _report_disk_errors("Not every run could be restored"):
        for key in keys:
            _check_may_change(key, visitor, operator, deleted=True)
        for key in keys:
            if shared.has(key) if shared else (environment().runs / key).exists():
                raise StoreError(
                    f"Run {key} was trained again in the meantime. Delete the new run to restore the old one."
                )
        if shared:
            found = {key: shared.find(key, deleted=True) for key in keys}
            _free_disk_space(sum(run.bytes for run in found.values() if run))
            for key, run in found.items():
                shared.restore(key)
                if run:
                    _update_index(partial(index.add_run, run))
            return
        _free_disk_space(sum(store.folder_size(environment().trash / key) for key in keys))
        for key in keys:
            _move_folder(environment().trash / key, environment().runs)
            _update_index(lambda key=key: index.add_run(store.load(environment().runs / key)))  # type: ignore[misc]


def purge_runs(keys: Iterable[str]) -> None:
    """Delete runs in the trash permanently; keys that are not there are ignored."""
    with changing_runs(), _report_disk_errors("The trash could not be emptied"):
        for key in filter(KEY.fullmatch, keys):
            if shared := storage.current():
                shared.purge(key)
            elif (environment().trash / key).is_dir():
                store.remove_folder(environment().trash / key)


def empty_trash() -> None:
    """Delete everything in the trash permanently.

    With LINEAGE_RUNS nothing is deleted, because a browser tab of another server may still restore it: `tidy_storage`
    deletes it after a day.
    """
    with changing_runs(), _report_disk_errors("The trash could not be emptied"):
        if not environment().run_storage and environment().trash.is_dir():
            store.remove_folder(environment().trash)


def tidy_storage() -> None:
    """Delete in LINEAGE_RUNS what killed servers have left, and what has been in the trash for a day."""
    if shared := storage.current():
        with _report_disk_errors("The storage of runs could not be tidied"):
            shared.tidy(datetime.datetime.now(datetime.UTC))


def may_change(run: StoredRun | SharedRun | index.Entry, visitor: str, operator: bool) -> bool:
    """Return whether a visitor may change, pin and delete a run: its owner and the operator may, except shipped
    runs.
    """
    owner = run.owner if isinstance(run, index.Entry) else run.card.owner
    shipped = not isinstance(run, SharedRun) and run.shipped
    return not shipped and (operator or (visitor != "" and visitor == owner))


def _check_may_change(key: str, visitor: str, operator: bool, deleted: bool = False) -> None:
    """Raise NotAllowed or UnknownRun unless the visitor may change this run (`deleted`: in the trash).

    Only the operator may change damaged runs, whose owner is unknown.
    """
    shared, place = storage.current(), environment().trash if deleted else environment().runs
    run: StoredRun | SharedRun | None = None
    exists, readable = KEY.fullmatch(key) is not None, True
    if exists:
        try:
            run = shared.find(key, deleted) if shared else store.load(place / key) if (place / key).is_dir() else None
            exists = run is not None
        except RunError:
            readable = False
    if not exists:
        shipped = store.pretrained_folders()
        if not deleted and (key in shipped or key in shipped.values()):
            raise NotAllowed(f"Run “{shorten(key)}” is included with the program and cannot be changed or deleted.")
        where = "in the trash: it can no longer be restored" if deleted else "on this machine"
        raise UnknownRun(f"There is no run “{shorten(key)}” {where}.")
    if not (may_change(run, visitor, operator) if run and readable else operator):
        raise NotAllowed(
            f"Run {key} belongs to another visitor: only its owner or the operator may change or delete it."
        )


def _upload(shared: Storage, run: StoredRun, check: Callable[[], None]) -> None:
    """Copy a run into the storage, replacing an older run with its key, and make its folder the local copy.

    check: as that of `add_run`
    """
    new = shared.upload(run.folder, run.card)  # takes time, and nobody sees these files yet
    published = None
    try:
        with changing_runs():
            _free_disk_space(new.bytes, run.key)
            before = _find_readable(shared, run.key)
            card = store.keep_entered(run.card, before.card) if before else run.card
            check()
            published = shared.publish(dataclasses.replace(new, card=card))
            _update_index(partial(index.add_run, published))
            if before:
                shared.delete_files(before)
    finally:
        if published is None:
            with contextlib.suppress(StoreError):  # `tidy_storage` deletes them otherwise
                shared.delete_files(new)
    local_copies.install(run.folder, environment().runs / run.key, published)


def _find_readable(shared: Storage, key: str) -> SharedRun | None:
    try:
        return shared.find(key)
    except RunError as error:
        log.warning("the card of run %s cannot be read; its name, tags and note are lost: %s", key, error)
        return None


def _free_disk_space(need: int, replaced: str = "") -> list[str]:
    """See `free_disk_space`; the space of the run `replaced` counts as free, and it is not deleted."""
    limit = environment().most_disk
    used = _used_bytes()
    if replaced:
        used -= _size_of_replaced(replaced)
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
        if shared := storage.current():
            shared.erase(key)
            local_copies.forget(key)
        elif (environment().runs / key).is_dir():
            store.remove_folder(environment().runs / key)
        log.info("run %s was deleted to free space", key)
        _remove_from_index(key)
    return chosen


def _size_of_replaced(key: str) -> int:
    if shared := storage.current():
        before = _find_readable(shared, key)
        return before.bytes if before else 0
    folder = environment().runs / key
    return store.folder_size(folder) if folder.is_dir() else 0


def _used_bytes() -> int:
    """Return the bytes of the stored runs, counted on disk if the index does not answer."""
    try:
        index.refresh()
        return index.used_bytes()
    except LineageError:
        if environment().run_storage:
            raise
        log.exception("the index does not answer; the runs are counted on disk")
        return store.folder_size(environment().runs)


def _move_folder(folder: Path, place: Path) -> None:
    """Move a run folder into another folder and replace a run of the same name there."""
    place.mkdir(parents=True, exist_ok=True)
    if (place / folder.name).exists():
        store.remove_folder(place / folder.name)
    folder.rename(place / folder.name)


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
