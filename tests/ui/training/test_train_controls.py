"""The training controls of a page for various jobs and runs; the service and the visitor are stand-ins."""

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


def make_view(config: RunConfig, private: Any = None, **view: Any) -> RunView:
    return RunView(config, None, JobView(config, "ada", **view), None, private)


OWN = config("gru", corpus="own", text=SHA)


class Service:
    """A stand-in for the scheduler with one private job, which only its starter can find."""

    def __init__(self) -> None:
        self.stopped: list[tuple[str, str, bool]] = []
        self.job = SimpleNamespace(key=key(OWN), starter="ada", view=lambda: JobView(OWN, "ada", state="running"))

    def find(self, run_key: str, visitor: str = "") -> Any:
        return self.job if (run_key, visitor) == (self.job.key, "ada") else None

    def stop(self, run_key: str, visitor: str, operator: bool) -> None:
        self.stopped.append((run_key, visitor, operator))


def test_a_private_training_is_stopped_by_its_starter_only(monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service()
    monkeypatch.setattr(train_controls, "service", service)
    monkeypatch.setattr(train_controls, "current_visitor", lambda: ADA)
    train_controls.stop_trainings([make_view(OWN, state="running")])
    assert service.stopped == [(key(OWN), "ada", False)]
    monkeypatch.setattr(train_controls, "current_visitor", lambda: Visitor("bob"))
    train_controls.stop_trainings([make_view(OWN, state="running")])
    assert len(service.stopped) == 1


def test_a_training_is_finished_even_if_its_run_is_not_stored_on_disk() -> None:
    record = object.__new__(Record)  # its content does not matter
    assert not train_controls.is_finished(make_view(OWN, state="running"))
    assert train_controls.is_finished(make_view(OWN, record, state="finished"))
    assert not train_controls.is_finished(make_view(OWN, record, state="stopped"))


def test_a_stopped_training_can_be_resumed_unless_it_is_private() -> None:
    public, private = (make_view(each, state="stopped", step=40) for each in (config("gru"), OWN))
    assert train_controls._can_resume(public) and not train_controls._can_resume(private)
    assert "Go on takes it up from there" in train_controls.describe_outcome({"gru": public})
    assert "begins anew" in train_controls.describe_outcome({"gru": private})


def test_progress_counts_running_trainings_only() -> None:
    shipped = RunView(config("rnn", iterations=900), None, None)
    running = make_view(config("gru"), state="running", step=50, left=12.0)
    assert train_controls.describe_progress({"rnn": shipped, "gru": running}) == "50%, about 12 s left"
