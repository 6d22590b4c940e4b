"""Locks that keep two app servers from using one LINEAGE_HOME or one SQLite file.

Several servers may share a PostgreSQL database, and terminals and notebooks use the home of a server.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from explorer.database.engine import sqlite_file
from explorer.environment import environment
from explorer.errors import InvalidSetting

log = logging.getLogger(__name__)


@contextmanager
def hold() -> Iterator[None]:
    """Hold the locks of this server. Raises InvalidSetting if another server holds one of them."""
    home, file = environment().home, sqlite_file()
    with ExitStack() as locks:
        locks.enter_context(_lock(home / "server.lock", f"LINEAGE_HOME = {home}", "a LINEAGE_HOME of its own"))
        if file and file.parent != home and file.parent.is_dir():  # the lock would create a mistyped folder
            lock = _lock(file.with_suffix(".server.lock"), f"the SQLite file {file}", "a database of its own")
            locks.enter_context(lock)
        yield


@contextmanager
def _lock(file: Path, used: str, instead: str) -> Iterator[None]:
    lock = FileLock(file)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout:
        raise InvalidSetting(
            f"Another server already uses {used}. Stop it, or give this server {instead}. Several servers share "
            "classes by a PostgreSQL database in LINEAGE_DATABASE_URL, runs by LINEAGE_RUNS and trainings by Ray, see "
            "docs/cluster.md."
        ) from None
    except OSError as error:  # then nothing is stored there that another server could change
        log.warning("%s cannot be written: %s", file.parent, error.strerror)
    try:
        yield
    finally:
        lock.release()
