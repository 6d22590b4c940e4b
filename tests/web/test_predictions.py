"""Predictions in lessons: private to the visitor, limited, and there after a restart."""

from __future__ import annotations

import datetime
import time
from unittest.mock import Mock

import pytest

from explorer.database.engine import run_transaction
from explorer.errors import StoreError
from explorer.web import predictions, transactions
from explorer.web.predictions import NO_PREDICTION, find_prediction, forget, store_prediction


@pytest.mark.usefixtures("database")
def test_predictions_are_stored_per_visitor_and_can_be_deleted() -> None:
    store_prediction("ada", "window", 1, 12)
    store_prediction("bob", "window", 1, NO_PREDICTION)
    for _ in range(2):
        assert find_prediction("ada", "window", 1) == 12
        assert find_prediction("bob", "window", 1) == NO_PREDICTION
        for other in (("eve", "window", 1), ("ada", "counting", 1), ("ada", "window", 2)):
            assert find_prediction(*other) is None
        forget()  # as after a restart
    store_prediction("ada", "window", 1, 13)
    assert find_prediction("ada", "window", 1) == 13
    for _ in range(2):  # twice is no mistake
        store_prediction("ada", "window", 1, None)
        assert find_prediction("ada", "window", 1) is None
    predictions.reset()
    assert find_prediction("bob", "window", 1) is None


def test_the_predictions_stored_longest_ago_are_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predictions, "MAX_PREDICTIONS", 2)
    begin = datetime.datetime.now(datetime.UTC)
    for day, visitor in enumerate(("ada", "bob", "eve", "ada")):
        monkeypatch.setattr(predictions, "read_clock", lambda _, day=day: begin + datetime.timedelta(days=day))
        store_prediction(visitor, "window", 1, visitor)
    for day, kept in ((3.0, ["ada", "eve"]), (predictions.MAX_DAYS + 2.5, ["ada"]), (predictions.MAX_DAYS + 3.5, [])):
        monkeypatch.setattr(predictions, "read_clock", lambda _, day=day: begin + datetime.timedelta(days=day))
        run_transaction(predictions.delete_old, write=True)
        forget()
        assert [each for each in ("ada", "bob", "eve") if find_prediction(each, "window", 1)] == kept


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the time in seconds, as a list with one number that a test may change."""
    now = [time.monotonic()]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_a_prediction_that_another_server_stores_is_found_after_a_second(clock: list[float]) -> None:
    def store_elsewhere(prediction: str) -> None:
        answers = {"ada": prediction}
        run_transaction(lambda session: predictions.store_class_answers(session, "window", 1, answers), write=True)

    assert find_prediction("ada", "window", 1) is None
    for prediction in ("a", "b"):
        store_elsewhere(prediction)
        clock[0] += predictions.CURRENT_SECONDS
        assert find_prediction("ada", "window", 1) == prediction
    store_prediction("ada", "window", 1, "c")
    assert find_prediction("ada", "window", 1) == "c", "one's own at once"


def test_without_a_database_the_last_known_prediction_counts(
    clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    store_prediction("bob", "window", 1, 7)
    clock[0] += predictions.CURRENT_SECONDS
    with monkeypatch.context() as patch:
        patch.setattr(transactions, "run_transaction", Mock(side_effect=StoreError("no")))
        assert find_prediction("bob", "window", 1) == 7
        assert find_prediction("ada", "window", 1) is None
        store_prediction("ada", "window", 1, 12)
    for _ in range(2):
        assert (find_prediction("ada", "window", 1), find_prediction("bob", "window", 1)) == (12, 7)
        clock[0] += 2 * transactions._DOWN_SECONDS
