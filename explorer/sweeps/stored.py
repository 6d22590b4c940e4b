"""The sweeps in the database: definition, owner and state, and which process carries a sweep out.

A process that carries a sweep out holds a lease, which it renews; after `LEASE_SECONDS` without renewal another process
may continue the sweep. Every function may be called from any thread and raises StoreError while the database does not
answer.
"""

from __future__ import annotations

import datetime
import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from sqlalchemy import ColumnElement, or_, select, update
from sqlalchemy.orm import Mapped, Session, mapped_column

from explorer.byte_cache import cached
from explorer.database.engine import Base, read_clock, run_transaction
from explorer.errors import LineageError, NotAllowed, UnknownSweep, shorten
from explorer.sweeps.space import Sweep, parse_sweep, sweep_to_json

SweepState: TypeAlias = Literal["running", "stopped", "finished"]
LEASE_SECONDS = 30.0
THIS_PROCESS = uuid.uuid4().hex  # the holder of the leases of this process


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
    holder: Mapped[str]  # the process that carries it out
    held_until: Mapped[datetime.datetime]


def start(sweep: Sweep, owner: str, hold: bool = False) -> StoredSweep:
    """Store a sweep as running, or continue one that was stopped or whose runs were deleted.

    hold: take its lease, so that no other process carries it out. Raises NotAllowed if another process does so.
    """

    def work(session: Session) -> StoredSweep:
        now = read_clock(session)
        row = session.get(_Row, sweep.key)
        if row is None:
            past = now - datetime.timedelta(seconds=1)
            row = _Row(
                key=sweep.key,
                definition=sweep_to_json(sweep),
                owner=owner,
                state="running",
                problem="",
                created=now,
                holder="",
                held_until=past,
            )
            session.add(row)
        if hold and row.state == "running" and row.held_until > now and row.holder != THIS_PROCESS:
            raise NotAllowed(
                f"Sweep {sweep.key} is being carried out by another process of this machine, such as the server. Wait "
                "until it is finished, or stop it there."
            )
        if row.state != "running":  # who continues a sweep can stop it again
            row.state, row.problem, row.owner = "running", "", owner
        if hold:
            row.holder, row.held_until = THIS_PROCESS, now + datetime.timedelta(seconds=LEASE_SECONDS)
        return _as_stored(row)

    return run_transaction(work, write=True)


def find(key: str) -> StoredSweep:
    """Return a sweep. Raises UnknownSweep, and InvalidSetting if this version cannot carry it out."""
    row = run_transaction(lambda session: session.get(_Row, key))
    if row is None:
        raise UnknownSweep(f"There is no sweep “{shorten(key)}” here. Start it again from its settings.")
    return _as_stored(row)


def newest(most: int = 20) -> list[StoredSweep]:
    """Return the newest sweeps. Sweeps that this version cannot carry out are left out."""
    statement = select(_Row).order_by(_Row.created.desc(), _Row.key).limit(most)
    found = []
    for row in run_transaction(lambda session: session.scalars(statement).all()):
        try:
            found.append(_as_stored(row))
        except LineageError:
            continue
    return found


def claim() -> list[str]:
    """Take or renew the leases of all running sweeps that no other process holds, and return their keys."""

    def read(session: Session) -> tuple[list[str], bool]:
        now = read_clock(session)
        free = or_(_Row.holder == THIS_PROCESS, _Row.held_until < now)
        rows = session.scalars(select(_Row).where(_Row.state == "running", free).order_by(_Row.created)).all()
        soon = now + datetime.timedelta(seconds=LEASE_SECONDS / 2)
        return [row.key for row in rows], any(row.holder != THIS_PROCESS or row.held_until < soon for row in rows)

    def write(session: Session) -> list[str]:
        keys, _ = read(session)
        _hold(session, _Row.key.in_(keys), read_clock(session))
        return keys

    keys, renews = run_transaction(read)  # most of the time there is nothing to write
    return run_transaction(write, write=True) if renews else keys


def renew(key: str) -> bool:
    """Renew the lease of this process; return whether the sweep is still running and held by it."""

    def work(session: Session) -> bool:
        mine = (_Row.key == key) & (_Row.state == "running") & (_Row.holder == THIS_PROCESS)
        return _hold(session, mine, read_clock(session)) > 0

    return run_transaction(work, write=True)


def release(key: str = "") -> None:
    """Give up the lease of a sweep, or all leases of this process, so that another one may continue at once."""

    def work(session: Session) -> None:
        statement = update(_Row).where(_Row.holder == THIS_PROCESS).values(holder="", held_until=read_clock(session))
        session.execute(statement.where(_Row.key == key) if key else statement)

    run_transaction(work, write=True)


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


def _hold(session: Session, which: ColumnElement[bool], now: datetime.datetime) -> int:
    until = now + datetime.timedelta(seconds=LEASE_SECONDS)
    result = session.execute(update(_Row).where(which).values(holder=THIS_PROCESS, held_until=until))
    return int(result.rowcount)  # type: ignore[attr-defined]  # an UPDATE has one


def _as_stored(row: _Row) -> StoredSweep:
    state: SweepState = row.state  # type: ignore[assignment]
    return StoredSweep(_parse(json.dumps(row.definition)), row.owner, state, row.problem, row.created)


@cached()
def _parse(definition: str) -> Sweep:
    """Return the sweep of a definition. Pages read the newest ones at each run, and to check all trials takes long."""
    return parse_sweep(json.loads(definition))
