"""The predictions of visitors in lessons, held in memory: they survive a reload and are private to the visitor."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

_MAX_PREDICTIONS = 50_000  # the oldest is dropped first
NO_PREDICTION: Final = "(no guess)"  # the visitor asked for the answer without predicting
_predictions: OrderedDict[tuple[str, str, int], object] = OrderedDict()
_lock = threading.Lock()


def reset() -> None:
    """Delete every prediction."""
    with _lock:
        _predictions.clear()


def find_prediction(visitor: str, lesson: str, step: int) -> object | None:
    """Return a visitor's prediction at a step of a lesson, or None."""
    return _predictions.get((visitor, lesson, step))


def store_prediction(visitor: str, lesson: str, step: int, prediction: object) -> None:
    """Store a visitor's prediction at a step of a lesson."""
    with _lock:
        _predictions[visitor, lesson, step] = prediction
        _predictions.move_to_end((visitor, lesson, step))
        while len(_predictions) > _MAX_PREDICTIONS:
            _predictions.popitem(last=False)


def delete_prediction(visitor: str, lesson: str, step: int) -> None:
    """Delete a prediction, so that the visitor can predict again."""
    with _lock:
        _predictions.pop((visitor, lesson, step), None)
