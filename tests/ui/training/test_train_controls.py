"""What pages with trainings say and do, as jobs and runs stand; the service and the visitor are stand-ins."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from explorer.jobs.job import JobView
from explorer.training.config import RunConfig, default_config, key, with_settings
from explorer.training.record import Record
from explorer.ui.training import train_controls
from explorer.ui.training.run_view import RunView
from explorer.web.visitors import Visitor

ADA = Visitor("ada")
SHA = "0" * 64


def config(model: str, **changes: object) -> RunConfig:
    return with_settings(default_config("text", model), {"iterations": 100, **changes})


def lane(config: RunConfig, private: Any = None, **view: Any) -> RunView:
    return RunView(config, None, JobView(config, "ada", **view), None, private)


OWN = config("gru", corpus="own", text=SHA)


class Service:
    """One job of a visitor's own text, which others do not see."""

    def __init__(self) -> None:
        self.stopped: list[tuple[str, str, bool]] = []
        self.job = SimpleNamespace(key=key(OWN), starter="ada", view=lambda: JobView(OWN, "ada", state="running"))

    def find(self, run_key: str, visitor: str = "") -> Any:
        return self.job if (run_key, visitor) == (self.job.key, "ada") else None

    def stop(self, run_key: str, visitor: str, operator: bool) -> None:
        self.stopped.append((run_key, visitor, operator))


def test_a_training_on_an_own_text_is_stopped_by_its_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service()
    monkeypatch.setattr(train_controls, "service", service)
    monkeypatch.setattr(train_controls, "current_visitor", lambda: ADA)
    train_controls.stop_trainings([lane(OWN, state="running")])
    assert service.stopped == [(key(OWN), "ada", False)]
    monkeypatch.setattr(train_controls, "current_visitor", lambda: Visitor("bob"))
    train_controls.stop_trainings([lane(OWN, state="running")])
    assert len(service.stopped) == 1


def test_a_finished_training_is_one_also_where_no_disk_holds_it() -> None:
    record = object.__new__(Record)  # only whether there is one counts
    assert not train_controls.is_finished(lane(OWN, state="running"))
    assert train_controls.is_finished(lane(OWN, record, state="finished"))
    assert not train_controls.is_finished(lane(OWN, record, state="stopped"))


def test_what_was_stopped_is_gone_on_with_unless_it_learns_an_own_text() -> None:
    public, own = (lane(each, state="stopped", step=40) for each in (config("gru"), OWN))
    assert train_controls._can_resume(public) and not train_controls._can_resume(own)
    assert "Go on takes it up from there" in train_controls.describe_outcome({"gru": public})
    assert "begins anew" in train_controls.describe_outcome({"gru": own})


def test_progress_is_that_of_the_trainings_not_of_what_was_there() -> None:
    there = RunView(config("rnn", iterations=900), None, None)
    running = lane(config("gru"), state="running", step=50, left=12.0)
    assert train_controls.describe_progress({"rnn": there, "gru": running}) == "50%, about 12 s left"
