from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future

import pytest

from explorer.errors import TextError
from explorer.ui import slowly
from explorer.ui.slowly import forget, work


@pytest.fixture(autouse=True)
def nothing_yet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(slowly, "_works", OrderedDict())
    yield


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """What waits for it is let through at the end in any case: threads are shared by all tests."""
    made = threading.Event()
    yield made
    made.set()


def test_what_is_asked_twice_is_made_once() -> None:
    made: list[int] = []
    futures = [work(("a",), lambda: made.append(1)) for _ in range(3)]
    assert len({id(future) for future in futures}) == 1
    futures[0].result()
    assert made == [1]


def test_a_page_does_not_wait_for_it() -> None:
    gate = threading.Event()
    future = work(("slow",), gate.wait)
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
            work(("bad",), fail).result()
    assert made == [1]


def test_the_results_of_a_text_are_forgotten_with_it() -> None:
    work(("cut", "sha", 1), lambda: 1).result()
    work(("cut", "", 2), lambda: 2).result()
    forget("sha")
    assert list(slowly._works) == [("cut", "", 2)]


def test_only_so_many_results_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slowly, "_MOST", 2)
    for key in "abc":
        work((key,), lambda: 0).result()
    assert list(slowly._works) == [("b",), ("c",)]


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
            work((make,), make).exception()
        assert len(made) == 1
        monkeypatch.setattr(slowly, "AGAIN", 0.0)
        work((make,), make).exception()
        assert len(made) == times
        monkeypatch.undo()


def test_what_somebody_else_cancelled_is_begun_again() -> None:
    work(("a",), lambda: 1).result()
    slowly._works[("a",)] = cancelled = slowly.Future()
    cancelled.cancel()
    assert work(("a",), lambda: 2).result() == 2


def test_what_is_on_its_way_is_never_dropped(gate: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slowly, "_MOST", 2)
    futures = [work((i,), lambda i=i: gate.wait() and i) for i in range(6)]  # type: ignore[misc]
    assert not any(future.cancelled() for future in futures)
    gate.set()
    assert [future.result() for future in futures] == list(range(6))
    work(("one more",), lambda: 0).result()
    assert list(slowly._works) == [(5,), ("one more",)]


def test_a_timing_holds_up_nobody_but_other_timings(gate: threading.Event) -> None:
    held = [work(("held", i), gate.wait, "timing") for i in range(3)]
    assert work(("quick",), lambda: 1).result(timeout=10) == 1
    assert sum(future.running() for future in held) <= 1
    gate.set()
    assert all(future.result() for future in held)
    names = {work(("who", i), lambda: threading.current_thread().name, "timing").result() for i in range(4)}
    assert len(names) == 1


class Page:
    """Stands for Streamlit: what became of one run of a page."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.told: list[object] = []
        self.session_state: dict[str, object] = {}
        monkeypatch.setattr(slowly, "st", self)
        monkeypatch.setattr(slowly, "empty_panel", lambda said, height: self.told.append(said))
        monkeypatch.setattr(slowly, "problems", self.told.extend)

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
        found = slowly.there("part", key, one, "wait", 60)
        page.told.extend([] if found is None else [found])

    return {
        "eventually": lambda: slowly.eventually("part", key, one, page.told.append, "wait", 60),
        "each": lambda: slowly.each_eventually(
            "part", {"gru": (key, one)}, lambda made: page.told.append(made["gru"]), "wait", 60
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
        work(("before", i), gate.wait)

    def forgotten(futures: Iterable[Future[object]], timeout: float) -> None:
        forget("sha")  # another visitor leaves, while this page waits

    with monkeypatch.context() as patch:
        patch.setattr(slowly, "wait", forgotten)
        draw()
    assert (page.told, page.clock) == (["wait"], True)
    gate.set()
    work(("cut", "sha"), lambda: 1).result()
    draw()
    assert page.told == ["wait", 1]


def test_a_part_whose_result_was_dropped_since_gets_its_clock_back(
    gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Page(monkeypatch)
    ways(page)["eventually"]()
    work(("cut", "sha"), lambda: 1).result()
    ways(page)["eventually"]()
    assert not page.clock and page.told[-1] == 1
    for i in range(2):
        work(("before", i), gate.wait)
    forget("sha")
    with pytest.raises(Rerun):
        page.again()  # somebody pressed a button in it


def test_what_follows_a_gesture_stays_until_the_next_result_is_there(
    gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Page(monkeypatch)
    monkeypatch.setattr(slowly, "PATIENCE", 0.0)

    def ask(text: str, make: Callable[[], object]) -> None:
        def draw(found: Mapping[str, object], old: frozenset[str]) -> None:
            page.told.append((dict(found), set(old)))

        slowly.latest("part", lambda: {"rnn": (("text", text), make)}, draw, "wait", 60)

    ask("a", gate.wait)
    assert (page.told, page.clock) == (["wait"], True)
    gate.set()
    work(("text", "a"), gate.wait).result()
    ask("a", gate.wait)
    assert page.told[-1] == ({"rnn": True}, set()) and not page.clock

    second = threading.Event()
    ask("b", second.wait)
    assert page.told[-1] == ({"rnn": True}, {"rnn"}) and page.clock  # the old one, and the page knows that it is
    second.set()
    work(("text", "b"), second.wait).result()
    with pytest.raises(Rerun):
        page.again()  # the clock's next look: the page is drawn anew, without one

    def fail() -> None:
        raise TextError("too short")

    with pytest.raises(TextError):
        work(("text", "c"), fail).result()
    ask("c", fail)
    assert page.told[-1] == "too short"


def test_quick_work_waits_for_no_slow_one(gate: threading.Event) -> None:
    held = [work(("held", i), gate.wait) for i in range(4)]
    assert work(("quick",), lambda: 1, "quick").result(timeout=30) == 1
    assert not any(future.done() for future in held)


def test_what_a_window_no_longer_wants_is_not_begun(gate: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Page(monkeypatch)
    monkeypatch.setattr(slowly, "PATIENCE", 0.0)
    held = [work(("held", i), gate.wait) for i in range(2)]
    made: list[str] = []
    for text in "abc":
        slowly.eventually("part", ("text", text), lambda text=text: made.append(text), page.told.append, "wait", 60)
    gate.set()
    work(("text", "c"), lambda: None).result()
    assert all(future.result() for future in held)
    assert made == ["c"]


def test_of_one_kind_only_so_many_results_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slowly, "_MOST_OF_A_KIND", 2)
    for kind, i in (("a", 0), ("b", 0), ("a", 1), ("a", 2), ("a", 3)):
        work((kind, i), lambda: 1).result()
    assert ("b", 0) in slowly._works
    assert [key for key in slowly._works if key[0] == "a"] == [("a", 1), ("a", 2), ("a", 3)]
    work(("a", 4), lambda: 1).result()
    assert [key for key in slowly._works if key[0] == "a"] == [("a", 2), ("a", 3), ("a", 4)]
