"""The learning chart and its words, for every state of a training."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import streamlit as st

from explorer.jobs.job import JobState, JobView
from explorer.jobs.scheduler import service
from explorer.run_store.store import Card, StoredRun
from explorer.training.config import RunConfig, default_config, key
from explorer.training.machine import machine_kind
from explorer.training.record import Curves
from explorer.ui.components.plot_frame import Panel
from explorer.ui.document import Document
from explorer.ui.training import learning_chart, run_view
from explorer.ui.training.learning_chart import describe_outcome, describe_state, draw_learning_chart, training_state
from explorer.ui.training.run_view import RunView
from explorer.ui.training.train_controls import TrainRequest
from explorer.web.visitors import Visitor

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


def with_job(state: JobState, stored: StoredRun | None = None, **view: Any) -> RunView:
    return RunView(RNN, stored, JobView(RNN, "ada", state, **view))


UNTRAINED, FINISHED = RunView(RNN, None, None), RunView(GRU, make_run(GRU), None)


def stopped_view(step: int = 1) -> RunView:
    return RunView(RNN, None, None, stopped=make_run(RNN, "stopped", step))


STATES: dict[str, tuple[RunView, str, str]] = {
    "never trained": (UNTRAINED, "not trained yet", ""),
    "waiting": (with_job("waiting"), "waiting in the queue", ""),
    "training": (with_job("running", step=RNN.steps // 4, left=12.0), "25%, about 12 s left", ""),
    "stopped": (stopped_view(7), "stopped", f"Stopped earlier: RNN at step 7 of {RNN.steps:,}. Go on takes it up"),
    "finished": (FINISHED, "trained earlier, in 3.0 s", ""),
    "failed": (with_job("failed", problem="The training broke off."), "failed", "The training broke off."),
}


@pytest.mark.parametrize("state", STATES)
def test_every_state_of_a_training_has_its_words(state: str) -> None:
    view, words, outcome = STATES[state]
    views = {"model": view}
    assert training_state(views) == state
    assert describe_state(views) == words
    assert describe_outcome(views).startswith(outcome) and bool(outcome) == bool(describe_outcome(views))


@pytest.mark.parametrize(
    ("job", "state", "sentence"),
    [
        (with_job("stopped", step=7), "stopped", "Stopped: the curves end where it was. Go on"),
        (with_job("diverged", problem="It diverged by step 7."), "failed", "It diverged by step 7."),
        (with_job("finished", seconds=2.0, saved=True), "finished", "Saved; the address of this page"),
        (with_job("finished", saved=False, problem="Disk full."), "finished", "Trained, but not saved. Disk full."),
        (with_job("finished", repeated=True), "finished", "Trained once more on the same kind of machine, and every"),
        (with_job("finished", repeated=False), "finished", "Trained once more; on this machine the curves differ"),
        (with_job("finished", difference=0.025), "finished", "Trained once more. Another kind of machine may"),
    ],
)  # fmt: skip
def test_the_end_of_a_job_has_one_sentence(job: RunView, state: str, sentence: str) -> None:
    views = {"rnn": job}
    assert training_state(views) == state
    assert describe_outcome(views).startswith(sentence)


def test_what_is_still_to_happen_counts_before_what_has_happened() -> None:
    failed, waiting, running = with_job("failed"), with_job("waiting"), with_job("running")
    views = {"never": UNTRAINED, "stopped": stopped_view()}
    for name, view, state in (
        ("none", UNTRAINED, "stopped"),
        ("failed", failed, "failed"),
        ("waiting", waiting, "waiting"),
        ("running", running, "training"),
    ):
        views[name] = view
        assert training_state(views) == state
    assert describe_outcome(views) == "", "nothing is said about the end while a model is being trained"
    assert training_state({"gru": FINISHED, "rnn": UNTRAINED}) == "never trained"


def test_what_a_training_waits_for_and_whether_it_was_trained_now_is_described() -> None:
    view = with_job("waiting", problem="It waits for a connection to the Ray cluster.")
    assert describe_state({"model": view}) == "waiting in the queue. It waits for a connection to the Ray cluster"
    now = with_job("finished", seconds=2.0, saved=True)
    assert describe_state({"rnn": now, "gru": FINISHED}) == "trained in 5.0 s"


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


# ---- where the runs were trained


def with_machines(config: RunConfig, *kinds: str) -> RunView:
    run = make_run(config)
    return RunView(config, dataclasses.replace(run, card=run.card.model_copy(update={"machines": kinds})), None)


@pytest.mark.parametrize(
    ("rnn", "gru", "sentence"),
    [
        ((), (), ""),
        ((machine_kind(),), (), ""),
        ((machine_kind(),), (machine_kind(),), ""),
        (("arm64, M9, torch 3",), (), "Trained on another kind of machine than this server: arm64, M9, torch 3."),
        (("A",), ("B", "A"), "Trained on 2 kinds of machine: A; B."),
        (("A", "B"), ("C", "D"), "Trained on 4 kinds of machine: A; B; C; more."),
    ],
)
def test_a_caption_names_kinds_of_machine_that_differ(
    rnn: tuple[str, ...], gru: tuple[str, ...], sentence: str, draw_chart: Any
) -> None:
    views = {"rnn": with_machines(RNN, *rnn), "gru": with_machines(GRU, *gru)}
    _, caption, _ = draw_chart(views, TrainRequest("here"))
    assert caption == f"Lines and bands. {sentence}".strip()


# ---- the chart itself


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
        frame, caption = document.blocks
        assert (frame["name"], caption["kind"]) == ("plot_frame", "caption")
        return frame["data"]["playback"], str(caption["text"]), due  # type: ignore[index]

    return draw_chart


@pytest.mark.parametrize("state", STATES)
def test_the_chart_shows_the_state_and_is_fetched_again_while_something_trains(state: str, draw_chart: Any) -> None:
    view, words, _ = STATES[state]
    request = TrainRequest("here", train_count=2)
    playback, caption, due = draw_chart({"model": view}, request)
    assert playback["say"] == words
    assert playback["run"] == "chart/2"
    assert playback["live"] == (due is not None) == (state in ("waiting", "training"))
    assert caption == f"{describe_outcome({'model': view})} Lines and bands.".strip()
    assert request.fragments == ("chart",), "a press of Train redraws the chart"
