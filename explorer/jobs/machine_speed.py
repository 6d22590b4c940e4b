"""How fast this machine is, in three numbers, which are measured once in a few milliseconds when torch is loaded."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from explorer.lazy_libraries import torch


@dataclass(frozen=True)
class Speed:
    """The speed of one thread."""

    operation: float = 5e-6  # seconds of a small operation
    multiplications: float = 2e10  # with additions, in a second, in matrices of 256 rows and columns
    numbers: float = 4e8  # of four bytes, that element-wise operations write in a second


def machine_speed() -> Speed:
    """Return the speed of this machine, or that of a usual one before torch is loaded."""
    return _measure() if "torch" in sys.modules else Speed()


def bfloat16_speed() -> float:
    """Return the multiplications in a second if factors in float32 are rounded to bfloat16 for them."""
    return _measure_bfloat16() if "torch" in sys.modules else Speed.multiplications


@lru_cache(maxsize=1)
def _measure_bfloat16() -> float:
    matrix = torch.ones(256, 256)
    return 256**3 / _seconds(10, lambda: (matrix.bfloat16() @ matrix.bfloat16()).float())


@lru_cache(maxsize=1)
def _measure() -> Speed:
    small, matrix, many = torch.ones(8, 8), torch.ones(256, 256), torch.ones(200_000)
    return Speed(
        operation=_seconds(300, lambda: small @ small),
        multiplications=256**3 / _seconds(10, lambda: matrix @ matrix),
        # two operations; not tanh, whose speed differs several times between processors that are otherwise alike
        numbers=2 * len(many) / _seconds(20, lambda: torch.exp(many).mul_(2)),
    )


def _seconds(repeat: int, work: Callable[[], object]) -> float:
    """Return the least processor time of three tries on one thread; other threads do not count."""
    threads, times = torch.get_num_threads(), []
    torch.set_num_threads(1)
    try:
        for _ in range(3):
            start = time.thread_time()
            for _ in range(repeat):
                work()
            times.append((time.thread_time() - start) / repeat)
    finally:
        torch.set_num_threads(threads)
    return max(min(times), 1e-9)
