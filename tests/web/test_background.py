"""Results that are computed on threads: once for each key, kept for a while, and limited."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from unittest.mock import Mock

import numpy as np
import pytest
from cachetools import LRUCache

from explorer import byte_cache
from explorer.errors import TextError
from explorer.web import background
from explorer.web.background import drop_results, submit
from tests.waiting import wait_until


@pytest.fixture(autouse=True)
def no_results() -> None:
    background.reset()


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Yield an event that is set at the end of the test in any case, because all tests share the threads."""
    event = threading.Event()
    yield event
    event.set()


def kept_results() -> set[tuple[object, ...]]:
    """Return the keys of the results that are kept, once all work has ended."""
    wait_until(lambda: all(each.done() for each in background.results().values()) and not background._under_way)
    return set(background.results())


def limit_cache(monkeypatch: pytest.MonkeyPatch, thousands: int) -> None:
    """Let the cache have room for so many results of a thousand bytes, with what their objects take."""
    size = 1_400 * thousands
    monkeypatch.setattr(byte_cache, "MAX_BYTES", size)
    monkeypatch.setattr(byte_cache, "_values", LRUCache(size, getsizeof=lambda value: value[1]))


def test_the_same_key_is_computed_once(gate: threading.Event) -> None:
    wait = Mock(side_effect=gate.wait)
    futures = [submit(("a",), wait) for _ in range(3)]
    assert len({id(future) for future in futures}) == 1 and not futures[0].done()
    gate.set()
    assert futures[0].result()
    wait.assert_called_once()


@pytest.mark.parametrize(("error", "expected_calls"), [(RuntimeError("a full disk"), 2), (TextError("too short"), 1)])
def test_a_lineage_error_is_not_retried(error: Exception, expected_calls: int, monkeypatch: pytest.MonkeyPatch) -> None:
    fail = Mock(side_effect=error)
    for _ in range(2):
        with pytest.raises(type(error), match=str(error)):
            submit(("bad",), fail).result()
    fail.assert_called_once()
    kept_results()
    monkeypatch.setattr(background, "RETRY_SECONDS", 0.0)
    submit(("bad",), fail).exception()
    assert fail.call_count == expected_calls


def test_drop_results_removes_the_results_of_a_text() -> None:
    submit(("cut", "sha", 1), lambda: 1).result()
    submit(("cut", "", 2), lambda: 2).result()
    drop_results("sha")
    assert list(background.results()) == [("cut", "", 2)]


def test_waiting_work_is_cancelled_on_request_only(gate: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    limit_cache(monkeypatch, 2)
    futures = [submit(("kind", i), lambda i=i: gate.wait() and bytes(1_000 + i)) for i in range(6)]  # type: ignore[misc]
    assert not any(future.cancelled() for future in futures), "unfinished work is not dropped"
    assert submit(("a",), lambda: 1).cancel()
    dropped = submit(("b", "sha"), lambda: 1)
    assert not dropped.cancelled()
    drop_results("sha")
    assert dropped.cancelled()
    gate.set()
    assert [len(future.result()) for future in futures] == list(range(1_000, 1_006))
    assert submit(("a",), lambda: 2).result() == 2
    assert len(kept_results() - {("a",)}) == 2


def test_work_that_no_page_asks_for_any_more_is_not_begun(gate: threading.Event) -> None:
    first, wanted, left = (submit((name,), gate.wait, "timing") for name in ("first", "wanted", "left"))
    left.asked -= background.ABANDONED_SECONDS  # type: ignore[attr-defined]
    gate.set()
    assert first.result() and wanted.result() and left.cancelled()
    assert submit(("left",), gate.wait, "timing").result()


def test_a_timing_delays_only_other_timings_and_quick_work_waits_for_no_slow_work(gate: threading.Event) -> None:
    blocking = [submit(("blocking", i), gate.wait, "timing") for i in range(3)]
    assert submit(("usual",), lambda: 1).result(timeout=30) == 1
    assert sum(future.running() for future in blocking) <= 1
    slow = [submit(("slow", i), gate.wait) for i in range(4)]
    assert submit(("quick",), lambda: 1, "quick").result(timeout=30) == 1
    assert not any(future.done() for future in slow)
    gate.set()
    assert all(future.result() for future in blocking)
    names = {submit(("thread name", i), lambda: threading.current_thread().name, "timing").result() for i in range(4)}
    assert len(names) == 1


def test_the_bytes_of_all_results_together_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    limit_cache(monkeypatch, 2)
    for key in (("a", 0), ("b", 0), ("a", 1)):
        submit(key, lambda: np.zeros(1_000, np.uint8)).result()
    assert kept_results() == {("b", 0), ("a", 1)}
    submit(("b", 0), lambda: 1).result()  # used again
    submit(("c", 0), lambda: [np.zeros(1_000, np.uint8)]).result()
    assert kept_results() == {("b", 0), ("c", 0)}
    submit(("d", 0), lambda: np.zeros(5_000, np.uint8)).result()
    assert kept_results() == {("d", 0)}, "what is larger than the ceiling is kept alone"
