"""Work on LINEAGE_RUNS that a server does every few minutes on a thread of its own: uploads, repairs, tidying."""

from __future__ import annotations

import logging
from collections.abc import Callable

from explorer.database.servers import is_leader
from explorer.errors import LineageError
from explorer.periodic_thread import PeriodicThread
from explorer.run_store import index, local_copies, operations

log = logging.getLogger(__name__)
_SECONDS = 300.0


def start() -> None:
    """Begin the work, which ends with the process: what is interrupted is repeated after the next start."""
    PeriodicThread("run-storage", run_once, _SECONDS, "the storage of runs could not be kept in order").start()


def run_once() -> None:
    """Upload what is only here; the leader of all servers also repairs the index and tidies the storage."""
    steps: list[Callable[[], object]] = [operations.upload_runs, local_copies.free_space]
    if is_leader():
        steps += [index.compare_with_storage, operations.tidy_storage]
    for step in steps:
        try:
            step()
        except (LineageError, OSError) as error:
            log.warning("the storage of runs could not be kept in order: %s", error)  # tried again in a few minutes
