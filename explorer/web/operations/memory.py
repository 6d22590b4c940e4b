"""Give memory that has been freed back to the operating system.

glibc keeps freed memory in an arena for each thread that has allocated, which is soon more than the program uses. Two
arenas and a regular `malloc_trim` keep it small. Without glibc (macOS, Windows, Alpine) nothing is done.
"""

from __future__ import annotations

import ctypes
import gc
import itertools
import sys

from explorer.periodic_thread import PeriodicThread

PAUSE = 2.0  # seconds between two times
_COLLECT_EVERY = 30  # times; sessions of visitors who left are cycles, which Python would keep for long
_M_ARENA_MAX = -8  # malloc.h of glibc


def start() -> None:
    """Limit the arenas, and begin to give freed memory back. Called once, before other threads allocate."""
    if sys.platform != "linux" or not hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
        return
    libc.mallopt(_M_ARENA_MAX, 2)
    turns = itertools.count()

    def give_back() -> None:
        if next(turns) % _COLLECT_EVERY == 0:
            gc.collect()
        libc.malloc_trim(0)

    PeriodicThread("memory", give_back, PAUSE, "freed memory was not given back").start()
