"""The training controls of a page for various jobs and runs; the service and the visitor are stand-ins."""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from explorer.jobs.job import JobView
from explorer.jobs.scheduler import service
from explorer.training.config import RunConfig, default_config, key, with_settings
from explorer.training.record import Record, RunState
from explorer.ui.training import train_controls
from explorer.ui.training.learning_chart import describe_outcome
from explorer.ui.training.run_view import RunView
from explorer.web.visitors import Visitor
from tests.pages.screen import assert_no_errors, captions, component_data, warnings_of

ADA = Visitor("ada")
SHA = "0" * 64


def config(model: str, **changes: object) -> RunConfig:
    return with_settings(default_config("text", model), {"iterations": 100, **changes})


def make_view(config: RunConfig, private: Any = None, **view: Any) -> RunView:
    return RunView(config, None, JobView(config, "ada", **view), None, private)


def make_record(state: RunState) -> Record:
    """Return a record without content that ended in this state."""
    record = object.__new__(Record)
    object.__setattr__(record, "state", state)
    return record


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
    stand_in = Service()
    monkeypatch.setattr(train_controls, "service", stand_in)
    monkeypatch.setattr(train_controls, "current_visitor", lambda: ADA)
    train_controls.stop_trainings([make_view(OWN, state="running")])
    assert stand_in.stopped == [(key(OWN), "ada", False)]
    monkeypatch.setattr(train_controls, "current_visitor", lambda: Visitor("bob"))
    train_controls.stop_trainings([make_view(OWN, state="running")])
    assert len(stand_in.stopped) == 1


def test_a_training_is_finished_even_if_its_run_is_not_stored_on_disk() -> None:
    assert not train_controls.is_finished(make_view(OWN, state="running"))
    assert train_controls.is_finished(make_view(OWN, make_record("finished"), state="finished"))
    assert not train_controls.is_finished(make_view(OWN, make_record("stopped"), state="stopped"))


def test_a_stopped_training_can_be_resumed_unless_it_is_private() -> None:
    public, private = (make_view(each, state="stopped", step=40) for each in (config("gru"), OWN))
    assert train_controls._can_resume(public) and not train_controls._can_resume(private)
    assert "Go on takes it up from there" in describe_outcome({"gru": public})
    assert "begins anew" in describe_outcome({"gru": private})


# ---- on a page


def controls_page() -> None:
    """A page with the controls and the chart of two short trainings; it counts its own runs and those of fragments."""
    import streamlit as st

    from explorer.training.config import default_config, with_settings
    from explorer.ui.page_sections import show_problems
    from explorer.ui.training.learning_chart import draw_learning_chart
    from explorer.ui.training.train_controls import TrainRequest, draw_missing_runs, draw_train_controls

    st.session_state["page runs"] = st.session_state.get("page runs", 0) + 1
    configs = {
        model: with_settings(default_config("negation", model), {"epochs": 2, "replicas": 2, "train_size": 40})
        for model in ("rnn", "gru")
    }
    request = TrainRequest.for_section("here")
    show_problems(request.problems)
    draw_missing_runs(request, configs)
    draw_train_controls(request, configs)
    draw_learning_chart("chart", request, configs, lambda views: [], "The curves.", height=300)


@pytest.fixture
def controls(monkeypatch: pytest.MonkeyPatch) -> Iterator[AppTest]:
    """The opened page of a visitor."""
    monkeypatch.setattr(type(st.context), "cookies", property(lambda _: {}))
    at = AppTest.from_function(controls_page, default_timeout=60)
    at.session_state["lineage.visitor"] = "ada"
    yield assert_no_errors(at.run())
    service.reset()


def labels(at: AppTest) -> list[str]:
    return [button.label for button in at.button]


def wait_for_jobs() -> None:
    deadline = time.monotonic() + 60
    while not all(view.done for view in service.views("ada")):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_press_of_train_reruns_the_fragments_and_not_the_page(
    controls: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert labels(controls) == ["Train", "Train"]
    with monkeypatch.context() as patch:
        patch.setattr(service, "_schedule", lambda: None)  # nothing begins, so nothing ends
        at = assert_no_errors(controls.button(key="here.run").click().run())
        assert at.session_state["page runs"] == 1
        assert labels(at) == ["Stop", "Stop"], "both fragments were drawn again"
        assert [data["playback"]["say"] for data in component_data(at, "plot_frame")] == ["waiting in the queue"]
        assert [view.state for view in service.views("ada")] == ["waiting", "waiting"]
        at = assert_no_errors(at.button(key="here.stop").click().run())
    assert at.session_state["page runs"] == 1
    wait_for_jobs()
    assert [view.state for view in service.views("ada")] == ["stopped", "stopped"]
    assert labels(assert_no_errors(at.run())) == ["Train", "Train"], "nothing was trained that could be resumed"


def test_the_buttons_are_named_after_what_they_do(controls: AppTest) -> None:
    controls.button(key="missing.run").click().run()
    wait_for_jobs()
    at = assert_no_errors(controls.run())
    assert labels(at) == ["Train again"]
    assert captions(at) == ["Saved; the address of this page holds these runs. The curves."]


def test_a_refused_training_shows_its_message(controls: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_MOST_STEPS", "1")
    at = assert_no_errors(controls.button(key="here.run").click().run())
    assert at.session_state["page runs"] == 2, "the message stands outside the fragments"
    (warning,) = warnings_of(at)
    assert "this server allows 1 (LINEAGE_MOST_STEPS)" in warning
    assert labels(at) == ["Train", "Train"] and service.views("ada") == []
    monkeypatch.delenv("LINEAGE_MOST_STEPS")
    monkeypatch.setenv("LINEAGE_MOST_JOBS", "1")
    monkeypatch.setattr(service, "_schedule", lambda: None)
    at = assert_no_errors(at.button(key="here.run").click().run())
    assert ["You have 1 trainings under way" in message for message in warnings_of(at)] == [True]
    assert [view.config.model_name for view in service.views("ada")] == ["rnn"], "the job accepted before goes on"
