"""The thread that does the periodic work of a server."""

from __future__ import annotations

import logging
import queue

import pytest

from explorer.errors import StoreError
from explorer.periodic_thread import PeriodicThread

LONG = 3_600.0  # seconds of a pause that no test waits for
SOON = 60.0  # seconds after which a test fails if something does not happen


def test_a_pause_ends_when_the_thread_is_woken_or_stopped() -> None:
    turns: queue.Queue[int] = queue.Queue()
    thread = PeriodicThread("test", lambda: turns.put(1), LONG, "no turn")
    for _ in range(2):  # it can start again after a stop
        thread.start()
        turns.get(timeout=SOON)
        thread.start()  # no second thread
        thread.wake()
        turns.get(timeout=SOON)
        thread.stop()
        assert turns.empty()


def test_a_turn_that_fails_is_logged_and_the_thread_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    turns: queue.Queue[int] = queue.Queue()
    errors = iter([StoreError("The database does not answer."), ValueError("typed")])

    def fail_twice() -> None:
        if (error := next(errors, None)) is not None:
            raise error
        turns.put(1)

    thread = PeriodicThread("test", fail_twice, lambda: 0.0, "the work waits")
    thread.start()
    turns.get(timeout=SOON)
    thread.stop()
    expected, unexpected = caplog.records
    assert expected.levelno == logging.WARNING and expected.message.startswith("the work waits: ")
    assert unexpected.levelno == logging.ERROR and unexpected.exc_text is not None


def test_a_long_turn_can_see_that_it_should_end() -> None:
    begun: queue.Queue[int] = queue.Queue()

    def work_until_stopped() -> None:
        begun.put(1)
        while not thread.stopping:
            pass

    thread = PeriodicThread("test", work_until_stopped, LONG, "no turn")
    thread.start()
    begun.get(timeout=SOON)
    thread.stop()
