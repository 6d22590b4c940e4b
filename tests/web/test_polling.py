"""Figures that the browser polls while a training runs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest
import streamlit as st
from starlette.applications import Starlette

from explorer.errors import DamagedRun
from explorer.web import polling
from explorer.web.polling import register_poll

with warnings.catch_warnings(action="ignore"):  # Starlette recommends another HTTP library
    from starlette.testclient import TestClient


@pytest.fixture
def tab_state(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, object]]:
    """Yield the session state of one browser tab."""
    state: dict[str, object] = {}
    monkeypatch.setattr(st, "session_state", state)
    polling.reset()
    yield state


@pytest.fixture
def browser() -> TestClient:
    return TestClient(Starlette(routes=polling.ROUTES))


def test_every_poll_draws_the_figures_again_until_no_training_runs(
    tab_state: dict[str, object], browser: TestClient
) -> None:
    figures: list[dict[str, object] | None] = [{"figures": [1]}, {"figures": [2]}, None]
    poll = register_poll("race", lambda: figures.pop(0), 0.5)
    assert poll["seconds"] == 0.5
    responses = [browser.get(str(poll["address"])) for _ in range(3)]
    assert [response.json() for response in responses] == [{"figures": [1]}, {"figures": [2]}, None]
    assert {response.headers["cache-control"] for response in responses} == {"no-store"}


def test_a_tab_keeps_the_address_of_its_poll_and_another_tab_has_its_own(
    tab_state: dict[str, object], browser: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = register_poll("race", lambda: {"figures": [1]}, 0.5)["address"]
    assert register_poll("race", lambda: {"figures": [2]}, 0.5)["address"] == first
    assert register_poll("other", lambda: {"figures": [3]}, 0.5)["address"] != first
    monkeypatch.setattr(st, "session_state", {})
    assert register_poll("race", lambda: {"figures": [4]}, 0.5)["address"] != first
    assert browser.get(str(first)).json() == {"figures": [2]}


def test_the_oldest_poll_is_dropped_and_unknown_addresses_answer_null(
    tab_state: dict[str, object], browser: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polling, "_MAX_POLLS", 2)
    addresses = [str(register_poll(name, lambda: {"figures": []}, 0.5)["address"]) for name in "abc"]
    assert [browser.get(address).json() for address in addresses] == [None, {"figures": []}, {"figures": []}]
    assert browser.get("/live/nonsense").json() is None


def test_a_poll_of_a_damaged_run_answers_null(tab_state: dict[str, object], browser: TestClient) -> None:
    def draw() -> dict[str, object]:
        raise DamagedRun("Its curves are damaged.")

    assert browser.get(str(register_poll("race", draw, 0.5)["address"])).json() is None
