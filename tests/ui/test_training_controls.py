"""What pages with trainings say and do, as jobs and runs stand; the service and the visitor are stand-ins."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from explorer.training.config import RunConfig, changed, default, key
from explorer.training.job import View
from explorer.training.record import Record
from explorer.ui import training_controls
from explorer.ui.runs import Lane
from explorer.ui.visitors import Visitor

ADA = Visitor("ada")
SHA = "0" * 64


def config(model: str, **changes: object) -> RunConfig:
    return changed(default("text", model), {"iterations": 100, **changes})


def lane(config: RunConfig, private: Any = None, **view: Any) -> Lane:
    return Lane(config, None, View(config, "ada", **view), None, private)


OWN = config("gru", corpus="own", text=SHA)


class Service:
    """One job of a visitor's own text, which others do not see."""

    def __init__(self) -> None:
        self.stopped: list[tuple[str, str, bool]] = []
        self.job = SimpleNamespace(key=key(OWN), starter="ada", view=lambda: View(OWN, "ada", state="running"))

    def find(self, run_key: str, visitor: str = "") -> Any:
        return self.job if (run_key, visitor) == (self.job.key, "ada") else None

    def stop(self, run_key: str, visitor: str, operator: bool) -> None:
        self.stopped.append((run_key, visitor, operator))


def test_a_training_on_an_own_text_is_stopped_by_its_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service()
    monkeypatch.setattr(training_controls, "service", service)
    monkeypatch.setattr(training_controls, "visitor", lambda: ADA)
    training_controls.stop([lane(OWN, state="running")])
    assert service.stopped == [(key(OWN), "ada", False)]
    monkeypatch.setattr(training_controls, "visitor", lambda: Visitor("bob"))
    training_controls.stop([lane(OWN, state="running")])
    assert len(service.stopped) == 1


def test_a_finished_training_is_one_also_where_no_disk_holds_it() -> None:
    record = object.__new__(Record)  # only whether there is one counts
    assert not training_controls.finished(lane(OWN, state="running"))
    assert training_controls.finished(lane(OWN, record, state="finished"))
    assert not training_controls.finished(lane(OWN, record, state="stopped"))


def test_what_was_stopped_is_gone_on_with_unless_it_learns_an_own_text() -> None:
    public, own = (lane(each, state="stopped", step=40) for each in (config("gru"), OWN))
    assert training_controls._stopped(public) and not training_controls._stopped(own)
    assert "Go on takes it up from there" in training_controls.outcome({"gru": public})
    assert "begins anew" in training_controls.outcome({"gru": own})


def test_progress_is_that_of_the_trainings_not_of_what_was_there() -> None:
    there = Lane(config("rnn", iterations=900), None, None)
    running = lane(config("gru"), state="running", step=50, left=12.0)
    assert training_controls.progress({"rnn": there, "gru": running}) == "50%, about 12 s left"
