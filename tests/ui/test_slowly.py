from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator

import pytest

from explorer.errors import TextError
from explorer.ui import slowly
from explorer.ui.slowly import forget, work


@pytest.fixture(autouse=True)
def nothing_yet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(slowly, "_works", OrderedDict())
    yield


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
