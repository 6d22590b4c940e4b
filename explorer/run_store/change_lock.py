"""The lock under which runs are stored, changed and deleted: in this process and, with LINEAGE_RUNS, in all servers."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from explorer.database.exclusive import hold_for_all_servers
from explorer.environment import environment

_lock = threading.RLock()
_holding = threading.local()
_NUMBER = 0x11EA6F  # of the lock in PostgreSQL


@contextlib.contextmanager
def changing_runs() -> Iterator[None]:
    """Hold the lock. A thread that holds it may take it again. Raises StoreError if another server keeps it."""
    with _lock:
        if not environment().run_storage or getattr(_holding, "inside", False):
            yield
            return
        with hold_for_all_servers(_NUMBER):
            _holding.inside = True
            try:
                yield
            finally:
                _holding.inside = False
