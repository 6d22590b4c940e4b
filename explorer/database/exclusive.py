"""A lock that one thread of all servers of a PostgreSQL database holds at a time."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator

from sqlalchemy.exc import SQLAlchemyError

from explorer.database.engine import database, is_shared
from explorer.errors import StoreError

log = logging.getLogger(__name__)
_WAIT_SECONDS = 30.0


@contextlib.contextmanager
def hold_for_all_servers(number: int) -> Iterator[None]:
    """Hold the lock with this number; nothing is locked with SQLite, whose only server has locks of its own.

    PostgreSQL releases the lock of a server that ends, and after five minutes that of one which is frozen. Raises
    StoreError if another server holds it for too long, or if the database does not answer.
    """
    if not is_shared():
        yield
        return
    with contextlib.ExitStack() as stack:
        try:
            connection = stack.enter_context(database().engine.connect())
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = {round(_WAIT_SECONDS * 1000)}")
            connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = '5min'")
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({number})")
        except SQLAlchemyError as error:
            raise StoreError(
                "Runs cannot be changed now: the database does not answer, or another server changes runs for a long "
                "time. Try again in a moment."
            ) from error
        yield
        try:
            connection.rollback()  # releases the lock
        except SQLAlchemyError as error:
            log.warning("the lock of all servers was lost before its end: %s", type(error).__name__)
