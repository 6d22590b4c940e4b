"""The sweeps in the database: definition, owner and state. Every function may be called from any thread and raises
StoreError while the database does not answer.
"""

from __future__ import annotations

import contextlib
import datetime
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from filelock import FileLock, Timeout
from sqlalchemy import select
from sqlalchemy.orm import Mapped, Session, mapped_column

from explorer.byte_cache import cached
from explorer.database.engine import Base, read_clock, run_transaction
from explorer.errors import LineageError, NotAllowed, UnknownSweep, shorten
from explorer.run_store import storage
from explorer.sweeps.space import Sweep, parse_sweep, sweep_to_json

SweepState: TypeAlias = Literal["running", "stopped", "finished"]
_MOST_LISTED = 20


@dataclass(frozen=True)
class StoredSweep:
    """A sweep in the database."""

    sweep: Sweep
    owner: str  # the visitor who started or continued it; empty: the operator, or the terminal
    state: SweepState
    problem: str  # why it was stopped; empty if somebody stopped it
    created: datetime.datetime

    @property
    def key(self) -> str:
        return self.sweep.key


class _Row(Base):
    """A row for each sweep. A change needs a new migration in database/migrations/versions/."""

    __tablename__ = "sweeps"

    key: Mapped[str] = mapped_column(primary_key=True)
    definition: Mapped[dict[str, Any]]
    owner: Mapped[str]
    state: Mapped[str] = mapped_column(index=True)
    problem: Mapped[str]
    created: Mapped[datetime.datetime]


def start(sweep: Sweep, owner: str) -> StoredSweep:
    """Store a sweep as running, or continue one that was stopped or whose runs were deleted."""

    def work(session: Session) -> StoredSweep:
        row = session.get(_Row, sweep.key)
        if row is None:
            about = {"definition": sweep_to_json(sweep), "owner": owner, "created": read_clock(session)}
            row = _Row(key=sweep.key, state="running", problem="", **about)
            session.add(row)
        if row.state != "running":  # who continues a sweep can stop it again
            row.state, row.problem, row.owner = "running", "", owner
        return _as_stored(row)

    return run_transaction(work, write=True)


def find(key: str) -> StoredSweep:
    """Return a sweep. Raises UnknownSweep, and InvalidSetting if this version cannot carry it out."""
    row = run_transaction(lambda session: session.get(_Row, key))
    if row is None:
        raise UnknownSweep(f"There is no sweep “{shorten(key)}” here. Start it again from its settings.")
    return _as_stored(row)


def newest() -> list[StoredSweep]:
    """Return the newest sweeps. Sweeps that this version cannot carry out are left out."""
    statement = select(_Row).order_by(_Row.created.desc(), _Row.key).limit(_MOST_LISTED)
    found = []
    for row in run_transaction(lambda session: session.scalars(statement).all()):
        try:
            found.append(_as_stored(row))
        except LineageError:
            continue
    return found


def running() -> list[str]:
    """Return the keys of the running sweeps, the oldest first."""
    statement = select(_Row.key).where(_Row.state == "running").order_by(_Row.created)
    return list(run_transaction(lambda session: session.scalars(statement).all()))


@contextlib.contextmanager
def hold(key: str) -> Iterator[bool]:
    """Hold a sweep, so that no other process that stores runs in the same folder carries it out.

    Yields False if another one holds it. The operating system releases what a process that has ended held.
    """
    folder = storage.current().jobs.parent / "sweeps"
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / f"{key}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        yield False
        return
    try:
        yield True
    finally:
        lock.release()


def finish(key: str) -> None:
    """Note that a sweep is finished."""
    _change_running(key, lambda row: setattr(row, "state", "finished"))


def stop(key: str, visitor: str = "", operator: bool = False, problem: str = "") -> None:
    """Stop a sweep; its runs so far stay. Raises UnknownSweep, NotAllowed for anyone but its owner."""

    def change(row: _Row) -> None:
        if not operator and visitor != row.owner:
            raise NotAllowed("Somebody else started this sweep; only they can stop it.")
        row.state, row.problem = "stopped", problem

    _change_running(key, change)


def _change_running(key: str, change: Callable[[_Row], None]) -> None:
    def work(session: Session) -> None:
        row = session.get(_Row, key)
        if row is None:
            raise UnknownSweep(f"There is no sweep “{shorten(key)}” here.")
        if row.state == "running":
            change(row)

    run_transaction(work, write=True)


def _as_stored(row: _Row) -> StoredSweep:
    state: SweepState = row.state  # type: ignore[assignment]
    return StoredSweep(_parse(json.dumps(row.definition)), row.owner, state, row.problem, row.created)


@cached()
def _parse(definition: str) -> Sweep:
    """Return the sweep of a definition. Pages read the newest ones at each run, and to check all trials takes long."""
    return parse_sweep(json.loads(definition))
