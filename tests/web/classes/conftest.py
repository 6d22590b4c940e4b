"""The time of a class."""

from __future__ import annotations

import datetime
import time

import pytest

from explorer.web.classes import store, tables


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the time in seconds, as a list with one number that a test may change."""
    now = [time.monotonic()]
    begin, begin_in_database = now[0], datetime.datetime.now(datetime.UTC)
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    for module in (store, tables):
        monkeypatch.setattr(
            module, "read_clock", lambda session: begin_in_database + datetime.timedelta(seconds=now[0] - begin)
        )
    return now
