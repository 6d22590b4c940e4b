"""Keeps the memory of large tensors from step to step.

glibc returns a freed block of more than 128 kB to the operating system at once, and the next step waits until its pages
have been cleared and given back, which takes a tenth of a step and more. Without glibc nothing is done.
"""

from __future__ import annotations

import ctypes
import sys
from functools import lru_cache

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h of glibc
_KEPT = 512 * 2**20  # bytes that a process may keep at most at the end of its heap
_LARGEST_BLOCK = 32 * 2**20  # bytes; glibc permits no more


@lru_cache(maxsize=1)
def keep_freed_blocks() -> None:
    """Let this process keep freed blocks. Has an effect at the first call."""
    if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "mallopt"):
        libc.mallopt(_M_MMAP_THRESHOLD, _LARGEST_BLOCK)
        libc.mallopt(_M_TRIM_THRESHOLD, _KEPT)
