"""What may be done with kept runs: the folders first, then the index, which mends itself. Needs no torch.

A visitor is a text that stands for somebody; the operator is whoever says so (the command line, or a browser that
knows the password). A run of no visitor (`owner` is empty) is the operator's, and being pinned is part of what is
said of a run. Moves take turns, so two visitors at once are no trouble.
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
from explorer.errors import InvalidSetting, LineageError, NotAllowed, RunError, StoreError, UnknownRun, shortened
from explorer.training import index, store
from explorer.training.config import KEY
from explorer.training.store import StoredRun

log = logging.getLogger(__name__)
MOST_NAME = 80  # characters
MOST_TAGS = 12
MOST_TAG = 30  # characters
_lock = threading.RLock()


def keep(folder: Path) -> StoredRun:
    """Take a run folder on this disk into the runs that are kept, in place of an older one of its key.

    Raises RunError if it is none, and StoreError if there is no room; then it stays where it is.
    """
    with _lock, _disk("The run could not be kept"):
        run = store.load(folder)
        _make_room(store.size(folder), run.key)
        kept = store.settle(folder, environment().runs / run.key)
        _enter(kept.folder)
        return kept


def make_room(need: int) -> list[str]:
    """Delete visitors' oldest runs until so many bytes fit; the keys of those that are gone.

    Pinned runs and the operator's stay. Raises StoreError, and deletes nothing, if it cannot be enough.
    """
    with _lock, _disk("Old runs could not be deleted"):
        return _make_room(need)


def change(
    key: str,
    visitor: str,
    operator: bool,
    *,
    name: str | None = None,
    tags: Iterable[str] | None = None,
    note: str | None = None,
    pinned: bool | None = None,
) -> StoredRun:
    """Say something of a run; None leaves it as it is. Raises NotAllowed, InvalidSetting, RunError or StoreError."""
    words: dict[str, Any] = {}
    if name is not None:
        words["name"] = _text("name", " ".join(name.split()), MOST_NAME)
    if tags is not None:
        words["tags"] = _tags(tags)
    if note is not None:
        words["note"] = _text("note", note, environment().most_text)
    if pinned is not None:
        words["pinned"] = pinned
    with _lock, _disk("What was said of the run could not be written"):
        run = store.load(_allowed(key, environment().runs, visitor, operator))
        if words:
            run = store.say(run, **words)
            _enter(run.folder)
        return run


def delete(keys: Iterable[str], visitor: str, operator: bool) -> None:
    """Move runs to the trash: all of them, or none if one may not be. Raises NotAllowed, RunError or StoreError."""
    with _lock, _disk("Not every run could be deleted"):
        for folder in [_allowed(key, environment().runs, visitor, operator) for key in dict.fromkeys(keys)]:
            _move(folder, environment().trash)
            _strike(folder.name)


def undelete(keys: Iterable[str], visitor: str, operator: bool) -> None:
    """Bring runs back from the trash: all of them, or none. Raises NotAllowed, RunError or StoreError."""
    with _lock, _disk("Not every run could be brought back"):
        folders = [_allowed(key, environment().trash, visitor, operator) for key in dict.fromkeys(keys)]
        for folder in folders:
            if (environment().runs / folder.name).exists():
                raise StoreError(
                    f"Run {folder.name} was made again in the meantime. Delete the new one to have the old one back."
                )
        _make_room(sum(store.size(folder) for folder in folders))
        for folder in folders:
            _move(folder, environment().runs)
            _enter(environment().runs / folder.name)


def purge(keys: Iterable[str]) -> None:
    """Delete runs in the trash for good; one that is not there is no trouble."""
    with _lock, _disk("The trash could not be emptied"):
        for key in keys:
            if KEY.fullmatch(key) and (environment().trash / key).is_dir():
                store.remove(environment().trash / key)


def empty_trash() -> None:
    """Delete everything in the trash for good."""
    with _lock, _disk("The trash could not be emptied"):
        if environment().trash.is_dir():
            store.remove(environment().trash)


def may_change(run: StoredRun | index.Entry, visitor: str, operator: bool) -> bool:
    """Whether somebody may change, pin and delete a run: its owner and the operator may; nobody, if it is shipped."""
    owner = run.card.owner if isinstance(run, StoredRun) else run.owner
    return not run.shipped and (operator or (visitor != "" and visitor == owner))


def _allowed(key: str, place: Path, visitor: str, operator: bool) -> Path:
    """The folder of a run that somebody may change. A damaged one is the operator's: nobody knows whose it was."""
    folder = place / key if KEY.fullmatch(key) else None
    if folder is None or not folder.is_dir():
        shipped = store.pretrained()
        if place == environment().runs and (key in shipped or key in shipped.values()):
            raise NotAllowed(f"Run “{shortened(key)}” comes with the program: nobody changes or deletes it.")
        where = "on this machine" if place == environment().runs else "in the trash: it can no longer be asked back"
        raise UnknownRun(f"There is no run “{shortened(key)}” {where}.")
    try:
        allowed = may_change(store.load(folder), visitor, operator)
    except RunError:
        allowed = operator
    if not allowed:
        raise NotAllowed(
            f"Run {key} is somebody else's: only who trained it, or the operator, may change or delete it."
        )
    return folder


def _make_room(need: int, replaced: str = "") -> list[str]:
    """See make_room; the run that is replaced gives its room back, and is not deleted for it."""
    limit = environment().most_disk
    used = _used_bytes()
    if replaced and (before := environment().runs / replaced).is_dir():
        used -= store.size(before)
    if used + need <= limit:
        return []
    own = index.search(index.Query(shipped=False, order="created", most=2**31 - 1))
    free, chosen = 0, []
    for entry in own:
        if used + need - free > limit and entry.owner and not entry.pinned and entry.key != replaced:
            free += entry.bytes
            chosen.append(entry.key)
    if used + need - free > limit:
        raise StoreError(
            f"There is no room for {need:,} more bytes: kept runs take {used:,}, and this server keeps {limit:,} "
            "(LINEAGE_MOST_DISK). Delete runs, or unpin some."
        )
    for key in chosen:
        if (environment().runs / key).is_dir():
            store.remove(environment().runs / key)
        log.info("run %s was deleted to make room", key)
        _strike(key)
    return chosen


def _used_bytes() -> int:
    """Bytes of the kept runs; while the index does not answer, counted on the disk."""
    try:
        index.refresh()
        return index.used_bytes()
    except LineageError:
        log.exception("the index does not answer; the runs are counted on the disk")
        return store.size(environment().runs)


def _move(folder: Path, place: Path) -> None:
    """Move a run folder into another one; what stood there under its name is gone."""
    place.mkdir(parents=True, exist_ok=True)
    if (place / folder.name).exists():
        store.remove(place / folder.name)
    folder.rename(place / folder.name)


def _enter(folder: Path) -> None:
    _tell(lambda: index.put(store.load(folder)))


def _strike(key: str) -> None:
    _tell(lambda: index.drop(key))


def _tell(news: Callable[[], None]) -> None:
    """Tell the index what was done; if it does not answer, its next refresh finds out."""
    try:
        news()
    except LineageError:
        log.exception("the index does not answer; its next refresh mends it")


@contextmanager
def _disk(failed: str) -> Iterator[None]:
    """What the disk refuses is said in one sentence."""
    try:
        yield
    except OSError as error:
        log.exception("%s", failed)
        raise StoreError(
            f"{failed}: {error.strerror or 'the disk refuses'}. Make room on the disk, or try again."
        ) from error


def _text(what: str, given: str, most: int) -> str:
    """A text as it may be kept: without control characters, and not too long."""
    kept = "".join(c for c in given if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs")).strip()
    if len(kept) > most:
        raise InvalidSetting(
            f"The {what} “{shortened(kept)}” has {len(kept):,} characters. Give at most {most:,} characters."
        )
    return kept


def _tags(given: Iterable[str]) -> tuple[str, ...]:
    tags: dict[str, str] = {}
    for each in given:
        tag = _text("tag", " ".join(each.split()), MOST_TAG)
        if "," in tag:
            raise InvalidSetting(f"The tag “{shortened(tag)}” has a comma in it. Give two tags, or leave it out.")
        if tag:
            tags.setdefault(tag.casefold(), tag)
    if len(tags) > MOST_TAGS:
        raise InvalidSetting(f"These are {len(tags)} tags. Give at most {MOST_TAGS}.")
    return tuple(tags.values())
