"""The predictions of visitors in lessons, in the database: private to the visitor, who finds them again.

A visitor is identified by the hash of the cookie. What this process has read is also in memory, because a page needs it
at every run. It is read again after CURRENT_SECONDS, because another server may have changed it. While the database
does not answer, the last known prediction counts, and a new one is kept in memory only.
"""

from __future__ import annotations

import datetime
import logging
import math
import threading
import time
from collections.abc import Mapping
from typing import Any, Final

from cachetools import LRUCache
from sqlalchemy import JSON, delete, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from explorer.database.engine import Base, read_clock, run_transaction, upsert
from explorer.errors import StoreError
from explorer.web.transactions import transaction

log = logging.getLogger(__name__)
NO_PREDICTION: Final = "(no guess)"  # the visitor asked for the answer without predicting
MAX_PREDICTIONS = 50_000  # the one stored longest ago is dropped first
MAX_DAYS = 180  # days after which a prediction is deleted
CURRENT_SECONDS = 1.0  # seconds for which what has been read counts as current
_Key = tuple[str, str, int]  # visitor, lesson and step
_known: LRUCache[_Key, tuple[float, object | None]] = LRUCache(10_000)  # when it was read (`time.monotonic`), and what
_lock = threading.Lock()


class _Prediction(Base):
    __tablename__ = "predictions"

    visitor: Mapped[str] = mapped_column(primary_key=True)
    lesson: Mapped[str] = mapped_column(primary_key=True)
    step: Mapped[int] = mapped_column(primary_key=True)
    prediction: Mapped[Any] = mapped_column(JSON)
    stored: Mapped[datetime.datetime] = mapped_column(index=True)


def find_prediction(visitor: str, lesson: str, step: int) -> object | None:
    """Return a visitor's prediction at a step of a lesson, or None."""
    key = visitor, lesson, step
    with _lock:
        entry = _known.get(key)
    read, found = entry or (-math.inf, None)
    if time.monotonic() - read < CURRENT_SECONDS:
        return found
    stored = select(_Prediction.prediction).filter_by(**_columns_of(key))
    try:
        found = transaction(lambda session: session.scalar(stored))
    except StoreError as error:
        log.warning("a prediction could not be read: %s", error)
    with _lock:
        if _known.get(key) is entry:  # nothing was stored meanwhile
            _known[key] = time.monotonic(), found
    return found


def store_prediction(visitor: str, lesson: str, step: int, prediction: object | None) -> None:
    """Store a prediction, or delete it (None); in memory only while the database does not answer."""
    key = visitor, lesson, step

    def store(session: Session) -> None:
        session.execute(delete(_Prediction).filter_by(**_columns_of(key)))
        if prediction is not None:
            session.add(_Prediction(**_columns_of(key), prediction=prediction, stored=read_clock(session)))

    try:
        transaction(store, lock=f"predictions of {visitor}")
        read = time.monotonic()
    except StoreError as error:
        log.warning("a prediction could not be stored: %s", error)
        read = math.inf  # it is not read again
    with _lock:
        _known[key] = read, prediction


def store_class_answers(session: Session, lesson: str, step: int, answers: Mapping[str, object]) -> None:
    """Store the answers of a class, by visitor, as their predictions at a step of a lesson."""
    now = read_clock(session)
    rows = [
        {**_columns_of((visitor, lesson, step)), "prediction": answer, "stored": now}
        for visitor, answer in answers.items()
    ]
    upsert(session, _Prediction, rows, ("prediction", "stored"))


def reset() -> None:
    """Delete every prediction. Raises StoreError."""
    run_transaction(lambda session: session.execute(delete(_Prediction)), write=True, lock="predictions")
    forget()


def forget() -> None:
    """Forget what this process has read, so that it is read again."""
    with _lock:
        _known.clear()


def delete_old(session: Session) -> None:
    """Delete predictions above the limits, as each server does now and then."""
    oldest = read_clock(session) - datetime.timedelta(days=MAX_DAYS)
    session.execute(delete(_Prediction).where(_Prediction.stored < oldest))
    newest = select(_Prediction.stored).order_by(_Prediction.stored.desc()).offset(MAX_PREDICTIONS).limit(1)
    if (last := session.scalar(newest)) is not None:
        session.execute(delete(_Prediction).where(_Prediction.stored <= last))


def _columns_of(key: _Key) -> dict[str, Any]:
    return dict(zip(("visitor", "lesson", "step"), key, strict=True))
