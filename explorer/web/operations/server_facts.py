"""What this server tells about itself on the operator's page. Nothing of it is what a visitor has typed."""

from __future__ import annotations

import datetime
import shutil
import socket
import sys
from threading import Lock

import psutil
from cachetools import TTLCache, cached

from explorer import metrics
from explorer.environment import environment
from explorer.jobs.service import service
from explorer.program_files import VERSION
from explorer.training.machine import machine_kind
from explorer.web.operations import server_log

_SHOWN_ERRORS = 20


def read_facts() -> dict[str, object]:
    """Return what the page shows of this server, as JSON data; this takes a few milliseconds."""
    started = datetime.datetime.fromtimestamp(psutil.Process().create_time(), datetime.UTC)
    home = environment().home
    return {
        "id": server_log.SERVER,
        "name": socket.gethostname(),
        "version": VERSION,
        "started": started.isoformat(timespec="seconds"),
        "presence": dict(zip(("browsers", "tabs"), service.jobs.count_presence(), strict=True)),
        "jobs": _read_jobs(),
        "workers": _read_workers(),
        "memory": dict(zip(("server", "workers"), read_memory(), strict=True)),
        "disk": {"free": shutil.disk_usage(home).free if home.is_dir() else 0},
        "errors": [
            vars(error) | {"time": error.time.isoformat(timespec="seconds")}
            for error in server_log.last_errors()[:_SHOWN_ERRORS]
        ],
    }


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
    return {"executor": executor, "machine": machine, "most": environment().jobs_at_once}


@cached(TTLCache(1, 10.0), lock=Lock())
def read_memory() -> tuple[int, int]:
    """Return the bytes in memory of this process, and of its worker processes together, at most ten seconds old."""
    this = psutil.Process()
    workers = 0
    for process in this.children(recursive=True):
        try:
            used = process.memory_full_info()
            workers += getattr(used, "pss", 0) or used.rss
        except psutil.Error:  # it has ended meanwhile
            continue
    return this.memory_info().rss, workers
