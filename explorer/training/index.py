"""The index over the run folders: a table to search them by. Needs no torch.

The folders are the truth: the index can be thrown away at any time and is made again from them. It lies in a
database (see `database.py`), which belongs to one LINEAGE_HOME. Every function may be called from any thread,
and raises StoreError while the database does not answer.
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

from explorer.environment import environment
from explorer.errors import DamagedRun, InvalidSetting, RunError, shortened
from explorer.training import store
from explorer.training.config import KEY, differing, to_json
from explorer.training.database import Base, ask, database, lock, utc

log = logging.getLogger(__name__)
_T = TypeVar("_T")
_Folder: TypeAlias = tuple[bool, str]  # whether it is among those that ship, and its name there
_FRESH = 2.0  # seconds for which what a refresh has found is taken as it is
_BETWEEN = "\x1f"  # stands between the texts of `words`, and in none of them


@dataclass(frozen=True)
class Entry:
    """What the index knows of a run."""

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
    parent: str  # the key of the run that this one branched off; empty: none
    bytes: int
    changed: int  # when the card was written, in nanoseconds
    accuracy: float | None  # the mean of `exact_accuracy`
    metrics: dict[str, dict[str, Any]]  # by name: "mean" and "values", as on the card
    settings: dict[str, Any]  # what differs from the default, as `config.changed` takes it
    tags: tuple[str, ...]


@dataclass(frozen=True)
class Query:
    """Which runs are asked for; what is left as it is narrows nothing."""

    text: str = ""  # somewhere in what names a run or is said of it; capitals are the same as small letters
    models: tuple[str, ...] = ()  # one of these
    tasks: tuple[str, ...] = ()  # one of these
    tags: tuple[str, ...] = ()  # all of these
    since: datetime.datetime | None = None
    owner: str | None = None  # None: anybody's
    shipped: bool = True  # also those that come with the program
    unfinished: bool = True  # also those that were stopped or diverged
    order: str = "-created"  # one of ORDERS; with "-" the other way round
    most: int = 500


class _Run(Base):
    """A row for each run folder; see Entry. A change here needs a new file in migrations/versions/."""

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
    words: Mapped[str]  # everything that a text is looked for in, in small letters
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
    """The runs that a query asks for, in its order; those without a name or an accuracy come last."""
    most = environment().most_text
    if len(query.text) > most:
        raise InvalidSetting(f"A text to look for has at most {most:,} characters; this one has {len(query.text):,}.")
    name = query.order.removeprefix("-")
    if name not in ORDERS:
        raise InvalidSetting(
            f"Runs cannot be ordered by “{shortened(query.order)}”. There is {', '.join(ORDERS)}; "
            "a minus in front turns the order round."
        )
    by = _ORDERS[name]()
    first = (by.desc() if query.order.startswith("-") else by.asc()).nulls_last()
    statement = (
        select(_Run)
        .where(*_conditions(query))
        .order_by(first, _Run.created.desc(), _Run.key, _Run.shipped)
        .limit(max(query.most, 0))
    )
    return _look_up(lambda session: [_as_entry(row) for row in session.scalars(statement)])


def every_tag() -> list[str]:
    """The tags that runs have."""
    return sorted(_look_up(lambda session: session.scalars(select(_Tag.tag).distinct()).all()), key=str.casefold)


def used_bytes() -> int:
    """Bytes that this machine's own runs take on disk."""
    total = select(func.coalesce(func.sum(_Run.bytes), 0)).where(_Run.shipped.is_(False))
    return int(_look_up(lambda session: session.scalar(total)) or 0)


def put(run: store.StoredRun) -> None:
    """Enter a run, or what has changed of it."""
    with lock:
        entry = _read(run.folder)
        ask(lambda session: _replace(session, [entry], [(entry.shipped, entry.folder)]), write=True)


def drop(key: str) -> None:
    """Strike out one of this machine's own runs."""
    with lock:
        ask(lambda session: _replace(session, [], [(False, key)]), write=True)


def reindex() -> int:
    """Make the index anew from the folders; how many runs it has then. Damaged ones are left out, and logged."""
    with lock:
        database().skipped.clear()
        entries = _read_all(_folders())
        ask(lambda session: _replace(session, entries, None), write=True)
        database().refreshed = time.monotonic()
        return len(entries)


def refresh() -> None:
    """Mend what has changed on disk since: names and times are compared, only what is new is read."""
    with lock:
        rows = ask(lambda session: session.execute(select(_Run.shipped, _Run.folder, _Run.changed, _Run.key)).all())
        found = _folders()
        known = {(shipped, folder): changed for shipped, folder, changed, _ in rows}
        skipped = database().skipped
        news = {
            place: changed
            for place, changed in found.items()
            if known.get(place) != changed and skipped.get(place) != changed
        }
        taken = {(key, shipped) for shipped, folder, _, key in rows if (shipped, folder) in found}
        taken -= {(key, shipped) for shipped, folder, _, key in rows if (shipped, folder) in news}
        entries = _read_all(news, taken)
        old = [*(place for place in known if place not in found), *news]  # another process may have entered some
        if old:
            ask(lambda session: _replace(session, entries, old), write=True)
        database().refreshed = time.monotonic()


def _look_up(read: Callable[[Session], _T]) -> _T:
    """Read from an index that was refreshed not long ago."""
    for _ in range(2):
        if time.monotonic() - database().refreshed > _FRESH:
            with lock:
                if time.monotonic() - database().refreshed > _FRESH:  # not done while we waited
                    refresh()
        before = database()
        found = ask(read)
        if database() is before:
            break  # if not, a damaged database was replaced just now, and is still empty
    return found


def _conditions(query: Query) -> Iterator[ColumnElement[bool]]:
    if text := _plain(query.text).casefold().strip():
        yield _Run.words.contains(text, autoescape=True)
    if query.models:
        yield _Run.model.in_(query.models)
    if query.tasks:
        yield _Run.task.in_(query.tasks)
    for tag in query.tags:
        yield _Run.tags.any(_Tag.tag == _plain(tag))
    if query.since:
        yield _Run.created >= query.since
    if query.owner is not None:
        yield _Run.owner == _plain(query.owner)
    if not query.shipped:
        yield _Run.shipped.is_(False)
    if not query.unfinished:
        yield _Run.state == "finished"


def _as_entry(row: _Run) -> Entry:
    return Entry(**{name: getattr(row, name) for name in _COLUMNS}, tags=_in_order(tag.tag for tag in row.tags))


def _as_row(entry: Entry) -> _Run:
    columns = {name: getattr(entry, name) for name in _COLUMNS}
    shipped = [entry.folder] if entry.shipped else []  # the name by which it is called in a terminal
    words = _BETWEEN.join((entry.name, entry.title, entry.key, entry.note, *entry.tags, *shipped)).casefold()
    return _Run(**columns, words=words, tags=[_Tag(tag=tag) for tag in entry.tags])


def _replace(session: Session, entries: Iterable[Entry], old: Iterable[_Folder] | None) -> None:
    """Take the rows of some folders out (None: of all), then put new ones in."""
    if old is None:
        session.execute(delete(_Run))
    for shipped, folder in old or ():
        session.execute(delete(_Run).where(_Run.shipped.is_(shipped), _Run.folder == folder))
    session.add_all(map(_as_row, entries))


def _place(shipped: bool) -> Path:
    return store.PRETRAINED if shipped else environment().runs


def _folders() -> dict[_Folder, int]:
    """Every run folder with a card, and when its card was written."""
    found = {}
    for shipped in (False, True):
        place = str(_place(shipped))  # texts, and no Path for each of thousands
        try:
            names = sorted(os.listdir(place))
        except OSError:
            continue  # nothing was kept there yet
        for name in names:
            if (not name.startswith(".")) if shipped else KEY.fullmatch(name):
                try:
                    found[shipped, name] = os.stat(f"{place}/{name}/card.json").st_mtime_ns
                except OSError:
                    continue  # not a run, or gone by now
    return found


def _read_all(folders: dict[_Folder, int], taken: Iterable[tuple[str, bool]] = ()) -> list[Entry]:
    """What is known of run folders. Those that cannot be read are logged and left alone until they change."""
    entries, taken = [], set(taken)
    for (shipped, name), changed in folders.items():
        try:
            entry = _read(_place(shipped) / name)
            if (entry.key, entry.shipped) in taken:
                raise DamagedRun(f"The run in {name} is the same as that of another folder.")
        except RunError as error:
            log.warning("%s It is not listed.", error)
            database().skipped[shipped, name] = changed
        else:
            entries.append(entry)
            taken.add((entry.key, entry.shipped))
    return entries


def _read(folder: Path) -> Entry:
    """What is known of a run folder. Raises UnknownRun or DamagedRun."""
    try:
        changed = (folder / "card.json").stat().st_mtime_ns  # before it is read: a later change is seen next time
        run = store.load(folder)
        size = store.size(folder)
        created = utc(datetime.datetime.fromisoformat(run.card.created))
    except (OSError, ValueError, OverflowError) as error:
        raise DamagedRun(f"The run in {folder.name} cannot be read: {shortened(error, 200)}.") from error
    card, config = run.card, run.config
    if not run.shipped and run.key != folder.name:
        raise DamagedRun(f"The run in {folder.name} has the key {run.key}.")
    if not (0 <= card.parameters < 2**63 and 0 <= card.seconds < math.inf):
        raise DamagedRun(f"The run in {folder.name} has figures on its card that are not possible.")
    metrics: dict[str, dict[str, Any]] = {
        name: {"mean": _number(metric.mean), "values": [_number(value) for value in metric.values]}
        for name, metric in card.metrics.items()
    }
    return Entry(
        key=run.key,
        shipped=run.shipped,
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
        owner=_plain(card.owner)[:200],  # what has an index may not be long in PostgreSQL
        name=_plain(card.name),
        note=_plain(card.note),
        pinned=card.pinned,
        parent=config.branch.parent if config.branch else "",
        bytes=size,
        changed=changed,
        accuracy=accuracy(metrics).get("mean"),
        metrics=metrics,
        settings=differing(config),
        tags=_in_order({_plain(tag)[:200] for tag in card.tags}),
    )


def accuracy(metrics: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """The metric by which a run is best known: what share it got right, in the way of its task; or nothing."""
    return next((metrics[name] for name in ("exact_accuracy", "accuracy", "exact") if name in metrics), {})


def _plain(text: str) -> str:
    """Text that every database takes."""
    return text.translate({0: None, ord(_BETWEEN): None}).encode(errors="replace").decode()


def _in_order(tags: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(tags, key=lambda tag: (tag.casefold(), tag)))


def _number(value: float | None) -> float | None:
    """JSON knows neither NaN nor infinity."""
    return value if value is not None and math.isfinite(value) else None


# ---- The database ----
