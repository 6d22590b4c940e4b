"""The SQL index over the run folders, for searching. Needs no torch.

The folders are authoritative: the index can be deleted at any time and is rebuilt from them. It is stored in a
database (see `database.py`) that belongs to one LINEAGE_HOME. Every function may be called from any thread and
raises StoreError while the database does not answer.
"""

from __future__ import annotations

import dataclasses
import datetime
import logging
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from sqlalchemy import BigInteger, ColumnElement, ForeignKeyConstraint, delete, func, select
from sqlalchemy.orm import Mapped, Session, mapped_column, relationship

from explorer.database.engine import Base, database, lock, run_transaction, to_utc
from explorer.environment import environment
from explorer.errors import DamagedRun, InvalidSetting, RunError, shorten
from explorer.run_store import store
from explorer.training.config import KEY, changed_settings, to_json

log = logging.getLogger(__name__)
_T = TypeVar("_T")
_Folder: TypeAlias = tuple[bool, str]  # whether it is shipped, and its folder name
_REFRESH_SECONDS = 2.0  # seconds after a refresh until the next search refreshes again
_SEPARATOR = "\x1f"  # separates the texts of `words`, and occurs in none of them


@dataclass(frozen=True)
class Entry:
    """One run in the index."""

    key: str
    shipped: bool
    folder: str  # its name, not its path
    task: str
    model: str
    title: str  # of the model
    state: str
    step: int
    steps: int
    created: datetime.datetime  # in UTC
    seconds: float
    parameters: int
    replicas: int
    seed: int
    owner: str
    name: str
    note: str
    pinned: bool
    parent: str  # key of the run that this one branched off; empty if none
    bytes: int
    changed: int  # when the card was written, in nanoseconds
    accuracy: float | None  # the mean of `exact_accuracy`
    metrics: dict[str, dict[str, Any]]  # by name: "mean" and "values", as on the card
    settings: dict[str, Any]  # differences from the default configuration, as `with_settings` takes them
    tags: tuple[str, ...]


@dataclass(frozen=True)
class Query:
    """A search for runs; a field with its default value does not restrict the result."""

    text: str = ""  # in the name, title, key, note, tags or shipped name; case-insensitive
    models: tuple[str, ...] = ()  # one of these
    tasks: tuple[str, ...] = ()  # one of these
    tags: tuple[str, ...] = ()  # all of these
    keys: tuple[str, ...] | None = None  # one of these; None: any
    since: datetime.datetime | None = None
    owner: str | None = None  # None: any owner
    shipped: bool = True  # include shipped runs
    unfinished: bool = True  # include stopped and diverged runs
    order: str = "-created"  # one of ORDERS; a leading "-" reverses it
    limit: int = 500


class _Run(Base):
    """A row for each run folder; see Entry. A change needs a new migration in database/migrations/versions/."""

    __tablename__ = "runs"

    key: Mapped[str] = mapped_column(primary_key=True)
    shipped: Mapped[bool] = mapped_column(primary_key=True)
    folder: Mapped[str]
    task: Mapped[str]
    model: Mapped[str] = mapped_column(index=True)
    title: Mapped[str]
    state: Mapped[str]
    step: Mapped[int] = mapped_column(BigInteger)
    steps: Mapped[int] = mapped_column(BigInteger)
    created: Mapped[datetime.datetime] = mapped_column(index=True)
    seconds: Mapped[float]
    parameters: Mapped[int] = mapped_column(BigInteger)
    replicas: Mapped[int]
    seed: Mapped[int] = mapped_column(BigInteger)
    owner: Mapped[str] = mapped_column(index=True)
    name: Mapped[str]
    note: Mapped[str]
    pinned: Mapped[bool]
    parent: Mapped[str]
    bytes: Mapped[int] = mapped_column(BigInteger)
    changed: Mapped[int] = mapped_column(BigInteger)
    accuracy: Mapped[float | None]
    metrics: Mapped[dict[str, dict[str, Any]]]
    settings: Mapped[dict[str, Any]]
    words: Mapped[str]  # all searchable texts, casefolded
    tags: Mapped[list[_Tag]] = relationship(lazy="selectin", passive_deletes=True)


class _Tag(Base):
    __tablename__ = "tags"
    __table_args__ = (ForeignKeyConstraint(["key", "shipped"], ["runs.key", "runs.shipped"], ondelete="CASCADE"),)

    key: Mapped[str] = mapped_column(primary_key=True)
    shipped: Mapped[bool] = mapped_column(primary_key=True)
    tag: Mapped[str] = mapped_column(primary_key=True)


_COLUMNS = tuple(f.name for f in dataclasses.fields(Entry) if f.name != "tags")
_ORDERS: dict[str, Callable[[], ColumnElement[Any]]] = {
    "created": lambda: _Run.created.expression,
    "name": lambda: func.lower(func.nullif(_Run.name, "")),
    "title": lambda: func.lower(_Run.title),
    "seconds": lambda: _Run.seconds.expression,
    "parameters": lambda: _Run.parameters.expression,
    "bytes": lambda: _Run.bytes.expression,
    "accuracy": lambda: _Run.accuracy.expression,
}
ORDERS = tuple(_ORDERS)


def search(query: Query = Query()) -> list[Entry]:
    """Return the runs of a query in its order; those without a name or an accuracy come last.

    Raises InvalidSetting if the text is too long or the order is unknown.
    """
    max_length = environment().most_text
    if len(query.text) > max_length:
        raise InvalidSetting(f"A search text has at most {max_length:,} characters; this one has {len(query.text):,}.")
    name = query.order.removeprefix("-")
    if name not in ORDERS:
        raise InvalidSetting(
            f"Runs cannot be ordered by “{shorten(query.order)}”. There is {', '.join(ORDERS)}; "
            "a leading minus reverses the order."
        )
    column = _ORDERS[name]()
    ordering = (column.desc() if query.order.startswith("-") else column.asc()).nulls_last()
    statement = (
        select(_Run)
        .where(*_conditions(query))
        .order_by(ordering, _Run.created.desc(), _Run.key, _Run.shipped)
        .limit(max(query.limit, 0))
    )
    return _read_refreshed(lambda session: [_as_entry(row) for row in session.scalars(statement)])


def all_tags() -> list[str]:
    """Return the tags of all runs, sorted."""
    return sorted(_read_refreshed(lambda session: session.scalars(select(_Tag.tag).distinct()).all()), key=str.casefold)


def used_bytes() -> int:
    """Return the bytes that this machine's own runs take on disk."""
    total = select(func.coalesce(func.sum(_Run.bytes), 0)).where(_Run.shipped.is_(False))
    return int(_read_refreshed(lambda session: session.scalar(total)) or 0)


def add_run(run: store.StoredRun) -> None:
    """Add a run, or replace its row."""
    with lock:
        entry = _read_entry(run.folder)
        run_transaction(lambda session: _replace_rows(session, [entry], [(entry.shipped, entry.folder)]), write=True)


def remove_run(key: str) -> None:
    """Remove one of this machine's own runs from the index."""
    with lock:
        run_transaction(lambda session: _replace_rows(session, [], [(False, key)]), write=True)


def reindex() -> int:
    """Rebuild the index from the folders and return its number of runs. Damaged runs are logged and left out."""
    with lock:
        database().skipped_folders.clear()
        entries = _read_entries(_card_times())
        run_transaction(lambda session: _replace_rows(session, entries, None), write=True)
        database().refreshed_at = time.monotonic()
        return len(entries)


def refresh() -> None:
    """Update the index after changes on disk: folder names and card times are compared, only new folders are read."""
    with lock:
        rows = run_transaction(
            lambda session: session.execute(select(_Run.shipped, _Run.folder, _Run.changed, _Run.key)).all()
        )
        card_times = _card_times()
        indexed = {(shipped, folder): changed for shipped, folder, changed, _ in rows}
        skipped = database().skipped_folders
        changed_folders = {
            place: changed
            for place, changed in card_times.items()
            if indexed.get(place) != changed and skipped.get(place) != changed
        }
        taken_keys = {(key, shipped) for shipped, folder, _, key in rows if (shipped, folder) in card_times}
        taken_keys -= {(key, shipped) for shipped, folder, _, key in rows if (shipped, folder) in changed_folders}
        entries = _read_entries(changed_folders, taken_keys)
        outdated = [
            *(place for place in indexed if place not in card_times),
            *changed_folders,
        ]  # another process may have added some of them
        if outdated:
            run_transaction(lambda session: _replace_rows(session, entries, outdated), write=True)
        database().refreshed_at = time.monotonic()


def _read_refreshed(read: Callable[[Session], _T]) -> _T:
    """Run a reading transaction on an index that was refreshed within _REFRESH_SECONDS."""
    for _ in range(2):
        if time.monotonic() - database().refreshed_at > _REFRESH_SECONDS:
            with lock:
                if (
                    time.monotonic() - database().refreshed_at > _REFRESH_SECONDS
                ):  # another thread may have refreshed meanwhile
                    refresh()
        before = database()
        found = run_transaction(read)
        if database() is before:
            break  # otherwise a damaged database was replaced meanwhile and is still empty
    return found


def _conditions(query: Query) -> Iterator[ColumnElement[bool]]:
    if text := _storable_text(query.text).casefold().strip():
        yield _Run.words.contains(text, autoescape=True)
    if query.models:
        yield _Run.model.in_(query.models)
    if query.tasks:
        yield _Run.task.in_(query.tasks)
    if query.keys is not None:
        yield _Run.key.in_(query.keys)
    for tag in query.tags:
        yield _Run.tags.any(_Tag.tag == _storable_text(tag))
    if query.since:
        yield _Run.created >= query.since
    if query.owner is not None:
        yield _Run.owner == _storable_text(query.owner)
    if not query.shipped:
        yield _Run.shipped.is_(False)
    if not query.unfinished:
        yield _Run.state == "finished"


def _as_entry(row: _Run) -> Entry:
    return Entry(**{name: getattr(row, name) for name in _COLUMNS}, tags=_sort_tags(tag.tag for tag in row.tags))


def _as_row(entry: Entry) -> _Run:
    columns = {name: getattr(entry, name) for name in _COLUMNS}
    shipped = [entry.folder] if entry.shipped else []  # the name that the command line accepts
    words = _SEPARATOR.join((entry.name, entry.title, entry.key, entry.note, *entry.tags, *shipped)).casefold()
    return _Run(**columns, words=words, tags=[_Tag(tag=tag) for tag in entry.tags])


def _replace_rows(session: Session, entries: Iterable[Entry], old: Iterable[_Folder] | None) -> None:
    """Delete the rows of some folders (None: of all) and insert new ones."""
    if old is None:
        session.execute(delete(_Run))
    for shipped, folder in old or ():
        session.execute(delete(_Run).where(_Run.shipped.is_(shipped), _Run.folder == folder))
    session.add_all(map(_as_row, entries))


def _root_folder(shipped: bool) -> Path:
    return store.PRETRAINED if shipped else environment().runs


def _card_times() -> dict[_Folder, int]:
    """Return every run folder that has a card, with the modification time of the card in nanoseconds."""
    found = {}
    for shipped in (False, True):
        place = str(_root_folder(shipped))  # a string: a Path for each of thousands of runs is slow
        try:
            names = sorted(os.listdir(place))
        except OSError:
            continue  # there are no runs yet
        for name in names:
            if (not name.startswith(".")) if shipped else KEY.fullmatch(name):
                try:
                    found[shipped, name] = os.stat(f"{place}/{name}/card.json").st_mtime_ns
                except OSError:
                    continue  # not a run, or deleted meanwhile
    return found


def _read_entries(folders: dict[_Folder, int], taken: Iterable[tuple[str, bool]] = ()) -> list[Entry]:
    """Read run folders. Unreadable ones are logged and skipped until they change."""
    entries, taken = [], set(taken)
    for (shipped, name), changed in folders.items():
        try:
            entry = _read_entry(_root_folder(shipped) / name)
            if (entry.key, entry.shipped) in taken:
                raise DamagedRun(f"The run in {name} is a duplicate of the run in another folder.")
        except RunError as error:
            log.warning("the run in %s cannot be read and is not listed: %s", name, error)
            database().skipped_folders[shipped, name] = changed
        else:
            entries.append(entry)
            taken.add((entry.key, entry.shipped))
    return entries


def _read_entry(folder: Path) -> Entry:
    """Read the entry of one run folder. Raises UnknownRun or DamagedRun."""
    try:
        changed = (
            (folder / "card.json").stat().st_mtime_ns
        )  # before reading, so that a later change is noticed next time
        shipped = folder.parent == store.PRETRAINED
        if shipped:  # a new home would otherwise read the curves of hundreds of runs before its first page
            config, card = store.read_config_and_card(folder)
        else:
            run = store.load(folder)
            config, card = run.config, run.card
        size = store.folder_size(folder)
        created = to_utc(datetime.datetime.fromisoformat(card.created))
    except (OSError, ValueError, OverflowError) as error:
        raise DamagedRun(f"The run in {folder.name} cannot be read: {shorten(error, 200)}.") from error
    if not shipped and card.key != folder.name:
        raise DamagedRun(f"The run in {folder.name} has the key {card.key}.")
    if not (0 <= card.parameters < 2**63 and 0 <= card.seconds < math.inf):
        raise DamagedRun(f"The run in {folder.name} has impossible numbers on its card.")
    metrics: dict[str, dict[str, Any]] = {
        name: {"mean": _finite_or_none(metric.mean), "values": [_finite_or_none(value) for value in metric.values]}
        for name, metric in card.metrics.items()
    }
    return Entry(
        key=card.key,
        shipped=shipped,
        folder=folder.name,
        task=to_json(config)["task"]["name"],
        model=config.model_name,
        title=config.title,
        state=card.state,
        step=card.step,
        steps=config.steps,
        created=created,
        seconds=card.seconds,
        parameters=card.parameters,
        replicas=config.replicas,
        seed=config.seed,
        owner=_storable_text(card.owner)[:200],  # PostgreSQL limits the length of indexed texts
        name=_storable_text(card.name),
        note=_storable_text(card.note),
        pinned=card.pinned,
        parent=config.branch.parent if config.branch else "",
        bytes=size,
        changed=changed,
        accuracy=accuracy(metrics).get("mean"),
        metrics=metrics,
        settings=changed_settings(config),
        tags=_sort_tags({_storable_text(tag)[:200] for tag in card.tags}),
    )


def accuracy(metrics: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the metric of a run that is the accuracy on its task, or an empty dict."""
    names = ("exact_accuracy", "accuracy", "exact", "test_accuracy")
    return next((metrics[name] for name in names if name in metrics), {})


def _storable_text(text: str) -> str:
    """Return a text without the characters that a database refuses (NUL, the separator, lone surrogates)."""
    return text.translate({0: None, ord(_SEPARATOR): None}).encode(errors="replace").decode()


def _sort_tags(tags: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(tags, key=lambda tag: (tag.casefold(), tag)))


def _finite_or_none(value: float | None) -> float | None:
    """Return a number, or None for NaN and infinity, which JSON does not have."""
    return value if value is not None and math.isfinite(value) else None


# ---- The database ----
