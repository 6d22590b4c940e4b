"""How many cores a training may use: those of this machine that nothing else uses at the moment.

OMP_NUM_THREADS, as everywhere in PyTorch, sets another number than that of the physical cores.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import psutil

_PERIOD = 0.5  # seconds over which the use of the cores is measured
_lock = threading.Lock()
_needed = 0  # cores on which this process computes a visitor's result now


@lru_cache(maxsize=1)
def physical_cores() -> int:
    """Return the number of physical cores that this process may use."""
    if (given := os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]).isdecimal():
        return max(1, int(given))
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:  # the share of the cores that a container has: "QUOTA PERIOD", or "max PERIOD" without a quota
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text("utf-8").split()
        allowed = allowed if quota == "max" else min(allowed, int(quota) // int(period))
    except (OSError, ValueError):
        pass
    return max(1, min(allowed, psutil.cpu_count(logical=False) or allowed))


@contextmanager
def keep_core_free() -> Iterator[None]:
    """Keep a core free from the trainings of this process, while a visitor's result is computed in the block."""
    global _needed
    with _lock:
        _needed += 1
    try:
        yield
    finally:
        with _lock:
            _needed -= 1


def idle_cores() -> int:
    """Return the number of cores that a training of this process may use now, at least one.

    In each period the cores that no other process used were idle or used by this process.
    """
    global _before, _free
    (then, unused_then), now = _before, time.monotonic()
    if now - then > _PERIOD:
        unused = _unused_seconds()
        _before, _free = (now, unused), round((unused - unused_then) / (now - then))
    return max(1, min(physical_cores() - _needed, _free))


def _unused_seconds() -> float:
    """Return the seconds of all cores that no other process has used; a machine with two cores has two per second."""
    return psutil.cpu_times().idle + time.process_time()


_before = time.monotonic(), _unused_seconds()
_free = physical_cores()
