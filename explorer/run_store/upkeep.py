"""Work on LINEAGE_RUNS that a server does every few minutes on a thread of its own: uploads, repairs, tidying."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from explorer.database.servers import is_leader
from explorer.environment import environment
from explorer.errors import LineageError
from explorer.run_store import index, local_copies, operations

log = logging.getLogger(__name__)
_SECONDS = 300.0
_stop = threading.Event()


def start() -> None:
    """Begin the work, if there is a storage that several servers share. Called once by the server."""
    if environment().run_storage:
        _stop.clear()
        threading.Thread(target=_repeat, name="run-storage", daemon=True).start()


def stop() -> None:
    """End the work."""
    _stop.set()


def run_once() -> None:
    """Upload what is only here; the leader of all servers also repairs the index and tidies the storage."""
    steps: list[Callable[[], object]] = [operations.upload_runs, local_copies.free_space]
    if is_leader():
        steps += [index.compare_with_storage, operations.tidy_storage]
    for step in steps:
        try:
            step()
        except LineageError as error:
            log.warning("the storage of runs could not be kept in order: %s", error)  # tried again in a few minutes


def _repeat() -> None:
    while True:
        try:
            run_once()
        except Exception:  # the next round may succeed
            log.exception("the storage of runs could not be kept in order")
        if _stop.wait(_SECONDS):
            return
