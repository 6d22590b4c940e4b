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
def nothing_yet() -> None:
    background.reset()


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """What waits for it is let through at the end in any case: threads are shared by all tests."""
    made = threading.Event()
    yield made
    made.set()


def test_what_is_asked_twice_is_made_once() -> None:
    made: list[int] = []
    futures = [submit(("a",), lambda: made.append(1)) for _ in range(3)]
    assert len({id(future) for future in futures}) == 1
    futures[0].result()
    assert made == [1]


def test_a_page_does_not_wait_for_it() -> None:
    gate = threading.Event()
    future = submit(("slow",), gate.wait)
    assert not future.done()
    gate.set()
    assert future.result()


def test_a_failure_is_kept_like_a_result() -> None:
    made: list[int] = []

    def fail() -> None:
        made.append(1)
        raise TextError("too short")

    for _ in range(2):
        with pytest.raises(TextError, match="too short"):
            submit(("bad",), fail).result()
    assert made == [1]


def test_the_results_of_a_text_are_forgotten_with_it() -> None:
    submit(("cut", "sha", 1), lambda: 1).result()
    submit(("cut", "", 2), lambda: 2).result()
    drop_results("sha")
    assert list(background.results()) == [("cut", "", 2)]


def test_only_so_many_results_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_MAX_RESULTS", 2)
    for key in "abc":
        submit((key,), lambda: 0).result()
    assert list(background.results()) == [("b",), ("c",)]


def test_what_went_wrong_is_tried_again_after_a_while_but_a_sentence_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def fails() -> None:
        made.append(1)
        raise RuntimeError("a bug, or a full disk")

    def refuses() -> None:
        made.append(1)
        raise TextError("too short")

    for make, times in ((fails, 2), (refuses, 1)):
        made.clear()
        for _ in range(2):
            submit((make,), make).exception()
        assert len(made) == 1
        monkeypatch.setattr(background, "RETRY_SECONDS", 0.0)
        submit((make,), make).exception()
        assert len(made) == times
        monkeypatch.undo()


def test_what_somebody_else_cancelled_is_begun_again(gate: threading.Event) -> None:
    for i in range(2):
        submit(("held", i), gate.wait)
    assert submit(("a",), lambda: 1).cancel()
    gate.set()
    assert submit(("a",), lambda: 2).result() == 2


def test_what_is_on_its_way_is_never_dropped(gate: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_MAX_RESULTS", 2)
    futures = [submit((i,), lambda i=i: gate.wait() and i) for i in range(6)]  # type: ignore[misc]
    assert not any(future.cancelled() for future in futures)
    gate.set()
    assert [future.result() for future in futures] == list(range(6))
    submit(("one more",), lambda: 0).result()
    assert list(background.results()) == [(5,), ("one more",)]


def test_a_timing_holds_up_nobody_but_other_timings(gate: threading.Event) -> None:
    held = [submit(("held", i), gate.wait, "timing") for i in range(3)]
    assert submit(("quick",), lambda: 1).result(timeout=10) == 1
    assert sum(future.running() for future in held) <= 1
    gate.set()
    assert all(future.result() for future in held)
    names = {submit(("who", i), lambda: threading.current_thread().name, "timing").result() for i in range(4)}
    assert len(names) == 1


class Page:
    """Stands for Streamlit: what became of one run of a page."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shown: list[object] = []
        self.session_state: dict[str, object] = {}
        monkeypatch.setattr(deferred_sections, "st", self)
        monkeypatch.setattr(deferred_sections, "empty_panel", lambda text, height: self.shown.append(text))
        monkeypatch.setattr(deferred_sections, "show_problems", self.shown.extend)

    def fragment(self, key: str, run_every: float | None) -> Callable[[Callable[[], None]], Callable[[], None]]:
        self.clock = run_every is not None

        def kept(draw: Callable[[], None]) -> Callable[[], None]:
            self.again = draw
            return draw

        return kept

    def rerun(self) -> None:
        raise Rerun


class Rerun(Exception):
    pass


def ways(page: Page) -> dict[str, Callable[[], object]]:
    """One and the same result, waited for in every way there is."""
    key = ("cut", "sha")

    def one() -> int:
        return 1

    def needed() -> None:
        found = deferred_sections.result_or_placeholder("part", key, one, "wait", 60)
        page.shown.extend([] if found is None else [found])

    return {
        "eventually": lambda: deferred_sections.show_when_ready("part", key, one, page.shown.append, "wait", 60),
        "each": lambda: deferred_sections.show_all_when_ready(
            "part", {"gru": (key, one)}, lambda made: page.shown.append(made["gru"]), "wait", 60
        ),
        "there": needed,
    }


@pytest.mark.parametrize("way", ["eventually", "each", "there"])
def test_who_waits_for_what_is_forgotten_waits_on(
    way: str, gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Page(monkeypatch)
    draw = ways(page)[way]
    for i in range(2):
        submit(("before", i), gate.wait)

    def forgotten(futures: Iterable[Future[object]], timeout: float) -> None:
        drop_results("sha")  # another visitor leaves, while this page waits

    with monkeypatch.context() as patch:
        patch.setattr(deferred_sections, "wait", forgotten)
        draw()
    assert (page.shown, page.clock) == (["wait"], True)
    gate.set()
    submit(("cut", "sha"), lambda: 1).result()
    draw()
    assert page.shown == ["wait", 1]


def test_a_part_whose_result_was_dropped_since_gets_its_clock_back(
    gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Page(monkeypatch)
    ways(page)["eventually"]()
    submit(("cut", "sha"), lambda: 1).result()
    ways(page)["eventually"]()
    assert not page.clock and page.shown[-1] == 1
    for i in range(2):
        submit(("before", i), gate.wait)
    drop_results("sha")
    with pytest.raises(Rerun):
        page.again()  # somebody pressed a button in it


def test_what_follows_a_gesture_stays_until_the_next_result_is_there(
    gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Page(monkeypatch)
    monkeypatch.setattr(deferred_sections, "WAIT_SECONDS", 0.0)

    def ask(text: str, make: Callable[[], object]) -> None:
        def draw(found: Mapping[str, object], old: frozenset[str]) -> None:
            page.shown.append((dict(found), set(old)))

        deferred_sections.show_latest("part", lambda: {"rnn": (("text", text), make)}, draw, "wait", 60)

    ask("a", gate.wait)
    assert (page.shown, page.clock) == (["wait"], True)
    gate.set()
    submit(("text", "a"), gate.wait).result()
    ask("a", gate.wait)
    assert page.shown[-1] == ({"rnn": True}, set()) and not page.clock

    second = threading.Event()
    ask("b", second.wait)
    assert page.shown[-1] == ({"rnn": True}, {"rnn"}) and page.clock  # the old one, and the page knows that it is
    second.set()
    submit(("text", "b"), second.wait).result()
    with pytest.raises(Rerun):
        page.again()  # the clock's next look: the page is drawn anew, without one

    def fail() -> None:
        raise TextError("too short")

    with pytest.raises(TextError):
        submit(("text", "c"), fail).result()
    ask("c", fail)
    assert page.shown[-1] == "too short"


def test_quick_work_waits_for_no_slow_one(gate: threading.Event) -> None:
    held = [submit(("held", i), gate.wait) for i in range(4)]
    assert submit(("quick",), lambda: 1, "quick").result(timeout=30) == 1
    assert not any(future.done() for future in held)


def test_what_a_window_no_longer_wants_is_not_begun(gate: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Page(monkeypatch)
    monkeypatch.setattr(deferred_sections, "WAIT_SECONDS", 0.0)
    held = [submit(("held", i), gate.wait) for i in range(2)]
    made: list[str] = []
    for text in "abc":
        deferred_sections.show_when_ready(
            "part", ("text", text), lambda text=text: made.append(text), page.shown.append, "wait", 60
        )
    gate.set()
    submit(("text", "c"), lambda: None).result()
    assert all(future.result() for future in held)
    assert made == ["c"]


def test_of_one_kind_only_so_many_results_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_MAX_RESULTS_OF_A_KIND", 2)
    for kind, i in (("a", 0), ("b", 0), ("a", 1), ("a", 2), ("a", 3)):
        submit((kind, i), lambda: 1).result()
    assert ("b", 0) in background.results()
    assert [key for key in background.results() if key[0] == "a"] == [("a", 1), ("a", 2), ("a", 3)]
    submit(("a", 4), lambda: 1).result()
    assert [key for key in background.results() if key[0] == "a"] == [("a", 2), ("a", 3), ("a", 4)]
