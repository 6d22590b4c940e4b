"""The training controls of a page, the learning chart and its words, for every state of a training."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from syrupy.assertion import SnapshotAssertion

from explorer.jobs.job import JobState, JobView
from explorer.jobs.scheduler import LocalScheduler
from explorer.jobs.service import service
from explorer.run_store.store import Card, StoredRun
from explorer.training.config import RunConfig, default_config, key, with_settings
from explorer.training.machine import machine_kind
from explorer.training.record import Curves
from explorer.ui.document import Document
from explorer.ui.frame import Panel
from explorer.ui.training import learning_chart, run_view, train_controls
from explorer.ui.training.learning_chart import describe_outcome, describe_state, draw_learning_chart, training_state
from explorer.ui.training.run_view import RunView
from explorer.ui.training.train_controls import TrainRequest
from explorer.web.visitors import Visitor
from tests.pages.screen import assert_no_errors, captions, component_data, warnings_of
from tests.waiting import wait_until

PUBLIC = default_config("text", "gru")
OWN = with_settings(PUBLIC, {"corpus": "own", "text": "0" * 64})


def test_a_private_training_is_stopped_by_its_starter_only(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped: list[tuple[Any, ...]] = []
    job = SimpleNamespace(key=key(OWN), starter="ada", view=lambda: JobView(OWN, "ada", state="running"))
    found = {(job.key, "ada"): job}  # only its starter can find a private job
    stand_in = SimpleNamespace(find=lambda *request: found.get(request), stop=lambda *request: stopped.append(request))
    monkeypatch.setattr(train_controls, "service", stand_in)
    for visitor in ("ada", "bob"):
        monkeypatch.setattr(train_controls, "current_visitor", lambda visitor=visitor: Visitor(visitor))
        train_controls.stop_trainings([with_job("running", config=OWN)])
    assert stopped == [(key(OWN), "ada", False)]


def test_a_training_is_finished_even_if_its_run_is_not_stored_on_disk() -> None:
    assert not train_controls.is_finished(with_job("running", config=OWN))
    for state, finished in (("finished", True), ("stopped", False)):
        view = with_job(state, config=OWN, private=SimpleNamespace(finished=finished))  # type: ignore[arg-type]
        assert train_controls.is_finished(view) == finished


def test_a_stopped_training_can_be_resumed() -> None:
    for view in (with_job("stopped", make_run(PUBLIC), PUBLIC, step=40), with_job("stopped", config=OWN, step=40)):
        assert train_controls._can_resume(view)
        assert "Go on takes it up from there" in describe_outcome({"gru": view})


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
    return [button.label.partition(", about")[0] for button in at.button]


def wait_for_jobs() -> None:
    wait_until(lambda: all(view.done for view in service.views("ada")))


def test_a_press_of_train_reruns_the_fragments_and_not_the_page(
    controls: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert labels(controls) == ["Train"]
    with monkeypatch.context() as patch:
        patch.setattr(LocalScheduler, "_schedule", lambda _: None)  # nothing begins, so nothing ends
        at = assert_no_errors(controls.button(key="missing.run").click().run())
        assert at.session_state["page runs"] == 1
        assert labels(at) == ["Stop"], "the fragment was drawn again"
        assert [data["playback"]["say"] for data in component_data(at, "plot_frame")] == ["waiting in the queue"]
        assert [view.state for view in service.views("ada")] == ["waiting", "waiting"]
        at = assert_no_errors(at.button(key="missing.stop").click().run())
    assert at.session_state["page runs"] == 1
    wait_for_jobs()
    assert [view.state for view in service.views("ada")] == ["stopped", "stopped"]
    assert labels(assert_no_errors(at.run())) == ["Train"], "nothing was trained that could be resumed"


def test_the_buttons_are_named_after_what_they_do(controls: AppTest) -> None:
    controls.button(key="missing.run").click().run()
    wait_for_jobs()
    at = assert_no_errors(controls.run())
    assert labels(at) == ["Train again"]
    (caption,) = captions(at)
    assert caption.startswith("The curves. All models read")


def test_a_refused_training_shows_its_message(controls: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_MOST_STEPS", "1")
    at = assert_no_errors(controls.run())
    assert labels(at) == [], "what would be refused is not offered"
    assert any("this server allows 1" in part.value for part in at.markdown)
    monkeypatch.delenv("LINEAGE_MOST_STEPS")
    at = assert_no_errors(at.run())
    monkeypatch.setenv("LINEAGE_MOST_JOBS", "1")
    monkeypatch.setattr(LocalScheduler, "_schedule", lambda _: None)
    at = assert_no_errors(at.button(key="missing.run").click().run())
    assert at.session_state["page runs"] == 4, "the message stands outside the fragments"
    assert ["You have 1 trainings under way" in message for message in warnings_of(at)] == [True]
    assert [view.config.model_name for view in service.views("ada")] == ["rnn"], "the job accepted before goes on"


RNN, GRU = (default_config("negation", model) for model in ("rnn", "gru"))


def make_curves(step: int) -> Curves:
    """Return curves up to a step, evaluated at its start and end."""
    moments = np.arange(step + 1.0)
    return Curves(0, np.ones((step, 2)), moments, moments / 10, np.array([0, step]), {"loss": np.ones((2, 2))})


def make_run(config: RunConfig, state: str = "finished", step: int = 0) -> StoredRun:
    """Return a stored run; by default a finished one."""
    step = step or config.steps
    card = Card(
        key=key(config), parameters=7, seconds=3.0, state=state, step=step, metrics={},
        created="2026-01-01T00:00:00+00:00", torch="2.0",
    )  # type: ignore[arg-type]  # fmt: skip
    return StoredRun(Path("run"), config, card, make_curves(step))


def with_job(
    state: JobState, stored: StoredRun | None = None, config: RunConfig = RNN, private: Any = None, **view: Any
) -> RunView:
    return RunView(config, stored, JobView(config, "ada", state, **view), None, private)


UNTRAINED, FINISHED = RunView(RNN, None, None), RunView(GRU, make_run(GRU), None)


def stopped_view(step: int = 1) -> RunView:
    return RunView(RNN, None, None, stopped=make_run(RNN, "stopped", step))


STATES = {
    "never trained": UNTRAINED,
    "waiting": with_job("waiting", problem="It waits for a connection to the Ray cluster."),
    "training": with_job("running", step=RNN.steps // 4, left=12.0),
    "stopped": stopped_view(7),
    "finished": FINISHED,
    "failed": with_job("failed", problem="The training broke off."),
}


def test_every_state_and_every_end_of_a_training_has_its_words(
    snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "seconds_left", lambda view: view.left)
    ended = [
        with_job("stopped", step=7),
        with_job("diverged", problem="It diverged by step 7."),
        with_job("finished", seconds=2.0, saved=True),
        with_job("finished", saved=False, problem="Disk full."),
        with_job("finished", repeated=True),
        with_job("finished", repeated=False),
        with_job("finished", difference=0.025),
    ]
    together = [{"rnn": ended[2], "gru": FINISHED}, *({"model": view} for view in (*STATES.values(), *ended))]
    assert [(training_state(views), describe_state(views), describe_outcome(views)) for views in together] == snapshot


def test_what_is_still_to_happen_counts_before_what_has_happened() -> None:
    views = {"never": UNTRAINED, "stopped": stopped_view()}
    assert training_state(views) == "stopped"
    jobs: dict[str, JobState] = {"failed": "failed", "waiting": "waiting", "training": "running"}
    for state, of_job in jobs.items():
        views[state] = with_job(of_job)
        assert training_state(views) == state
    assert describe_outcome(views) == "", "nothing is said about the end while a model is being trained"
    assert training_state({"gru": FINISHED, "rnn": UNTRAINED}) == "never trained"


def test_an_older_stored_curve_is_not_shown_while_a_new_job_waits_or_trains() -> None:
    older = make_run(RNN)
    waiting = with_job("waiting", older)
    training = with_job("running", older, step=5, curves=make_curves(5))
    assert waiting.curves is None
    assert training.curves is not None and training.curves.step == 5
    for view in (waiting, training):
        assert view.result is older.curves, "the result of the finished run stays true"
    assert with_job("failed", older).curves is older.curves


def test_an_unfinished_training_has_curves_and_no_result() -> None:
    one_step = make_curves(1)
    for view in (
        stopped_view(1),
        RunView(RNN, None, None, stopped=make_run(RNN, "diverged", 1)),
        *(with_job(state, step=1, curves=one_step) for state in ("running", "stopped", "diverged")),
    ):
        assert view.curves is not None and view.curves.step == 1
        assert view.result is None and view.loaded_run is None
    older = make_run(RNN)
    assert with_job("stopped", older, step=1, curves=one_step).result is older.curves
    new = make_curves(RNN.steps)
    assert with_job("finished", older, curves=new).result is new


def with_machines(config: RunConfig, *kinds: str) -> RunView:
    run = make_run(config)
    return RunView(config, dataclasses.replace(run, card=run.card.model_copy(update={"machines": kinds})), None)


def test_a_caption_names_kinds_of_machine_that_differ(draw_chart: Any, snapshot: SnapshotAssertion) -> None:
    here = machine_kind()
    kinds: list[tuple[tuple[str, ...], tuple[str, ...]]] = [((), ()), ((here,), ()), ((here,), (here,))]
    kinds += [(("arm64, M9, torch 3",), ()), (("A",), ("B", "A")), (("A", "B"), ("C", "D"))]
    views = [{"rnn": with_machines(RNN, *rnn), "gru": with_machines(GRU, *gru)} for rnn, gru in kinds]
    captions = [draw_chart(each, TrainRequest("here"))[1] for each in views]
    assert captions == snapshot


@pytest.fixture
def draw_chart(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that draws the chart of some views and returns its playback, its caption and when it is due."""
    drawn: dict[str, Any] = {}

    def live_section(name: str, draw: Any, height: int, **more: Any) -> None:
        drawn.update(name=name, draw=draw, height=height)

    monkeypatch.setattr(learning_chart, "live_section", live_section)
    monkeypatch.setattr(learning_chart, "current_visitor", lambda: Visitor("ada"))
    monkeypatch.setattr(service, "views", lambda visitor="": [])
    monkeypatch.setattr(st, "session_state", {})

    def draw_chart(views: dict[str, RunView], request: TrainRequest) -> tuple[dict[str, Any], str, float | None]:
        def run_views(configs: object, requested: object, visitor_id: str) -> dict[str, RunView]:
            assert (set(requested), visitor_id) == (request.requested_runs, "ada")  # type: ignore[call-overload]
            return views

        monkeypatch.setattr(run_view, "run_views", run_views)
        shown: list[Panel] = []
        configs = {name: view.config for name, view in views.items()}
        draw_learning_chart("chart", request, configs, lambda _: shown, "Lines and bands.", height=300)
        assert drawn["height"] > 300
        document = Document()
        due = drawn["draw"](document)
        frame, *texts = document.blocks
        assert frame["name"] == "plot_frame" and texts[-1]["kind"] == "caption"
        return frame["data"]["playback"], " ".join(str(each["text"]) for each in texts), due  # type: ignore[index]

    return draw_chart


@pytest.mark.parametrize("state", STATES)
def test_the_chart_shows_the_state_and_is_fetched_again_while_something_trains(state: str, draw_chart: Any) -> None:
    view = STATES[state]
    request = TrainRequest("here", train_count=2)
    playback, caption, due = draw_chart({"model": view}, request)
    assert (training_state({"model": view}), playback["say"]) == (state, describe_state({"model": view}))
    assert playback["run"] == "chart//2"
    assert playback["live"] == (due is not None) == (state in ("waiting", "training"))
    assert caption == f"{describe_outcome({'model': view})} Lines and bands.".strip()
    assert request.fragments == ("chart",), "a press of Train redraws the chart"
