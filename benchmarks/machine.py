"""What the benchmarks say of their machine, and how they time."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable
from importlib.metadata import version


def describe_machine() -> str:
    """Return the kind of processor, the number of cores, the version of torch and the load of this machine."""
    cores, load = os.cpu_count(), os.getloadavg()[0]
    return f"{platform.machine()}, {cores} cores, torch {version('torch')}, load {load:.1f}"


def seconds_of(action: Callable[[], object], rounds: int = 1) -> float:
    """Return the seconds of an action, the median of some rounds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return statistics.median(times)
