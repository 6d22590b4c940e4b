"""The predictions of visitors in lessons, in the database: private to the visitor, who finds them again.

A visitor is identified by the hash of the cookie. What this process has read is also in memory, because a page needs it
at every run; a notification says that it has changed, here or at another server. While the database does not answer, a
prediction is kept in memory only.
"""

from __future__ import annotations

import datetime
import logging
import threading
from collections.abc import Mapping
from typing import Any, Final

from cachetools import LRUCache
from sqlalchemy import JSON, delete, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from explorer.database import notifications
from explorer.database.engine import Base, read_clock, run_transaction
from explorer.errors import StoreError
from explorer.web.classes.tables import upsert

log = logging.getLogger(__name__)
NO_PREDICTION: Final = "(no guess)"  # the visitor asked for the answer without predicting
MAX_PREDICTIONS = 50_000  # the one stored longest ago is dropped first
MAX_DAYS = 180  # days after which a prediction is deleted
_CHANNEL = "predictions"
_Key = tuple[str, str, int]  # visitor, lesson and step
# What this process knows of each visitor, by lesson and step; None: there is no prediction in the database.
_known: LRUCache[str, dict[tuple[str, int], object | None]] = LRUCache(10_000)
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
        known = _known.setdefault(visitor, {})  # a notification replaces it, also while the database is read
        if (lesson, step) in known:
            return known[lesson, step]

    def find(session: Session) -> object | None:
        row = session.get(_Prediction, key)
        return row.prediction if row else None

    try:
        found = run_transaction(find)
    except StoreError as error:
        log.warning("a prediction could not be read: %s", error)
        return None
    with _lock:
        return known.setdefault((lesson, step), found)


def store_prediction(visitor: str, lesson: str, step: int, prediction: object) -> None:
    """Store a visitor's prediction at a step of a lesson."""

    def store(session: Session) -> None:
        session.merge(_Prediction(**_columns_of(key), prediction=prediction, stored=read_clock(session)))

    key = visitor, lesson, step
    _change(key, prediction, store)


def store_class_answers(session: Session, lesson: str, step: int, answers: Mapping[str, object]) -> None:
    """Store the answers of a class, by visitor, as their predictions at a step of a lesson."""
    now = read_clock(session)
    rows = [
        {**_columns_of((visitor, lesson, step)), "prediction": answer, "stored": now}
        for visitor, answer in answers.items()
    ]
    upsert(session, _Prediction, rows, ("prediction", "stored"))
    for visitor in answers:
        notifications.publish(session, _CHANNEL, visitor)


def delete_prediction(visitor: str, lesson: str, step: int) -> None:
    """Delete a prediction, so that the visitor can predict again."""
    key = visitor, lesson, step
    _change(key, None, lambda session: session.execute(delete(_Prediction).filter_by(**_columns_of(key))))


def reset() -> None:
    """Delete every prediction. Raises StoreError."""
    run_transaction(lambda session: session.execute(delete(_Prediction)), write=True, lock="predictions")
    forget()


def forget() -> None:
    """Forget what this process has read, so that it is read again."""
    with _lock:
        _known.clear()


def delete_old(session: Session) -> None:
    """Delete predictions above the limits, as the leader of the servers does now and then."""
    oldest = read_clock(session) - datetime.timedelta(days=MAX_DAYS)
    session.execute(delete(_Prediction).where(_Prediction.stored < oldest))
    newest = select(_Prediction.stored).order_by(_Prediction.stored.desc()).offset(MAX_PREDICTIONS).limit(1)
    if (last := session.scalar(newest)) is not None:
        session.execute(delete(_Prediction).where(_Prediction.stored <= last))


def _columns_of(key: _Key) -> dict[str, Any]:
    return dict(zip(("visitor", "lesson", "step"), key, strict=True))


def _change(key: _Key, prediction: object | None, write: Any) -> None:
    """Change a prediction in the database, or in memory only if the database does not answer."""

    def work(session: Session) -> None:
        write(session)
        notifications.publish(session, _CHANNEL, key[0])

    try:
        run_transaction(work, write=True, lock=f"predictions of {key[0]}", attempts=2)
    except StoreError as error:
        log.warning("a prediction could not be stored: %s", error)
        with _lock:
            _known.setdefault(key[0], {})[key[1:]] = prediction


def _forget_visitor(visitor: str | None) -> None:
    if visitor is None:
        forget()
    else:
        with _lock:
            _known.pop(visitor, None)


notifications.subscribe(_CHANNEL, _forget_visitor)
