"""Predictions in lessons: private to the visitor, limited, and there after a restart."""

from __future__ import annotations

import datetime
from collections.abc import Callable

import pytest
from sqlalchemy.orm import Session

from explorer.database.engine import run_transaction
from explorer.errors import StoreError
from explorer.web import predictions
from explorer.web.predictions import (
    NO_PREDICTION,
    delete_old,
    delete_prediction,
    find_prediction,
    forget,
    store_prediction,
)

pytestmark = pytest.mark.usefixtures("database")  # each test runs with each kind of database


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
        delete_prediction("ada", "window", 1)
        assert find_prediction("ada", "window", 1) is None
    predictions.reset()
    assert find_prediction("bob", "window", 1) is None


def test_the_predictions_stored_longest_ago_are_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predictions, "MAX_PREDICTIONS", 2)
    for visitor in ("ada", "bob", "eve", "ada"):
        store_prediction(visitor, "window", 1, visitor)
    run_transaction(delete_old, write=True)
    forget()
    assert [find_prediction(visitor, "window", 1) for visitor in ("ada", "bob", "eve")] == ["ada", None, "eve"]
    later = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=predictions.MAX_DAYS + 1)
    monkeypatch.setattr(predictions, "read_clock", lambda session: later)
    run_transaction(delete_old, write=True)
    forget()
    assert find_prediction("ada", "window", 1) is None


def test_a_prediction_that_another_server_stores_while_this_one_reads_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def read_then_store(work: Callable[[Session], object]) -> object:
        found = run_transaction(work)
        monkeypatch.setattr(predictions, "run_transaction", run_transaction)
        store_prediction("ada", "window", 1, 12)
        predictions._forget_visitor("ada")  # the notification of the other server
        return found

    monkeypatch.setattr(predictions, "run_transaction", read_then_store)
    assert find_prediction("ada", "window", 1) is None
    assert find_prediction("ada", "window", 1) == 12


def test_without_a_database_a_prediction_stays_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise StoreError("no")

    monkeypatch.setattr(predictions, "run_transaction", fail)
    assert find_prediction("ada", "window", 1) is None
    store_prediction("ada", "window", 1, 12)
    assert find_prediction("ada", "window", 1) == 12
