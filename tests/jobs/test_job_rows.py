"""The rows of trainings in the database."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from explorer.database.engine import close_database, run_transaction
from explorer.jobs import job_rows
from explorer.jobs.job_rows import JobRow, decode_curves, encode_curves
from explorer.training.recorder import record_run
from tests.export.alike import short_config


def test_old_rows_are_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_rows, "_KEPT_ROWS", 2)
    now = datetime.datetime.now(datetime.UTC)
    hours = {"new": 0, "older": 1, "oldest": 2, "of last week": 24 * 7, "waiting": 24 * 7}

    def fill(session: Session) -> None:
        for name, age in hours.items():
            values: dict[str, Any] = dict.fromkeys(("submission", "mark", "starter", "problem", "curves_mark"), "")
            values |= dict.fromkeys(("until", "crashes", "claims", "step", "seconds", "parameters"), 0)
            values |= {"requesters": [], "watchers": [], "config": {}, "stop_requested": False, "saved": True}
            state = "waiting" if name == "waiting" else "finished"
            changed = now - datetime.timedelta(hours=age)
            session.add(JobRow(key=name, state=state, submitted=now, changed=changed, **values))

    run_transaction(fill)
    run_transaction(job_rows.remove_old_rows)
    assert sorted(run_transaction(lambda session: session.scalars(select(JobRow.key)).all())) == [
        *("new", "older", "waiting")
    ]
    close_database()


def test_curves_are_the_same_after_a_journey() -> None:
    curves = record_run(short_config(replicas=2)).curves
    again = decode_curves(encode_curves(curves))
    assert (again.first, again.samples, again.step) == (curves.first, curves.samples, curves.step)
    for name in ("losses", "tokens", "seconds", "evaluated"):
        np.testing.assert_array_equal(getattr(again, name), getattr(curves, name), strict=True)
    for part in ("metrics", "answers", "signals"):
        assert getattr(again, part).keys() == getattr(curves, part).keys()
        for name, values in getattr(curves, part).items():
            np.testing.assert_array_equal(getattr(again, part)[name], values, strict=True)
