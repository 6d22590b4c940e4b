"""The SQL index over the run folders, for searching. Needs no torch.

The folders are authoritative: the index can be deleted at any time and is rebuilt from them. It is stored in a
database (see `database/engine.py`). Every function may be called from any thread and raises StoreError while the
database does not answer.

A database is the index of one storage (`storage.py`), whose id it remembers, with any number of servers. Each of them
compares the rows with the cards in the storage now and then (`refresh`), and only replaces rows as it has read them
before: what another server has added or changed meanwhile stays.
"""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
import logging
import math
import os
import re
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import sqlalchemy as sa
from sqlalchemy.orm import Session

from explorer.database import shared_values
from explorer.database.columns import TEXT, keys
from explorer.database.engine import Base, UtcDateTime, database, is_shared, run_transaction, to_utc
from explorer.environment import environment
from explorer.errors import DamagedRun, InvalidSetting, RunError, StoreError, shorten
from explorer.run_store import storage, store
from explorer.training.config import changed_settings, to_json

log = logging.getLogger(__name__)
_T = TypeVar("_T")
_Folder: TypeAlias = tuple[bool, str]  # whether it is shipped, and its folder name
_SEPARATOR = "\x1f"  # separates the texts of `words`, and occurs in none of them
_STORE = "run_store"  # the name of a shared value
_NEVER = datetime.datetime.min.replace(tzinfo=datetime.UTC)
_refreshing = threading.RLock()


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
    changed: int  # a number that differs after a change of the card
    score: float | None  # the mean of its first metric in SCORES; the higher, the better
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


# The columns are the fields of Entry and `words`, all searchable texts in small letters. A change of them needs a new
# migration in database/migrations/versions/.
_TYPES: dict[str, Any] = {
    "str": TEXT,
    "bool": sa.Boolean,
    "int": sa.BigInteger,
    "float": sa.Double,
    "datetime": UtcDateTime,
    "dict": sa.JSON,
}
_FIELDS = [each for each in dataclasses.fields(Entry) if each.name != "tags"]
_runs = sa.Table(
    "runs",
    Base.metadata,
    *(
        sa.Column(
            "accuracy" if each.name == "score" else each.name,  # the column has the name of an earlier version
            sa.Integer if each.name == "replicas" else _TYPES[re.findall(r"\w+", str(each.type))[0]],
            primary_key=each.name in ("key", "shipped"),
            key=each.name,
            nullable=each.name == "score",
            index=each.name in ("model", "created", "owner"),
        )
        for each in _FIELDS
    ),
    sa.Column("words", TEXT, nullable=False),
)
_run = _runs.c
_tags = sa.Table(
    "tags",
    Base.metadata,
    *keys("key", "tag"),
    sa.Column("shipped", sa.Boolean, primary_key=True),
    sa.ForeignKeyConstraint(["key", "shipped"], ["runs.key", "runs.shipped"], ondelete="CASCADE"),
)
_ORDERS: dict[str, sa.ColumnElement[Any]] = {
    **{name: _run[name] for name in ("created", "seconds", "parameters", "bytes")},
    "accuracy": _run.score,
    "name": sa.func.lower(sa.func.nullif(_run.name, "")),
    "title": sa.func.lower(_run.title),
}
# The metrics that a run is ordered by, with their names: the first that it has. Bits per byte: the lower, the better.
SCORES = {
    "exact_accuracy": "accuracy",
    "accuracy": "accuracy",
    "exact": "exact match",
    "sense": "right senses",
    "synonym": "right synonyms",
    "verb": "right verbs",
    "analogy_accuracy": "right analogies",
    "test_accuracy_reviews": "accuracy on reviews",
    "test_accuracy": "accuracy",
    "bits_per_byte": "bits per byte",
}
ORDERS = ("created", "name", "title", "seconds", "parameters", "bytes", "accuracy")


def search(query: Query = Query()) -> list[Entry]:
    """Return the runs of a query; those without a name or a score come last. Raises InvalidSetting."""
    max_length = environment().most_text
    if len(query.text) > max_length:
        raise InvalidSetting(f"A search text has at most {max_length:,} characters; this one has {len(query.text):,}.")
    name = query.order.removeprefix("-")
    if name not in ORDERS:
        raise InvalidSetting(
            f"Runs cannot be ordered by “{shorten(query.order)}”. There is {', '.join(ORDERS)}; "
            "a leading minus reverses the order."
        )
    column = _ORDERS[name]
    ordering = (column.desc() if query.order.startswith("-") else column.asc()).nulls_last()
    found = (
        sa.select(*(_run[each.name] for each in _FIELDS))
        .where(*_conditions(query))
        .order_by(ordering, _run.created.desc(), _run.key, _run.shipped)
        .limit(max(query.limit, 0))
    )

    def read(session: Session) -> list[Entry]:
        tags = defaultdict(list)
        for each in session.execute(sa.select(_tags).where(_tags.c.key.in_(found.with_only_columns(_run.key)))):
            tags[each.key, each.shipped].append(each.tag)
        rows: Iterable[Any] = session.execute(found)
        return [Entry(*(*row, _sort_tags(tags.get((row.key, row.shipped), ())))) for row in rows]

    return _read_refreshed(read)


def all_tags() -> list[str]:
    """Return the tags of all runs, sorted."""
    tags = sa.select(_tags.c.tag).distinct()
    return sorted(_read_refreshed(lambda session: session.scalars(tags).all()), key=str.casefold)


def used_bytes() -> int:
    """Return the bytes that this machine's own runs take on disk."""
    total = sa.select(sa.func.coalesce(sa.func.sum(_run.bytes), 0)).where(~_run.shipped)
    return int(_read_refreshed(lambda session: session.scalar(total)) or 0)


def add_run(run: store.StoredRun) -> None:
    """Add a stored run, or replace its row."""
    check_store()
    changed = storage.current().card_version(run.key)  # before the card is read: a later change is noticed next time
    entry = _read_entry(run.folder, changed)
    run_transaction(lambda session: _replace_rows(session, [entry], [(entry.shipped, entry.folder)]), write=True)


def remove_run(key: str) -> None:
    """Remove one of this machine's own runs from the index."""
    check_store()
    run_transaction(lambda session: _replace_rows(session, [], [(False, key)]), write=True)


def reindex() -> int:
    """Rebuild the index from the runs and return its number of runs. Damaged runs are logged and left out.

    The database becomes the index of these runs, if it was that of others.
    """
    with _refreshing:
        check_store(take=True)
        database().skipped_folders.clear()
        found = {(False, key): changed for key, changed in storage.current().changes().items()}
        entries = _read_entries(found | {folder: changed for folder, (changed, _) in _included_runs().items()})
        run_transaction(lambda session: _replace_rows(session, entries, None), write=True)
        database().refreshed_at = time.monotonic()
        return len(entries)


def refresh() -> None:
    """Update the index after changes in the storage: names and versions of cards are compared, only new ones are read.

    The rows of the included runs are left to the newest version of this program that uses the database.
    """
    with _refreshing:
        check_store()
        columns = (_run.shipped, _run.folder, _run.changed, _run.key, _run.created)
        rows = run_transaction(lambda session: session.execute(sa.select(*columns)).all())
        found = {(False, key): changed for key, changed in storage.current().changes().items()}
        included = _included_runs()
        newest = max((created for _, created in included.values()), default=_NEVER)
        if is_shared() and any(row.shipped and row.created > newest for row in rows):
            rows = [row for row in rows if not row.shipped]
        else:
            found |= {folder: changed for folder, (changed, _) in included.items()}
        indexed = {(row.shipped, row.folder): row.changed for row in rows}
        skipped = database().skipped_folders
        changed = {
            folder: version
            for folder, version in found.items()
            if indexed.get(folder) != version and skipped.get(folder) != version
        }
        taken = {(row.key, row.shipped) for row in rows if (row.shipped, row.folder) in found.keys() - changed.keys()}
        entries = _read_entries(changed, taken)
        outdated = {folder: indexed.get(folder) for folder in (*(indexed.keys() - found.keys()), *changed)}
        if outdated:
            run_transaction(lambda session: _replace_seen_rows(session, entries, outdated), write=True)
        database().refreshed_at = time.monotonic()


def _replace_seen_rows(session: Session, entries: list[Entry], seen: Mapping[_Folder, int | None]) -> None:
    """Replace the rows of some folders, except those that differ from what this server has seen of them."""
    now = {
        (row.shipped, row.folder): row.changed
        for row in session.execute(sa.select(_run.shipped, _run.folder, _run.changed))
    }
    same = {folder for folder, changed in seen.items() if now.get(folder) == changed}
    _replace_rows(session, [entry for entry in entries if (entry.shipped, entry.folder) in same], same)


class ForeignDatabase(StoreError):
    """The database is the index of the runs of another home or storage."""


def check_store(take: bool = False) -> None:
    """Raise ForeignDatabase if the database is the index of other runs. A database that is nobody's is taken.

    take: make it the index of these runs in any case, as is one in a file of LINEAGE_HOME; rows of others are deleted
    """
    if not (own := _store_id()):
        return

    def find_owner(session: Session) -> str | None:
        found = shared_values.read(session, _STORE)
        if found == own or (found and not take and environment().database_url):
            return found
        if found:
            session.execute(sa.delete(_runs).where(~_run.shipped))
        shared_values.write(session, _STORE, own)
        return own

    found = run_transaction(lambda session: shared_values.read(session, _STORE))
    if found != own and run_transaction(find_owner, write=True) != own:
        raise ForeignDatabase(
            "The database of LINEAGE_DATABASE_URL is the index of other runs than those in "
            f"{shorten(storage.current().address, 100)}. If servers share it, give all of them the same LINEAGE_RUNS; "
            "otherwise give this one a database of its own. Or run `lineage reindex`, which makes it the index of "
            "these runs."
        )


def _store_id() -> str:
    """Return the id of the storage; empty if the database belongs to it in any case. Raises StoreError."""
    settings = environment()
    if not settings.run_storage and not settings.database_url:
        return ""  # a file beside the runs
    try:
        return storage.current().id()
    except OSError as error:
        if settings.run_storage:
            raise StoreError(f"The runs in {storage.current().address} cannot be read: {error.strerror}.") from error
        log.warning("%s cannot be written: %s", settings.home, error)
        return ""  # a home that cannot be written has no runs that another one could strike


def _read_refreshed(read: Callable[[Session], _T]) -> _T:
    """Run a reading transaction on an index that was refreshed a short time ago."""
    for _ in range(2):
        _refresh_if_old()
        before = database()
        found = run_transaction(read)
        if database() is before:
            break  # otherwise a damaged database was replaced meanwhile and is still empty
    return found


def _refresh_if_old() -> None:
    """Refresh the index if that has not been done for a while.

    After the first time, nobody waits for a thread that is refreshing it, and a storage that does not answer is logged.
    """
    before = database().refreshed_at
    if time.monotonic() - before <= storage.current().refresh_seconds:
        return
    if _refreshing.acquire(blocking=before == -math.inf):
        try:
            if database().refreshed_at == before:  # otherwise another thread has refreshed meanwhile
                refresh()
        except StoreError as error:
            if before == -math.inf or isinstance(error, ForeignDatabase):
                raise
            log.warning("the list of runs may be outdated: %s", error)
            database().refreshed_at = time.monotonic()
        finally:
            _refreshing.release()


def _conditions(query: Query) -> Iterator[sa.ColumnElement[bool]]:
    if text := _storable_text(query.text).casefold().strip():
        yield _run.words.contains(text, autoescape=True)
    if query.models:
        yield _run.model.in_(query.models)
    if query.tasks:
        yield _run.task.in_(query.tasks)
    if query.keys is not None:
        yield _run.key.in_(query.keys)
    for tag in query.tags:
        of_run = _tags.c.key == _run.key, _tags.c.shipped == _run.shipped
        yield sa.exists().where(*of_run, _tags.c.tag == _storable_text(tag))
    if query.since:
        yield _run.created >= query.since
    if query.owner is not None:
        yield _run.owner == _storable_text(query.owner)
    if not query.shipped:
        yield ~_run.shipped
    if not query.unfinished:
        yield _run.state == "finished"


def _replace_rows(session: Session, entries: Sequence[Entry], old: Iterable[_Folder] | None) -> None:
    """Delete the rows of some folders (None: of all) and insert new ones."""
    if old is None:
        session.execute(sa.delete(_runs))
    for shipped, folder in set(old or ()):
        session.execute(sa.delete(_runs).where(_run.shipped == shipped, _run.folder == folder))
    rows = [{each.name: getattr(entry, each.name) for each in _FIELDS} | {"words": _words(entry)} for entry in entries]
    tags = [{"key": entry.key, "shipped": entry.shipped, "tag": tag} for entry in entries for tag in entry.tags]
    for table, values in ((_runs, rows), (_tags, tags)):
        if values:
            session.execute(sa.insert(table), values)


def _words(entry: Entry) -> str:
    shipped = [entry.folder] if entry.shipped else []  # the name that the command line accepts
    return _SEPARATOR.join((entry.name, entry.title, entry.key, entry.note, *entry.tags, *shipped)).casefold()


def _included_runs() -> dict[_Folder, tuple[int, datetime.datetime]]:
    """Return every folder of an included run that has a card, with the facts of `_read_included_card`."""
    found = {}
    for name in sorted(os.listdir(store.PRETRAINED)) if store.PRETRAINED.is_dir() else ():
        file = f"{store.PRETRAINED}/{name}/card.json"  # a string: a Path for each of hundreds of runs is slow
        if not name.startswith(".") and os.path.isfile(file):
            found[True, name] = _read_included_card(file, os.stat(file).st_mtime_ns)
    return found


@lru_cache(maxsize=2_000)
def _read_included_card(file: str, written: int) -> tuple[int, datetime.datetime]:
    """Return a number that differs for another card and is the same on every machine, and when the run was made."""
    content = Path(file).read_bytes()
    try:
        created = to_utc(datetime.datetime.fromisoformat(json.loads(content)["created"]))
    except (ValueError, KeyError, TypeError, OverflowError):
        created = _NEVER  # it is not listed
    return int.from_bytes(hashlib.sha256(content).digest()[:8]) >> 1, created


def _read_entries(folders: dict[_Folder, int], taken: Iterable[tuple[str, bool]] = ()) -> list[Entry]:
    """Read run folders. Unreadable ones are logged and skipped until they change."""
    entries, taken = [], set(taken)
    for (shipped, name), changed in folders.items():
        try:
            entry = _read_entry(store.PRETRAINED / name if shipped else storage.current().folder(name), changed)
            if (entry.key, entry.shipped) in taken:
                raise DamagedRun(f"The run in {name} is a duplicate of the run in another folder.")
        except RunError as error:
            log.warning("the run in %s cannot be read and is not listed: %s", name, error)
            database().skipped_folders[shipped, name] = changed
        else:
            entries.append(entry)
            taken.add((entry.key, entry.shipped))
    return entries


def _read_entry(folder: store.RunFolder, changed: int) -> Entry:
    """Read the entry of one run folder. Raises UnknownRun or DamagedRun."""
    shipped = isinstance(folder, Path) and folder.parent == store.PRETRAINED
    try:
        if shipped or not isinstance(folder, Path):  # the curves of hundreds of runs would take long
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
        | ({} if metric.baseline is None else {"baseline": metric.baseline})
        for name, metric in card.metrics.items()
    }
    return Entry(
        **card.model_dump(include={"key", "state", "step", "seconds", "parameters", "pinned"}),
        shipped=shipped,
        folder=folder.name,
        task=to_json(config)["task"]["name"],
        model=config.model_name,
        title=config.title,
        steps=config.steps,
        created=created,
        replicas=config.replicas,
        seed=config.seed,
        owner=_storable_text(card.owner)[:200],  # PostgreSQL limits the length of indexed texts
        name=_storable_text(card.name),
        note=_storable_text(card.note),
        parent=config.branch.parent if config.branch else "",
        bytes=size,
        changed=changed,
        score=_score(metrics),
        metrics=metrics,
        settings=changed_settings(config),
        tags=_sort_tags({_storable_text(tag)[:200] for tag in card.tags}),
    )


def score_metric(metrics: Mapping[str, dict[str, Any]]) -> str:
    """Return the name of the metric by which a run is ordered, empty if it has none."""
    return next((name for name in SCORES if any(v is not None for v in metrics.get(name, {}).get("values", ()))), "")


def _score(metrics: Mapping[str, dict[str, Any]]) -> float | None:
    name = score_metric(metrics)
    mean: float | None = metrics[name]["mean"] if name else None
    return -mean if name == "bits_per_byte" and mean is not None else mean


def _storable_text(text: str) -> str:
    """Return a text without the characters that a database refuses (NUL, the separator, lone surrogates)."""
    return text.translate({0: None, ord(_SEPARATOR): None}).encode(errors="replace").decode()


def _sort_tags(tags: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(tags, key=lambda tag: (tag.casefold(), tag)))


def _finite_or_none(value: float | None) -> float | None:
    """Return a number, or None for NaN and infinity, which JSON does not have."""
    return value if value is not None and math.isfinite(value) else None
