"""What every server tells about itself in its row of the table of servers, for the operator's page.

The facts are JSON data and are read every two seconds, so each of them takes a few milliseconds at most. None contains
anything that a visitor has typed.
"""

from __future__ import annotations

import shutil
import sys
from threading import Lock

import psutil
from cachetools import TTLCache, cached

from explorer import metrics
from explorer.database import servers
from explorer.environment import environment
from explorer.jobs.service import service
from explorer.training.machine import machine_kind
from explorer.web.operations import server_log

_SHOWN_ERRORS = 20  # of each server


def register() -> None:
    """Let the row of this server contain its facts."""
    servers.add_fact("presence", _read_presence)
    servers.add_fact("jobs", _read_jobs)
    servers.add_fact("workers", _read_workers)
    servers.add_fact("memory", lambda: dict(zip(("server", "workers"), read_memory(), strict=True)))
    servers.add_fact("disk", _read_disk)
    servers.add_fact("errors", _read_errors)


def _read_presence() -> dict[str, int]:
    browsers, tabs = service.count_presence()
    return {"browsers": browsers, "tabs": tabs}


def _read_jobs() -> dict[str, float]:
    """Return how many trainings wait and run, and after how many seconds those since the start were first evaluated."""
    states = service.count_states()
    name = "lineage_first_evaluation_seconds"
    count, seconds = (metrics.REGISTRY.get_sample_value(f"{name}_{part}") or 0.0 for part in ("count", "sum"))
    first = seconds / count if count else 0.0
    return {"waiting": states["waiting"], "running": states["running"], "started": count, "first_seconds": first}


def _read_workers() -> dict[str, str | int]:
    executor, device = environment().executor, environment().device
    machine = "" if device == "cpu" else f"LINEAGE_DEVICE = {device}"
    if not machine and executor in ("here", "processes") and "torch" in sys.modules:  # its import takes a second
        machine = machine_kind()
    return {
        "executor": executor,
        "machine": machine,
        "most": environment().jobs_at_once,  # a sweep adds those of all servers up
    }


@cached(TTLCache(1, 10.0), lock=Lock())
def read_memory() -> tuple[int, int]:
    """Return the bytes in memory of this process, and of its worker processes together, at most ten seconds old.

    Linux counts memory that processes share in equal parts to each of them, other systems in full.
    """
    this = psutil.Process()
    workers = 0
    for process in this.children(recursive=True):
        try:
            used = process.memory_full_info()
            workers += getattr(used, "pss", 0) or used.rss
        except psutil.Error:  # it has ended meanwhile
            continue
    return this.memory_info().rss, workers


def _read_disk() -> dict[str, int]:
    home = environment().home
    return {"free": shutil.disk_usage(home).free if home.is_dir() else 0}


def _read_errors() -> list[dict[str, str]]:
    return [
        {"time": error.time.isoformat(timespec="seconds"), "source": error.source, "exception": error.exception}
        for error in server_log.last_errors()[:_SHOWN_ERRORS]
    ]
