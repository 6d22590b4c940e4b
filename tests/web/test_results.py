"""What the browser fetches by its address: sections that wait for results, and packed arrays."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from cachetools import LRUCache
from safetensors.numpy import load
from starlette.applications import Starlette

from explorer.web import results
from explorer.web.results import Section, drop, pack, register, register_arrays
from tests.web.client import TestClient

browser = TestClient(Starlette(routes=results.ROUTES))


@pytest.fixture(autouse=True)
def no_answers() -> None:
    """Remove the answers of other tests."""
    results.reset()


def fetch(address: str) -> bytes | None:
    """Return the body served at an address, or None if nothing is registered there."""
    response = browser.get(address)
    assert response.status_code in (200, 410)  # then the page registers it again
    return response.content if response.status_code == 200 else None


def finished_future(result: object) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(result)
    return future


def test_arrays_are_packed_as_safetensors() -> None:
    """tests/static/array_store.test.mjs reads this format."""
    arrays = {
        "small": np.array([[1, 2, 255]], dtype=np.uint8),
        "odd": np.arange(3, dtype=np.uint16),
        "ids": np.array([[7], [-1]], dtype=np.int32),
        "transposed": np.arange(6, dtype=np.float32).reshape(2, 3).T,  # not contiguous in memory
    }
    unpacked = load(pack(arrays))
    assert unpacked.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(unpacked[name], array, strict=True)


def test_an_array_is_served_under_a_hash_of_its_content_until_it_is_dropped() -> None:
    one, other = register_arrays(b"one", ("run", "sha")), register_arrays(b"other", ("run",))
    assert register_arrays(b"one", ("run", "sha")) == one != other
    assert (fetch(one), fetch(other), fetch("/results/nothing")) == (b"one", b"other", None)
    drop("sha")
    assert (fetch(one), fetch(other)) == (None, b"other")


def test_what_was_used_longest_ago_is_dropped_first(monkeypatch: pytest.MonkeyPatch) -> None:
    cache: LRUCache[str, Any] = LRUCache(10, getsizeof=lambda one: len(one.answer.content))
    monkeypatch.setattr(results, "_arrays", cache)
    monkeypatch.setattr(results, "_answers", LRUCache(2))
    a, b = register_arrays(b"aaaa"), register_arrays(b"bbbb")
    assert fetch(a) == b"aaaa"
    c = register_arrays(b"cccc")
    assert [fetch(each) for each in (a, b, c)] == [b"aaaa", None, b"cccc"]
    monkeypatch.setattr(results, "MAX_BYTES", 3)
    assert fetch(register_arrays(b"dddd")) is None and fetch(register_arrays(b"ddd")) == b"ddd"
    first, second = (register(name, Section(dict, lambda _: {"blocks": []})) for name in "ab")
    assert fetch(first)
    register("c", Section(dict, lambda _: {"blocks": []}))
    assert fetch(first) and fetch(second) is None


def test_a_section_answers_when_its_result_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    future: Future[Any] = Future()
    address = register("token", Section(lambda: {"sum": future}, lambda ready: {"blocks": [ready["sum"].result()]}))
    with monkeypatch.context() as patch:
        patch.setattr(results, "HOLD_SECONDS", 0.01)
        waiting = browser.get(address)
        assert (waiting.status_code, waiting.json()) == (202, {"pending": 1})
        assert waiting.headers["cache-control"] == "no-store"
    monkeypatch.setattr(results, "HOLD_SECONDS", 60.0)  # the request is held until the result is there
    threading.Timer(0.05, future.set_result, [7]).start()
    for shown in ("0", "-1", "x", "9" * 30, "1e3", "²"):
        answer = browser.get(address, params={"shown": shown})
        assert answer.json() == {"blocks": [7], "pending": 0, "ready": 1}
        assert answer.headers["cache-control"] == "no-store"


def test_a_section_that_shows_parts_answers_with_each_new_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "HOLD_SECONDS", 0.01)
    futures: dict[str, Future[Any]] = {"first": finished_future(1), "second": Future()}
    section = Section(lambda: futures, lambda ready: {"blocks": [f.result() for f in ready.values()]}, partly=True)
    address = register("token", section)
    assert browser.get(address).json() == {"blocks": [1], "pending": 1, "ready": 1}
    assert browser.get(f"{address}?shown=1").json() == {"blocks": [1], "pending": 1, "ready": 1}
    futures["second"].set_result(2)
    assert browser.get(f"{address}?shown=1").json() == {"blocks": [1, 2], "pending": 0, "ready": 2}


def test_cancelling_a_section_cancels_what_has_not_begun_and_the_next_request_submits_it_again() -> None:
    submitted: list[Future[Any]] = []

    def submit() -> dict[str, Future[Any]]:
        if not submitted or submitted[-1].cancelled():
            submitted.append(Future() if not submitted else finished_future(2))
        return {"": submitted[-1]}

    address = register("token", Section(submit, lambda ready: {"blocks": [ready[""].result()]}))
    assert browser.delete(address).status_code == 204 and browser.delete("/results/unknown").status_code == 410
    assert submitted[0].cancelled()
    assert browser.get(address).json()["blocks"] == [2]


def test_an_unexpected_error_is_logged_and_shown_in_one_sentence(caplog: pytest.LogCaptureFixture) -> None:
    fail = Mock(side_effect=ZeroDivisionError("secret"))
    answer = browser.get(register("token", Section(lambda: {"": finished_future(1)}, fail))).json()
    assert "Reload the page" in answer["problems"][0]
    assert "secret" not in str(answer) and "secret" in caplog.text
