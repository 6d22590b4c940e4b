"""The app servers that use one database: which of them live, which one leads, and which is draining.

Each server has a row that it renews every two seconds; a server whose row is older than LEASE_SECONDS counts as dead,
and what it had claimed may be taken over. The leader tidies up for all of them. It holds an advisory lock of PostgreSQL
as long as its connection lasts, so there is never a second one. With SQLite there is one server, which leads; nothing
is written. Terminals and notebooks are no servers.
"""

from __future__ import annotations

import dataclasses
import datetime
import logging
import math
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, delete, select, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Mapped, Session, mapped_column

from explorer.database import notifications
from explorer.database.engine import Base, database, is_shared, read_clock, run_transaction
from explorer.errors import LineageError, StoreError, UnknownServer
from explorer.periodic_thread import PeriodicThread

log = logging.getLogger(__name__)
LEASE_SECONDS = 10.0  # seconds without a sign of life after which a server counts as dead
_RENEWAL_SECONDS = 2.0  # seconds between two signs of life
_FORGET_SECONDS = 60.0  # seconds after which the leader removes the row of a dead server
_LEADER_LOCK_ID = 0x11EADE  # advisory lock of the leader


@dataclass(frozen=True)
class Server:
    """One app server that lives."""

    id: str
    name: str  # host and port
    version: str
    started: datetime.datetime  # in UTC
    seen: datetime.datetime  # its last sign of life, in UTC
    leads: bool = False
    draining: bool = False  # it takes no more trainings, and shall be stopped
    facts: dict[str, Any] = field(default_factory=dict, hash=False)  # what the operator's page shows of it


class _Row(Base):
    __tablename__ = "servers"

    id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    version: Mapped[str]
    started: Mapped[datetime.datetime]
    seen: Mapped[datetime.datetime]
    leads: Mapped[bool]
    draining: Mapped[bool]
    facts: Mapped[dict[str, Any]]


class _Membership:
    """What this process knows about itself as a server."""

    def __init__(self) -> None:
        self.id = secrets.token_hex(8)
        self.name = ""  # until `start`
        self.version = ""
        self.started = datetime.datetime.now(datetime.UTC)
        self.renewed = -math.inf  # when its row was last written (`time.monotonic`)
        self.returned = -math.inf  # when its row was last written although it had already counted as dead
        self.draining = False
        self.leader: Connection | None = None  # the connection that holds the lock of the leader, if this one leads


_this = _Membership()
_facts: dict[str, Callable[[], Any]] = {}


def this_server() -> str:
    """Return the id of this process, which is another one after each start."""
    return _this.id


def is_registered() -> bool:
    """Return whether this process is an app server, not a terminal or a notebook."""
    return bool(_this.name)


def is_leader() -> bool:
    """Return whether this process tidies up for all: the leading server, or any process with a database of its own."""
    return _this.leader is not None or not is_shared()


def is_living() -> bool:
    """Return whether the other servers count this one among the living: its row has been renewed recently enough."""
    return not is_shared() or time.monotonic() - _this.renewed < LEASE_SECONDS


def may_take_over() -> bool:
    """Return whether what a server without signs of life has claimed may be taken over by this one.

    If this server could not renew its own row for a while, the database perhaps answered nobody. Then the others get
    the time of one lease to renew theirs.
    """
    return time.monotonic() - _this.returned >= LEASE_SECONDS


def is_draining() -> bool:
    """Return whether this server takes no more trainings because it shall be stopped."""
    return _this.draining


def add_fact(name: str, read: Callable[[], Any]) -> None:
    """Add to what the operator reads about this server: `read` returns JSON data and is called every two seconds."""
    _facts[name] = read


def living() -> list[Server]:
    """Return all servers that live, the oldest first. Raises StoreError."""
    if not is_shared():
        return [_describe_this()] if _this.name else []
    return run_transaction(_living)


def set_draining(server: str, draining: bool) -> None:
    """Tell a server to take no more trainings, or to take them again. Raises UnknownServer or StoreError."""
    if server == _this.id:
        _this.draining = draining
    elif not any(other.id == server for other in living()):
        raise UnknownServer("This server does not run any more. Reload the page to see those that run.")
    if is_shared():

        def write(session: Session) -> None:
            session.execute(update(_Row).where(_Row.id == server).values(draining=draining))
            notifications.publish(session, "servers", server)

        run_transaction(write)


def start(name: str, version: str) -> None:
    """Register this process as an app server. Raises StoreError.

    name, version: host and port, and the version of the program, for the operator
    """
    _this.name, _this.version, _this.started = name, version, datetime.datetime.now(datetime.UTC)
    if is_shared():
        _renew()
        notifications.start()
        _thread.start()


def stop() -> None:
    """Remove this server from the list, so that others go on with what it did."""
    global _this
    _thread.stop()  # before this server gets a new id, which would appear in the list
    _stop_leading()
    stopped, _this = _this, _Membership()
    if stopped.name and is_shared():
        notifications.stop()
        try:
            run_transaction(lambda session: _remove(session, stopped.id))
        except StoreError as error:  # the others notice it a few seconds later
            log.warning("this server could not sign off: %s", error)


def _renew_and_lead() -> None:
    """Renew the row of this server, and lead if nobody does."""
    try:
        _this.leader = _this.leader or _try_to_lead()
        if _this.leader:
            _this.leader.exec_driver_sql("SELECT 1")  # raises if the connection, and with it the lock, is lost
        _renew()
    except (SQLAlchemyError, LineageError) as error:
        log.warning("this server could not renew its row: %s", type(error).__name__)
        _stop_leading()


def _stop_leading() -> None:
    """Give up the lock of the leader, so that the next server gets it."""
    if leader := _this.leader:
        _this.leader = None
        leader.invalidate()  # closes the connection of the database, which would otherwise keep the lock
        leader.close()


def _try_to_lead() -> Connection | None:
    """Return a connection that holds the lock of the leader, or None if another server holds it."""
    connection = database().engine.connect().execution_options(isolation_level="AUTOCOMMIT")
    if connection.exec_driver_sql(f"SELECT pg_try_advisory_lock({_LEADER_LOCK_ID})").scalar():
        return connection
    connection.close()
    return None


def _renew() -> None:
    """Write the row of this server with its facts; the leader removes the rows of servers that are dead."""
    facts = _read_facts()
    run_transaction(lambda session: _write_row(session, facts))
    _this.renewed = time.monotonic()


def _write_row(session: Session, facts: dict[str, Any]) -> None:
    now = read_clock(session)
    row = session.get(_Row, _this.id)
    if row is None:
        row = _Row(id=_this.id, name=_this.name, version=_this.version, started=now, draining=_this.draining)
        session.add(row)
    row.seen, row.leads, row.facts = now, is_leader(), facts
    _this.draining = row.draining
    if -math.inf < _this.renewed < time.monotonic() - LEASE_SECONDS:
        _this.returned = time.monotonic()  # before the commit, after which this server may claim something
    if is_leader():
        session.execute(delete(_Row).where(_Row.seen < now - datetime.timedelta(seconds=_FORGET_SECONDS)))


def living_ids(session: Session) -> set[str]:
    """Return the ids of the servers that live, within a transaction."""
    return {server.id for server in _living(session)}


def _living(session: Session) -> list[Server]:
    oldest = read_clock(session) - datetime.timedelta(seconds=LEASE_SECONDS)
    rows = session.scalars(select(_Row).where(_Row.seen >= oldest).order_by(_Row.started, _Row.id))
    return [Server(*(getattr(row, each.name) for each in dataclasses.fields(Server))) for row in rows]


def _remove(session: Session, server: str) -> None:
    session.execute(delete(_Row).where(_Row.id == server))
    notifications.publish(session, "servers", server)


def _describe_this() -> Server:
    now = datetime.datetime.now(datetime.UTC)
    return Server(_this.id, _this.name, _this.version, _this.started, now, True, _this.draining, _read_facts())


def _read_facts() -> dict[str, Any]:
    """Return what can be read about this server; one that fails must not make it count as dead."""
    facts = {}
    for name, read in list(_facts.items()):
        try:
            facts[name] = read()
        except Exception:
            log.exception("the fact “%s” of this server could not be read", name)
    return facts


def _read_draining(server: str | None) -> None:
    """Obey the operator at once if this server is to take no more trainings."""
    if server == _this.id:
        _this.draining = next((each.draining for each in living() if each.id == server), _this.draining)


notifications.subscribe("servers", _read_draining)
_thread = PeriodicThread("server", _renew_and_lead, lambda: _RENEWAL_SECONDS, "this server could not renew its row")
