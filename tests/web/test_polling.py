"""Pictures that a browser asks for by itself."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest
import streamlit as st
from starlette.applications import Starlette

from explorer.errors import DamagedRun
from explorer.web import polling
from explorer.web.polling import register_poll

with warnings.catch_warnings(action="ignore"):  # it would rather have another HTTP library
    from starlette.testclient import TestClient


@pytest.fixture
def window(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, object]]:
    """What one window remembers."""
    state: dict[str, object] = {}
    monkeypatch.setattr(st, "session_state", state)
    polling.reset()
    yield state


@pytest.fixture
def browser() -> TestClient:
    return TestClient(Starlette(routes=polling.ROUTES))


def test_the_picture_is_drawn_anew_each_time_until_nothing_trains(
    window: dict[str, object], browser: TestClient
) -> None:
    pictures: list[dict[str, object] | None] = [{"figures": [1]}, {"figures": [2]}, None]
    there = register_poll("race", lambda: pictures.pop(0), 0.5)
    assert there["seconds"] == 0.5
    answers = [browser.get(str(there["address"])) for _ in range(3)]
    assert [answer.json() for answer in answers] == [{"figures": [1]}, {"figures": [2]}, None]
    assert {answer.headers["cache-control"] for answer in answers} == {"no-store"}


def test_a_window_keeps_its_address_and_another_has_its_own(
    window: dict[str, object], browser: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = register_poll("race", lambda: {"figures": [1]}, 0.5)["address"]
    assert register_poll("race", lambda: {"figures": [2]}, 0.5)["address"] == first
    assert register_poll("other", lambda: {"figures": [3]}, 0.5)["address"] != first
    monkeypatch.setattr(st, "session_state", {})
    assert register_poll("race", lambda: {"figures": [4]}, 0.5)["address"] != first
    assert browser.get(str(first)).json() == {"figures": [2]}


def test_what_nobody_knows_of_is_over_and_the_oldest_are_forgotten(
    window: dict[str, object], browser: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polling, "_MAX_POLLS", 2)
    addresses = [str(register_poll(name, lambda: {"figures": []}, 0.5)["address"]) for name in "abc"]
    assert [browser.get(address).json() for address in addresses] == [None, {"figures": []}, {"figures": []}]
    assert browser.get("/live/nonsense").json() is None


def test_a_picture_of_a_damaged_run_is_over_so_that_the_page_says_so(
    window: dict[str, object], browser: TestClient
) -> None:
    def draw() -> dict[str, object]:
        raise DamagedRun("Its curves are damaged.")

    assert browser.get(str(register_poll("race", draw, 0.5)["address"])).json() is None
