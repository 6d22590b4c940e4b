from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future

import pytest

from explorer.errors import TextError
from explorer.ui import deferred_sections
from explorer.web import background
from explorer.web.background import drop_results, submit


@pytest.fixture(autouse=True)
def no_results() -> None:
    background.reset()


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Yield an event that is set at the end of the test in any case, because all tests share the threads."""
    event = threading.Event()
    yield event
    event.set()


def test_the_same_key_is_computed_once() -> None:
    calls: list[int] = []
    futures = [submit(("a",), lambda: calls.append(1)) for _ in range(3)]
    assert len({id(future) for future in futures}) == 1
    futures[0].result()
    assert calls == [1]


def test_submit_does_not_wait_for_the_result() -> None:
    gate = threading.Event()
    future = submit(("slow",), gate.wait)
    assert not future.done()
    gate.set()
    assert future.result()


def test_a_failure_is_cached_like_a_result() -> None:
    calls: list[int] = []

    def fail() -> None:
        calls.append(1)
        raise TextError("too short")

    for _ in range(2):
        with pytest.raises(TextError, match="too short"):
            submit(("bad",), fail).result()
    assert calls == [1]


def test_drop_results_removes_the_results_of_a_text() -> None:
    submit(("cut", "sha", 1), lambda: 1).result()
    submit(("cut", "", 2), lambda: 2).result()
    drop_results("sha")
    assert list(background.results()) == [("cut", "", 2)]


def test_the_number_of_cached_results_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_MAX_RESULTS", 2)
    for key in "abc":
        submit((key,), lambda: 0).result()
    assert list(background.results()) == [("b",), ("c",)]


def test_an_unexpected_error_is_retried_later_but_a_lineage_error_is_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def raise_bug() -> None:
        calls.append(1)
        raise RuntimeError("a bug, or a full disk")

    def raise_text_error() -> None:
        calls.append(1)
        raise TextError("too short")

    for compute, expected_calls in ((raise_bug, 2), (raise_text_error, 1)):
        calls.clear()
        for _ in range(2):
            submit((compute,), compute).exception()
        assert len(calls) == 1
        monkeypatch.setattr(background, "RETRY_SECONDS", 0.0)
        submit((compute,), compute).exception()
        assert len(calls) == expected_calls
        monkeypatch.undo()


def test_cancelled_work_can_be_submitted_again(gate: threading.Event) -> None:
    for i in range(2):
        submit(("blocking", i), gate.wait)
    assert submit(("a",), lambda: 1).cancel()
    gate.set()
    assert submit(("a",), lambda: 2).result() == 2


def test_unfinished_work_is_never_dropped(gate: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_MAX_RESULTS", 2)
    futures = [submit((i,), lambda i=i: gate.wait() and i) for i in range(6)]  # type: ignore[misc]
    assert not any(future.cancelled() for future in futures)
    gate.set()
    assert [future.result() for future in futures] == list(range(6))
    submit(("one more",), lambda: 0).result()
    assert list(background.results()) == [(5,), ("one more",)]


def test_a_timing_delays_only_other_timings(gate: threading.Event) -> None:
    blocking = [submit(("blocking", i), gate.wait, "timing") for i in range(3)]
    assert submit(("quick",), lambda: 1).result(timeout=10) == 1
    assert sum(future.running() for future in blocking) <= 1
    gate.set()
    assert all(future.result() for future in blocking)
    names = {submit(("thread name", i), lambda: threading.current_thread().name, "timing").result() for i in range(4)}
    assert len(names) == 1


class Page:
    """A stand-in for Streamlit that records what one run of a page shows."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shown: list[object] = []
        self.session_state: dict[str, object] = {}
        monkeypatch.setattr(deferred_sections, "st", self)
        monkeypatch.setattr(deferred_sections, "empty_panel", lambda text, height: self.shown.append(text))
        monkeypatch.setattr(deferred_sections, "show_problems", self.shown.extend)

    def fragment(self, key: str, run_every: float | None) -> Callable[[Callable[[], None]], Callable[[], None]]:
        self.polls = run_every is not None

        def decorate(draw: Callable[[], None]) -> Callable[[], None]:
            self.rerun_fragment = draw
            return draw

        return decorate

    def rerun(self) -> None:
        raise Rerun


class Rerun(Exception):
    pass


def section_variants(page: Page) -> dict[str, Callable[[], object]]:
    """Return, by name, every function that shows a section as soon as one result is there."""
    key = ("cut", "sha")

    def compute() -> int:
        return 1

    def show_result() -> None:
        result = deferred_sections.result_or_placeholder("part", key, compute, "wait", 60)
        page.shown.extend([] if result is None else [result])

    return {
        "when ready": lambda: deferred_sections.show_when_ready("part", key, compute, page.shown.append, "wait", 60),
        "all when ready": lambda: deferred_sections.show_all_when_ready(
            "part", {"gru": (key, compute)}, lambda results: page.shown.append(results["gru"]), "wait", 60
        ),
        "or placeholder": show_result,
    }


@pytest.mark.parametrize("variant", ["when ready", "all when ready", "or placeholder"])
def test_a_section_whose_result_is_dropped_while_it_waits_keeps_polling(
    variant: str, gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Page(monkeypatch)
    draw = section_variants(page)[variant]
    for i in range(2):
        submit(("before", i), gate.wait)

    def drop_while_waiting(futures: Iterable[Future[object]], timeout: float) -> None:
        drop_results("sha")  # another visitor leaves while this page waits

    with monkeypatch.context() as patch:
        patch.setattr(deferred_sections, "wait", drop_while_waiting)
        draw()
    assert (page.shown, page.polls) == (["wait"], True)
    gate.set()
    submit(("cut", "sha"), lambda: 1).result()
    draw()
    assert page.shown == ["wait", 1]


def test_a_section_whose_result_was_dropped_polls_again(gate: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Page(monkeypatch)
    section_variants(page)["when ready"]()
    submit(("cut", "sha"), lambda: 1).result()
    section_variants(page)["when ready"]()
    assert not page.polls and page.shown[-1] == 1
    for i in range(2):
        submit(("before", i), gate.wait)
    drop_results("sha")
    with pytest.raises(Rerun):
        page.rerun_fragment()  # as after a button press inside the fragment


def test_the_previous_result_stays_visible_until_the_next_one_is_ready(
    gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Page(monkeypatch)
    monkeypatch.setattr(deferred_sections, "WAIT_SECONDS", 0.0)

    def show_latest(text: str, compute: Callable[[], object]) -> None:
        def draw(results: Mapping[str, object], stale: frozenset[str]) -> None:
            page.shown.append((dict(results), set(stale)))

        deferred_sections.show_latest("part", lambda: {"rnn": (("text", text), compute)}, draw, "wait", 60)

    show_latest("a", gate.wait)
    assert (page.shown, page.polls) == (["wait"], True)
    gate.set()
    submit(("text", "a"), gate.wait).result()
    show_latest("a", gate.wait)
    assert page.shown[-1] == ({"rnn": True}, set()) and not page.polls

    second = threading.Event()
    show_latest("b", second.wait)
    assert page.shown[-1] == ({"rnn": True}, {"rnn"}) and page.polls  # the previous result, marked as stale
    second.set()
    submit(("text", "b"), second.wait).result()
    with pytest.raises(Rerun):
        page.rerun_fragment()  # the next poll reruns the page, which then stops polling

    def fail() -> None:
        raise TextError("too short")

    with pytest.raises(TextError):
        submit(("text", "c"), fail).result()
    show_latest("c", fail)
    assert page.shown[-1] == "too short"


def test_quick_work_does_not_wait_for_slow_work(gate: threading.Event) -> None:
    blocking = [submit(("blocking", i), gate.wait) for i in range(4)]
    assert submit(("quick",), lambda: 1, "quick").result(timeout=30) == 1
    assert not any(future.done() for future in blocking)


def test_an_outdated_request_of_a_tab_is_not_computed(gate: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Page(monkeypatch)
    monkeypatch.setattr(deferred_sections, "WAIT_SECONDS", 0.0)
    blocking = [submit(("blocking", i), gate.wait) for i in range(2)]
    computed: list[str] = []
    for text in "abc":
        deferred_sections.show_when_ready(
            "part", ("text", text), lambda text=text: computed.append(text), page.shown.append, "wait", 60
        )
    gate.set()
    submit(("text", "c"), lambda: None).result()
    assert all(future.result() for future in blocking)
    assert computed == ["c"]


def test_the_number_of_cached_results_of_one_kind_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_MAX_RESULTS_OF_A_KIND", 2)
    for kind, i in (("a", 0), ("b", 0), ("a", 1), ("a", 2), ("a", 3)):
        submit((kind, i), lambda: 1).result()
    assert ("b", 0) in background.results()
    assert [key for key in background.results() if key[0] == "a"] == [("a", 1), ("a", 2), ("a", 3)]
    submit(("a", 4), lambda: 1).result()
    assert [key for key in background.results() if key[0] == "a"] == [("a", 2), ("a", 3), ("a", 4)]
