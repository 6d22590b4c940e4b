"""What the benchmarks say of their machine, and how they time."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version

import psutil
import torch

_IDLE = 10.0  # percent of the processor that other programs may use


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


@contextmanager
def on_idle_machine() -> Iterator[None]:
    """Measure before and after the block what other programs use of the processor, and say whether it was idle."""
    used = [psutil.cpu_percent(2.0)]
    yield
    used.append(psutil.cpu_percent(2.0))
    verdict = "idle" if max(used) < _IDLE else "NOT IDLE: measure again"
    print(f"{describe_machine()}; other programs used {used[0]:.0f} % before and {used[1]:.0f} % after: {verdict}")


def fastest_threads(seconds: Callable[[], float]) -> tuple[float, int]:
    """Return the fewest seconds over the numbers of threads from one to all cores, and that number of threads."""
    before, measured = torch.get_num_threads(), []
    for threads in range(1, (os.cpu_count() or 1) + 1):
        torch.set_num_threads(threads)
        measured.append((seconds(), threads))
    torch.set_num_threads(before)
    return min(measured)
