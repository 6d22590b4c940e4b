"""Transactions of the web server, which must not wait for a database that does not answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy.orm import Session

from explorer.database.engine import is_busy, run_transaction
from explorer.errors import StoreError

_T = TypeVar("_T")
_DOWN_SECONDS = 1.0  # seconds for which nothing is tried after the database did not answer
_ATTEMPTS = 5  # of a transaction for which another one holds the lock for too long
_UNREACHABLE = "The database of this server does not answer now. Wait a moment."
_down_until = 0.0  # `time.monotonic`


def transaction(work: Callable[[Session], _T], lock: str = "") -> _T:
    """Run a function in a transaction, which writes if a lock is given. Raises StoreError; soon after one, at once."""
    global _down_until
    if time.monotonic() < _down_until:
        raise StoreError(_UNREACHABLE)
    try:
        return run_transaction(work, bool(lock), lock, _ATTEMPTS)
    except StoreError as error:
        if not is_busy(error.__cause__):
            _down_until = time.monotonic() + _DOWN_SECONDS
        raise StoreError(_UNREACHABLE) from error


def reset() -> None:
    """Try the next transaction in any case."""
    global _down_until
    _down_until = 0.0
