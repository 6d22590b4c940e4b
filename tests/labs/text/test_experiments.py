"""Findings of the experiments follow their numbers, also against common claims; then the section itself."""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import streamlit as st
from numpy import ndarray
from streamlit.testing.v1 import AppTest
from syrupy.assertion import SnapshotAssertion

from explorer.experiments.paper_experiments import EXPERIMENTS, UNIFORM_BITS, Experiment, Trial
from explorer.jobs.job import JobView
from explorer.jobs.service import service
from explorer.labs.text import experiment_charts, experiments
from explorer.labs.text import experiment_findings as findings
from explorer.labs.text.experiment_findings import Outcome, compute_outcome, experiment_finding, experiment_headline
from explorer.run_store import store
from explorer.training.config import RunConfig, key
from explorer.training.objectives.text import METRICS
from explorer.training.record import Curves, Record, RunState, Snapshot
from explorer.ui.training.run_view import RunView
from explorer.ui.wording import count_seeds
from tests.charts.figures import figure_of
from tests.pages.screen import assert_no_errors, headings, page_text, plot_frame_figures, table

ROOT = Path(__file__).parents[3]
WINDOW, NORM, CLIP, WARM = (EXPERIMENTS[name] for name in ("window", "batchnorm", "clipping", "warmup"))


def make_outcome(trial: Trial, *bits: float, broke_out: int = 0, worst: float = 4.0, longest: float = 1.0) -> Outcome:
    return Outcome(trial, np.array(bits), broke_out, worst, longest)


def make_outcomes(experiment: Experiment, ends: Mapping[str, Outcome | tuple[float, ...]]) -> dict[str, Outcome]:
    """Return the outcome of each trial; every trial that is not named ends at three seeds around 3."""
    outcomes = {}
    for trial in experiment.trials:
        end = ends.get(trial.name, (3.0, 3.1, 3.2))
        outcomes[trial.name] = end if isinstance(end, Outcome) else make_outcome(trial, *end)
    return outcomes


def trial(experiment: Experiment, name: str) -> Trial:
    return next(trial for trial in experiment.trials if trial.name == name)


def test_sentences(snapshot: SnapshotAssertion) -> None:
    ends = {
        "1": (3.6, 3.61, 3.62),
        "2": (3.2, 3.21, 3.22),
        "4": (3.1, 3.11, 3.12),
        "8": (3.09, 3.12, 3.09),
        "16": (3.29, 3.32, 3.29),
    }
    helps = make_outcomes(WINDOW, {**ends, "8": (3.0, 3.01, 3.02)})
    outcomes = make_outcomes(
        NORM, {"none-0.01": (3.0, 3.1, 3.2), "bn-0.01": (2.5, 2.6, 2.7), "bn-0.03": (3.2, 3.1, 3.0)}
    )
    written = [
        findings.describe_difference(each) for each in findings.compare_conditions(NORM, NORM.panels[0], outcomes)
    ]
    diverged = make_outcome(trial(CLIP, "descent-none-1"), math.nan, math.nan, math.nan, worst=8.0)
    assert diverged.worse_than_blind and not diverged.is_finite and diverged.diverged_seeds == 3
    unfinished = make_outcomes(WINDOW, {})
    unfinished.pop("16")
    assert [
        experiment_finding(WINDOW, make_outcomes(WINDOW, ends)),
        experiment_headline(WINDOW, make_outcomes(WINDOW, ends)),
        experiment_headline(WINDOW, helps),
        experiment_headline(NORM, outcomes),
        experiment_finding(
            CLIP, make_outcomes(CLIP, {**broken("descent-none-1"), **broken("adam-clip-0.3", broke_out=2)})
        ),
        experiment_finding(CLIP, make_outcomes(CLIP, broken("descent-none-1", broke_out=1))),
        experiment_finding(CLIP, make_outcomes(CLIP, broken("descent-none-1"))),
        experiment_finding(CLIP, make_outcomes(CLIP, {})),
        experiment_finding(CLIP, make_outcomes(CLIP, broken("descent-clip-1"))),
        *(findings.format_short(value) for value in [0.254, 1.34, 57.2, 1234.0, 130000000.0, math.inf]),
        written[0],
        written[1],
        written[2],
        findings.describe_outcome(outcomes["bn-0.01"]),
        findings.describe_outcome(diverged),
        experiment_finding(CLIP, make_outcomes(CLIP, {"descent-none-1": diverged})),
        experiment_finding(WINDOW, {}),
        experiment_finding(WINDOW, unfinished),
    ] == snapshot
    assert not experiment_headline(WINDOW, {})


def broken(name: str, worst: float = 30.0, broke_out: int = 3) -> dict[str, Outcome | tuple[float, ...]]:
    return {name: make_outcome(trial(CLIP, name), 7.0, 50.0, 9.0, broke_out=broke_out, worst=worst)}


def test_a_diverged_condition_is_judged_without_an_interval() -> None:
    """If one condition ends at 184, 55 and 9 bits and the other at 3, the spread of the first does not matter."""
    ends = make_outcomes(NORM, {"none-0.3": (183.8, 54.5, 9.4), "bn-0.3": (3.1, 3.2, 3.1)})
    (compared,) = [each for each in findings.compare_conditions(NORM, NORM.panels[0], ends) if each.value == 0.3]
    assert compared.difference is not None and compared.difference.low < 0 < compared.difference.high
    assert compared.direction == "lower"
    assert findings.describe_difference(compared) == "the first is worse than uniform guessing"


def curves(config: RunConfig, bits: ndarray, losses: ndarray | None = None, until: int | None = None) -> Curves:
    """Return curves that fall linearly from uniform guessing to these bits per character."""
    steps, seeds = until or config.steps, len(bits)
    evaluated = np.array([step for step in range(steps + 1) if config.evaluates_at(step)])
    way = (evaluated / config.steps)[:, None]
    nats = math.log(2) * (UNIFORM_BITS * (1 - way) + bits * way)
    whole = np.where(evaluated[:, None] == config.steps, nats, np.nan)
    metrics = dict.fromkeys(METRICS, nats) | {"val_loss": whole, "bits_per_char": whole / math.log(2)}
    if losses is None:
        losses = np.linspace(UNIFORM_BITS, bits, steps) * math.log(2)
    moments = np.arange(steps + 1.0)
    signals = {"gradient_norm": np.full((steps, seeds), 0.5, np.float32)}
    return Curves(0, losses.astype(np.float32), moments * 1024, moments / 100, evaluated, metrics, {}, signals)


def test_an_outcome_counts_seeds_that_became_worse_than_uniform_guessing() -> None:
    one = trial(CLIP, "descent-none-1")
    losses = np.full((one.config.steps, 3), 3.0) * math.log(2)
    losses[:10] = 6.5 * math.log(2)  # every training begins there
    losses[200, 1] = 20 * math.log(2)
    found = compute_outcome(one, curves(one.config, np.array([3.0, 5.0, 3.1]), losses), diverged=False)
    assert found is not None
    assert (found.recorded_divergences, found.diverged_seeds, found.longest_gradient) == (1, 1, 0.5)
    assert [found.worst_batch, *found.bits] == pytest.approx([20, 3.0, 5.0, 3.1])
    half = curves(one.config, np.array([3.0, 3.0, 3.0]), until=200)
    assert compute_outcome(one, half, diverged=False) is None, "it is not finished"
    found = compute_outcome(one, half, diverged=True)
    assert found is not None and not found.is_finite and found.diverged_seeds == 3


def store_run(config: RunConfig, bits: ndarray, state: RunState = "finished") -> store.StoredRun:
    until = None if state == "finished" else 200
    snapshots = {until or config.steps: Snapshot({"w": np.zeros((3, 1), np.float32)}, None)}
    message = "" if state == "finished" else "The training diverged by step 200."
    record = Record(config, 1_000, 4.0, curves(config, bits, until=until), snapshots, state, message)
    return store.save_run(record, store.run_folder(config))


@pytest.fixture
def empty_store(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Use a store without included runs, and browsers without cookies."""
    monkeypatch.setattr(store, "pretrained_folders", dict)
    monkeypatch.setattr(type(st.context), "cookies", property(lambda _: {}))


def section(folder: Path, chosen: str) -> AppTest:
    """Return the section in an app that also has a Compare page, to which it links."""
    (folder / "lab.py").write_text(
        "import streamlit as st\n"
        "from explorer.labs.text.experiments import experiments_section\n"
        "def choose(name):\n    st.session_state['chosen'] = name\n"
        "experiments_section(st.session_state['chosen'], choose)\n"
    )
    shutil.copy(ROOT / "pages" / "compare.py", folder / "compare.py")
    (folder / "main.py").write_text(
        "import streamlit as st\nst.navigation([st.Page('lab.py', default=True), st.Page('compare.py')]).run()\n"
    )
    at = AppTest.from_file(folder / "main.py", default_timeout=600)
    at.session_state["lineage.visitor"] = "ada"
    at.session_state["chosen"] = chosen
    return assert_no_errors(at.run())


@pytest.mark.usefixtures("empty_store")
@pytest.mark.parametrize("experiment", [NORM, WINDOW], ids=["batchnorm", "window"])
def test_stored_runs_are_drawn_and_compared(experiment: Experiment, tmp_path: Path) -> None:
    seeds = experiment.trials[0].config.replicas
    ends = {each.name: np.linspace(3.0, 3.3, seeds) + 0.01 * i for i, each in enumerate(experiment.trials)}
    for each in experiment.trials:
        store_run(each.config, ends[each.name])
    at = section(tmp_path, experiment.name)
    text = page_text(at)
    assert experiment.question in text
    outcomes = make_outcomes(experiment, {name: tuple(bits) for name, bits in ends.items()})
    assert experiment_finding(experiment, outcomes) in text.replace("\\", "")
    assert experiment_headline(experiment, outcomes) in headings(at)
    assert f"{len(experiment.trials)} trainings of {count_seeds(seeds)}, about" in text
    figures = plot_frame_figures(at, "experiment-ends")
    dots = [y for panel in figures for trace in panel["plot"]["data"][1::2] for y in trace["y"]]
    assert sorted(dots) == pytest.approx(sorted(np.concatenate(list(ends.values())).tolist()), abs=1e-4)
    lines = plot_frame_figures(at, "experiment-curves")
    values = sum(len(part.values) for part in experiment.panels)
    assert len(lines) == (1 if len(experiment.conditions) == 1 else values)
    assert sum(len(panel["tracks"]) for panel in lines) == len(experiment.trials)
    rows = table(at, "experiment-table")
    assert len(rows) == values
    first = outcomes[experiment.trials[0].name]
    assert rows[0][experiment.conditions[0].label or "end"]["text"] == findings.describe_outcome(first)
    assert [button.label.partition(",")[0] for button in at.button] == ["Train again"]


@pytest.mark.usefixtures("empty_store")
def test_a_diverged_run_is_shown_as_a_result(tmp_path: Path) -> None:
    for each in CLIP.trials:
        store_run(each.config, np.full(3, 3.0), "diverged" if each.name == "descent-none-1" else "finished")
    at = section(tmp_path, "clipping")
    (row,) = [row for row in table(at, "experiment-table") if row["value"]["text"].endswith("momentum, 1")]
    assert row["none"]["text"] == "not finite"
    assert "at 1 with gradient descent (all three seeds)" in page_text(at).replace("\\", "")
    notes = [note["text"] for note in plot_frame_figures(at, "experiment-ends")[0]["plot"]["layout"]["annotations"]]
    assert "no numbers" in notes


@pytest.mark.usefixtures("empty_store")
def test_without_runs_the_section_offers_to_train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    submitted: list[tuple[RunConfig, str]] = []

    def submit(config: RunConfig, visitor: str) -> Any:
        submitted.append((config, visitor))
        return type("Job", (), {"key": key(config)})

    monkeypatch.setattr(service, "submit", submit)
    at = section(tmp_path, "nonsense")
    assert "No run of this experiment has ended yet\\." in page_text(at)
    assert at.pills(key="text.experiment").value == "window"
    assert_no_errors(next(button for button in at.button if button.label.partition(",")[0] == "Train").click().run())
    assert submitted == [(each.config, "ada") for each in WINDOW.trials]
    at = section(tmp_path, "window")
    assert_no_errors(at.pills(key="text.experiment").set_value("clipping").run())
    assert at.session_state["chosen"] == "clipping", "the page is told"
    assert CLIP.question in page_text(assert_no_errors(at.run()))


@pytest.mark.usefixtures("empty_store")
def test_during_training_the_axis_includes_the_initial_loss_and_figures_are_cached() -> None:
    bits = np.array([3.0, 3.1, 3.2])
    views = {each.name: RunView(each.config, store_run(each.config, bits), None) for each in NORM.trials}
    over = experiment_charts.curve_panels(NORM, views, "bits")
    first = NORM.trials[0]
    half = JobView(first.config, "ada", "running", 200, curves=curves(first.config, bits, until=200))
    views[first.name] = replace(views[first.name], job=half)
    live = experiment_charts.curve_panels(NORM, views, "bits")
    again = experiment_charts.curve_panels(NORM, views, "bits")
    assert all(one is other for one, other in zip(again, live, strict=True)), "the figures are cached for all visitors"
    tops = [figure_of(panels[0].chart).layout.yaxis.range[1] for panels in (over, live)]
    assert tops[0] < 4 < UNIFORM_BITS < tops[1]
    outcomes = experiments.load_outcomes(NORM, views)
    assert outcomes.keys() == views.keys(), "the stored run is used until the new one is finished"
