"""Notifications between the servers of one database: who changes a row says so, and everybody reads it again.

With PostgreSQL the notifications of all servers arrive by LISTEN and NOTIFY, on one thread that `start` begins; with
SQLite there is only this process. A notification may be lost while the connection is interrupted, and says only what to
read again; the database is authoritative.
"""

from __future__ import annotations

import logging
import secrets
from collections import defaultdict
from collections.abc import Callable
from typing import TypeAlias

from sqlalchemy import Connection, Engine, func, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from explorer.database.engine import after_commit, database, is_shared
from explorer.errors import LineageError
from explorer.periodic_thread import PeriodicThread

log = logging.getLogger(__name__)
Callback: TypeAlias = Callable[[str | None], None]
_CHANNEL = "lineage"  # the one channel of PostgreSQL that is used
_LISTEN_SECONDS = 1.0  # seconds after which the thread looks whether it should end
_RETRY_SECONDS = 1.0  # seconds between two attempts to connect
_SENDER = secrets.token_hex(8)  # of this process, whose own notifications have been delivered already
_callbacks: defaultdict[str, list[Callback]] = defaultdict(list)  # by channel


def subscribe(channel: str, callback: Callback) -> None:
    """Call a function with the text of all notifications of a channel, from this process and from other servers.

    It is called with None after a lost connection: everything may have changed. It runs on the thread that listens, or
    on the one whose transaction was committed, and must be quick.
    """
    _callbacks[channel].append(callback)


def publish(session: Session, channel: str, text: str) -> None:
    """Send a notification as soon as the transaction is committed.

    text: names what changed, in less than 7,000 bytes
    """
    if session.get_bind().dialect.name == "postgresql":
        session.execute(select(func.pg_notify(_CHANNEL, f"{_SENDER} {channel} {text}")))
    after_commit(session, lambda: _deliver(channel, text))


def start() -> None:
    """Begin to listen to the other servers, if the database can be shared. Raises StoreError."""
    if is_shared():
        _thread.start()


def stop() -> None:
    """Stop listening."""
    _thread.stop()


def _deliver(channel: str, text: str | None) -> None:
    for callback in _callbacks.get(channel, ()):
        try:
            callback(text)
        except Exception:  # the others are notified nevertheless
            log.exception("a notification about %s could not be processed", channel)


def _listen() -> None:
    try:
        _listen_on(database().engine)
    except (SQLAlchemyError, LineageError, OSError) as error:
        log.warning("the database sends no notifications (%s); it is connected again", type(error).__name__)


def _listen_on(engine: Engine) -> None:
    """Deliver notifications until `stop` is called. Raises SQLAlchemyError if the connection is lost."""
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql(f"LISTEN {_CHANNEL}")
        for channel in list(_callbacks):  # whatever happened before is not announced
            _deliver(channel, None)
        try:
            while not _thread.stopping:
                _deliver_waiting(connection)
                connection.exec_driver_sql("SELECT 1")  # raises if the connection is lost
        finally:
            connection.invalidate()  # no other transaction gets a connection that listens


def _deliver_waiting(connection: Connection) -> None:
    """Deliver the notifications of other processes that arrive within _LISTEN_SECONDS."""
    import psycopg

    driver = connection.connection.driver_connection
    assert isinstance(driver, psycopg.Connection)
    try:
        for notice in driver.notifies(timeout=_LISTEN_SECONDS):
            sender, channel, text = notice.payload.split(" ", 2)
            if sender != _SENDER:
                _deliver(channel, text)
            if _thread.stopping:
                return
    except psycopg.Error as error:
        raise OSError("the connection is lost") from error


_thread = PeriodicThread("notifications", _listen, _RETRY_SECONDS, "the database sends no notifications")
