"""Wait for a condition in a thread or process beside the test."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def wait_until(condition: Callable[[], Result], seconds: float = 300, interval: float = 0.01) -> Result:
    """Call `condition` until it returns a true value, and return that.

    Fails if it does not within these seconds, so many that only what never happens takes them, also on a busy machine.
    """
    deadline = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < deadline, "the condition was not met in time"
        time.sleep(interval)
    return result
