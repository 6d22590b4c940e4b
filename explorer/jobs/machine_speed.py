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


@lru_cache(maxsize=1)
def _measure() -> Speed:
    small, matrix, many = torch.ones(8, 8), torch.ones(256, 256), torch.ones(200_000)

    def seconds(repeat: int, work: Callable[[], object]) -> float:
        """Return the least processor time of three tries; other threads do not count."""
        times = []
        for _ in range(3):
            start = time.thread_time()
            for _ in range(repeat):
                work()
            times.append((time.thread_time() - start) / repeat)
        return max(min(times), 1e-9)

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return Speed(
            operation=seconds(300, lambda: small @ small),
            multiplications=256**3 / seconds(10, lambda: matrix @ matrix),
            # two operations; not tanh, whose speed differs several times between processors that are otherwise alike
            numbers=2 * len(many) / seconds(20, lambda: torch.exp(many).mul_(2)),
        )
    finally:
        torch.set_num_threads(threads)
