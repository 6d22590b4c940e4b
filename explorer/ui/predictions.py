"""What visitors predicted, for as long as the server runs: a reload keeps it, and nobody else sees it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

_MOST = 50_000  # predictions; the oldest goes first
NONE: Final = "(no guess)"  # shown without one
_said: OrderedDict[tuple[str, str, int], object] = OrderedDict()
_lock = threading.Lock()


def said(visitor: str, lesson: str, step: int) -> object | None:
    """What a visitor predicted at a step of a lesson; None before they did."""
    return _said.get((visitor, lesson, step))


def say(visitor: str, lesson: str, step: int, given: object) -> None:
    """Keep a prediction."""
    with _lock:
        _said[visitor, lesson, step] = given
        _said.move_to_end((visitor, lesson, step))
        while len(_said) > _MOST:
            _said.popitem(last=False)


def unsay(visitor: str, lesson: str, step: int) -> None:
    """Predict again."""
    with _lock:
        _said.pop((visitor, lesson, step), None)
