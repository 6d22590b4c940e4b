"""Requests that wait until something changes for the students of a class: three hundred need not ask each second.

The teacher's screen also shows every answer and asks each second; for students, answers of others are no change.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from explorer.database import notifications
from explorer.errors import LineageError
from explorer.web.classes import store

_waiting: defaultdict[str, set[tuple[asyncio.AbstractEventLoop, asyncio.Event]]] = defaultdict(set)  # by code
_lock = threading.Lock()
_reading = ThreadPoolExecutor(2, thread_name_prefix="changes of classes")


@contextlib.contextmanager
def changes_of_class(code: str) -> Iterator[asyncio.Event]:
    """Yield an event that is set as soon as the class changes for its students; begin before the class is read."""
    plain, entry = store.read_code(code), (asyncio.get_running_loop(), asyncio.Event())
    with _lock:
        _waiting[plain].add(entry)
    try:
        yield entry[1]
    finally:
        with _lock:
            _waiting[plain].discard(entry)
            if not _waiting[plain]:
                del _waiting[plain]


def _read_notification(text: str | None) -> None:
    """Set the events of the class that has changed; after a lost connection, all of them."""
    code, _, what = text.split() if text is not None else ("", "", "")
    if what == "answers":
        return
    with _lock:
        codes = [each for each in _waiting if text is None or each == code]
    for each in codes:
        _reading.submit(_read_and_wake, each)


def _read_and_wake(code: str) -> None:
    """Read the class once for all who wait, so that none of them finds the earlier state."""
    with contextlib.suppress(LineageError):  # they are told so themselves
        store.read_changes(code)
    with _lock:
        for loop, event in _waiting.get(code, ()):
            with contextlib.suppress(RuntimeError):  # the server has ended, and its loop is closed
                loop.call_soon_threadsafe(event.set)


notifications.subscribe("classes", _read_notification)  # after the store, which learns first what is to be read
