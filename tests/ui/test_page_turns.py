"""Only a few pages of a server are drawn at the same time."""

from __future__ import annotations

import threading

import pytest

from explorer.ui import page_turns
from explorer.ui.page_turns import page_turn


class Runs:
    """Page runs on threads of their own, each of which is drawn until it is told to end."""

    def __init__(self) -> None:
        self.ends = [threading.Event() for _ in range(4)]
        self.begins = [threading.Event() for _ in range(4)]
        self.threads = [threading.Thread(target=self._run, args=(number,), daemon=True) for number in range(4)]

    def _run(self, number: int) -> None:
        with page_turn():
            self.begins[number].set()
            self.ends[number].wait(60)

    def start(self, *numbers: int) -> None:
        """Start runs that are drawn at once."""
        for number in numbers:
            self.threads[number].start()
            assert self.begins[number].wait(60)

    def end(self) -> None:
        for end in self.ends:
            end.set()
        for thread in self.threads:
            if thread.ident:
                thread.join(60)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    monkeypatch.setattr(page_turns, "_turns", threading.BoundedSemaphore(2))
    monkeypatch.setattr(page_turns, "_LONGEST_WAIT", 60.0)
    return Runs()


def test_a_third_page_is_drawn_when_another_has_ended(runs: Runs) -> None:
    runs.start(0, 1)
    runs.threads[2].start()
    assert not runs.begins[2].wait(0.2)
    runs.ends[0].set()
    assert runs.begins[2].wait(60)
    runs.end()


def test_no_page_holds_up_others_for_long(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    runs.start(0, 1)
    monkeypatch.setattr(page_turns, "_LONGEST_WAIT", 0.01)
    runs.start(2)  # it goes ahead without a turn
    runs.ends[2].set()
    runs.threads[2].join(60)
    monkeypatch.setattr(page_turns, "_LONGEST_WAIT", 60.0)
    runs.threads[3].start()
    assert not runs.begins[3].wait(0.2), "and has given no turn back"
    runs.end()


def test_a_page_that_fails_gives_its_turn_back(runs: Runs) -> None:
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), page_turn():
            raise ZeroDivisionError
    runs.start(0)
    runs.end()
