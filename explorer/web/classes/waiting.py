"""Requests that wait until something changes for the students of a class: three hundred need not ask each second.

The teacher's screen also shows every answer and asks each second; for students, answers of others are no change.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import defaultdict
from collections.abc import Iterator

_waiting: defaultdict[str, set[tuple[asyncio.AbstractEventLoop, asyncio.Event]]] = defaultdict(set)  # by code
_lock = threading.Lock()


@contextlib.contextmanager
def change_of_class(code: str) -> Iterator[asyncio.Event]:
    """Yield an event that is set as soon as the class changes for its students; begin before the class is read."""
    entry = asyncio.get_running_loop(), asyncio.Event()
    with _lock:
        _waiting[code].add(entry)
    try:
        yield entry[1]
    finally:
        with _lock:
            _waiting[code].discard(entry)
            if not _waiting[code]:
                del _waiting[code]


def wake(code: str) -> None:
    """Let the requests that wait for a change of this class go on. It may be called from any thread."""
    with _lock:
        for loop, event in _waiting.get(code, ()):
            with contextlib.suppress(RuntimeError):  # the server has ended, and its loop is closed
                loop.call_soon_threadsafe(event.set)
