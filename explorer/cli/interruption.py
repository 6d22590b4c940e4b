"""Signals that end a training: the first one asks it to stop and to store its result, the second ends it at once."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

# A closed terminal sends SIGHUP, a shutdown SIGTERM. Windows has only the first of these.
_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextmanager
def stop_requests() -> Iterator[Callable[[], int]]:
    """Give a function that returns the number of the signal that asked this process to stop, 0 if none has.

    A second signal raises KeyboardInterrupt. Signals that this process ignores (nohup) stay ignored.
    """
    received = 0

    def receive(number: int, frame: FrameType | None) -> None:
        nonlocal received
        if received:
            raise KeyboardInterrupt
        received = number
        if number == signal.SIGINT:
            sys.stderr.write("\nStopping, and storing the training so far. Press Ctrl-C again to end at once.\n")

    before: dict[int, Any] = {number: signal.getsignal(number) for number in _SIGNALS}
    try:
        for number, handler in before.items():
            if handler != signal.SIG_IGN:
                signal.signal(number, receive)
        yield lambda: received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
