"""Every sentence is held against numbers, also those that contradict what is often said; then the section itself."""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import streamlit as st
from numpy import ndarray
from streamlit.testing.v1 import AppTest

from explorer.experiments.paper_experiments import (
    EXPERIMENTS,
    UNIFORM_BITS,
    Condition,
    Experiment,
    ExperimentPanel,
    Trial,
)
from explorer.jobs.scheduler import service
from explorer.labs.text import experiment_charts, experiments
from explorer.labs.text import experiment_findings as findings
from explorer.labs.text.experiment_findings import Outcome, compute_outcome, experiment_finding
from explorer.run_store import store
from explorer.training.config import RunConfig, default_config, key, with_settings
from explorer.training.objectives.text import METRICS
from explorer.training.record import Curves, Record, RunState, Snapshot
from explorer.ui.training import run_view
from tests.pages.screen import assert_no_errors, component_data, page_text, plot_frame_figures, table, warnings_of

ROOT = Path(__file__).parents[3]
WINDOW, NORM, CLIP, WARM = (EXPERIMENTS[name] for name in ("window", "batchnorm", "clipping", "warmup"))


def ended(trial: Trial, *bits: float, broke_out: int = 0, worst: float = 4.0, longest: float = 1.0) -> Outcome:
    return Outcome(trial, np.array(bits), broke_out, worst, longest)


def found(experiment: Experiment, ends: Mapping[str, Outcome | tuple[float, ...]]) -> dict[str, Outcome]:
    """What came out, by trial; every trial that is not named ends at three seeds around 3."""
    told = {}
    for trial in experiment.trials:
        end = ends.get(trial.name, (3.0, 3.1, 3.2))
        told[trial.name] = end if isinstance(end, Outcome) else ended(trial, *end)
    return told


def trial(experiment: Experiment, name: str) -> Trial:
    return next(trial for trial in experiment.trials if trial.name == name)


def test_a_window_is_told_step_by_step_and_the_claim_is_judged() -> None:
    ends = {
        "1": (3.60, 3.61, 3.62),
        "2": (3.20, 3.21, 3.22),
        "4": (3.10, 3.11, 3.12),
        "8": (3.09, 3.15, 3.09),
        "16": (3.29, 3.35, 3.29),
    }
    assert experiment_finding(WINDOW, found(WINDOW, ends)) == (
        "A window of 2 characters instead of 1 saves 0.400 bits a character, 4 instead of 2 saves 0.100, 8 instead of "
        "4 could be luck and 16 instead of 8 costs 0.200. So with 8 there is no improvement here either."
    )
    helps = experiment_finding(WINDOW, found(WINDOW, {**ends, "8": (3.00, 3.01, 3.02)}))
    assert "8 instead of 4 saves 0.100" in helps and helps.endswith("So 8 characters do help here.")
    assert "4 instead of 2 changes nothing" in experiment_finding(WINDOW, found(WINDOW, {**ends, "4": ends["2"]}))


def test_where_with_is_better_worse_or_only_lucky_is_said() -> None:
    ends = {
        "none-0.01": (3.0, 3.1, 3.2),
        "bn-0.01": (3.5, 3.6, 3.7),
        "none-0.03": (3.0, 3.1, 3.2),
        "bn-0.03": (3.1, 3.1, 3.1),
        "none-0.3": (4.0, 4.2, 4.4),
        "bn-0.3": (3.5, 3.7, 3.9),
    }
    assert experiment_finding(NORM, found(NORM, ends)) == (
        "With BatchNorm it ends lower at 0.3 (by 0.500 bits a character), higher at 0.01 (by 0.500 bits a character); "
        "at 0.03 the difference could be luck, at 0.1 nothing changes. The seeds end at most 0.40 bits apart without "
        "BatchNorm, 0.40 with. So the sentence holds here at one of four learning rates."
    )


def test_a_sentence_that_is_false_everywhere_is_called_so() -> None:
    every = {t.name: (3.2, 3.1, 3.0) for t in WARM.trials if t.condition == WARM.conditions[1]}
    told = experiment_finding(WARM, found(WARM, every))
    assert told.startswith("With warm-up no end is lower or higher than luck could make it, at any of six learning")
    assert told.endswith("So the sentence holds here at none of six learning rates.")


def test_luck_is_said_only_where_it_could_be_luck() -> None:
    told = experiment_finding(WARM, found(WARM, {"post-warm-0.1": (3.2, 3.1, 3.0)}))
    assert told.startswith(
        "With warm-up it ends lower or higher at no learning rate; at 0.1 with the norm after the difference could be "
        "luck, at five nothing changes."
    )
    gone = (math.nan, math.nan, math.nan)
    told = experiment_finding(NORM, found(NORM, {"none-0.3": gone, "bn-0.3": gone, "bn-0.01": (2.0, 2.1, 2.2)}))
    assert "lower at 0.01 (by 1.000 bits a character); at 0.03 and 0.1 nothing changes, at 0.3 there are no " in told
    assert "luck" not in told


def test_a_sentence_that_is_true_everywhere_is_called_so() -> None:
    every = {t.name: (2.0, 2.1, 2.2) for t in WARM.trials if t.condition == WARM.conditions[1]}
    told = experiment_finding(WARM, found(WARM, every))
    assert "lower at 0.01 with the norm after (by 1.000 bits a character)" in told
    assert told.endswith("So the sentence holds here at all of six learning rates.")


def broken(name: str, worst: float = 30.0, broke_out: int = 3) -> dict[str, Outcome | tuple[float, ...]]:
    return {name: ended(trial(CLIP, name), 7.0, 50.0, 9.0, broke_out=broke_out, worst=worst)}


def test_breaking_out_is_told_with_its_places_and_seeds() -> None:
    told = experiment_finding(CLIP, found(CLIP, {**broken("descent-none-1"), **broken("adam-clip-0.3", broke_out=2)}))
    assert told == (
        "Without clipping batches come to cost up to 30 bits a character, where blind guessing costs 6: at 1 with "
        "gradient descent (all three seeds). With clipping that happens at 0.3 with Adam (two of three seeds). So the "
        "sentence holds here at one of five learning rates."
    )
    one = experiment_finding(CLIP, found(CLIP, broken("descent-none-1", broke_out=1)))
    assert "(one of three seeds)" in one and one.endswith("at one of five learning rates.")
    assert "With clipping that happens at none of them." in experiment_finding(
        CLIP, found(CLIP, broken("descent-none-1"))
    )


def test_what_breaks_out_only_with_clipping_or_not_at_all_is_told_too() -> None:
    told = experiment_finding(CLIP, found(CLIP, {}))
    assert told.startswith("Without clipping nothing diverges: no batch comes to cost more than blind guessing.")
    assert told.endswith("holds here at none of five learning rates.")
    told = experiment_finding(CLIP, found(CLIP, broken("descent-clip-1")))
    assert told.startswith("Without clipping nothing diverges; with clipping it does: 1 with gradient descent (all th")


def test_a_run_without_numbers_counts_as_broken_and_is_never_a_mean() -> None:
    gone = ended(trial(CLIP, "descent-none-1"), math.nan, math.nan, math.nan, worst=8.0)
    assert gone.worse_than_blind and not gone.is_finite and gone.diverged_seeds == 3
    assert findings.describe_outcome(gone) == "no numbers any more"
    told = experiment_finding(CLIP, found(CLIP, {"descent-none-1": gone}))
    assert "at 1 with gradient descent (all three seeds)" in told and "nan" not in told
    lost = ended(trial(NORM, "none-0.3"), math.nan, math.nan, math.nan)
    told = experiment_finding(NORM, found(NORM, {"none-0.3": lost}))
    assert "lower at 0.3 (the other ends worse than blind guessing)" in told and "nan" not in told
    lost = ended(trial(NORM, "bn-0.3"), math.nan, math.nan, math.nan)
    assert "higher at 0.3 (it ends worse than blind guessing)" in experiment_finding(
        NORM, found(NORM, {"bn-0.3": lost})
    )


def test_a_net_that_is_lost_needs_no_interval() -> None:
    """Where one ends at 184, 55 and 9 bits and the other at 3, the spread of the first is no reason to doubt."""
    ends = found(NORM, {"none-0.3": (183.8, 54.5, 9.4), "bn-0.3": (3.1, 3.2, 3.1)})
    (compared,) = [each for each in findings.compare_conditions(NORM, NORM.panels[0], ends) if each.value == 0.3]
    assert compared.difference is not None and compared.difference.within_noise
    assert compared.verdict == "lower"
    assert findings.describe_difference(compared) == "the first is worse than blind guessing"


def test_before_all_runs_are_there_nothing_is_concluded() -> None:
    assert experiment_finding(WINDOW, {}) == "Nobody has asked this here yet."
    some = found(WINDOW, {})
    some.pop("16")
    assert experiment_finding(WINDOW, some) == "4 of 5 runs are there. What they say comes with the last."


@pytest.mark.parametrize(
    ("value", "written"),
    [(0.254, "0.25"), (1.34, "1.3"), (57.2, "57"), (1_234.0, "1,234"), (1.3e8, "1.3·10⁸"), (math.inf, "endless")],
)
def test_a_length_is_written_short(value: float, written: str) -> None:
    assert findings.format_short(value) == written


def test_differences_are_written_with_their_interval() -> None:
    ends = found(NORM, {"none-0.01": (3.0, 3.1, 3.2), "bn-0.01": (2.5, 2.6, 2.7), "bn-0.03": (3.2, 3.1, 3.0)})
    written = [findings.describe_difference(each) for each in findings.compare_conditions(NORM, NORM.panels[0], ends)]
    assert written[0] == "−0.500 (−0.500 to −0.500)"
    assert written[1].startswith("0.000 (−0.4") and written[1].endswith("could be luck")
    assert written[2] == "none, bit for bit"
    assert findings.describe_outcome(ends["bn-0.01"]) == "2.600 (2.500 to 2.700)"


# ---- from curves to outcomes


def curves(config: RunConfig, bits: ndarray, losses: ndarray | None = None, until: int | None = None) -> Curves:
    """As a run that ends at these bits a character might have them: falling evenly from blind guessing."""
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


def test_an_outcome_counts_the_seeds_that_came_to_know_less_than_nothing() -> None:
    one = trial(CLIP, "descent-none-1")
    losses = np.full((one.config.steps, 3), 3.0) * math.log(2)
    losses[:10] = 6.5 * math.log(2)  # everybody begins there
    losses[200, 1] = 20 * math.log(2)
    told = compute_outcome(one, curves(one.config, np.array([3.0, 5.0, 3.1]), losses), diverged=False)
    assert told is not None
    assert (told.recorded_divergences, told.diverged_seeds, told.longest_gradient) == (1, 1, 0.5)
    assert told.worst_batch == pytest.approx(20)
    np.testing.assert_allclose(told.bits, [3.0, 5.0, 3.1])


def test_a_run_under_way_has_no_outcome_and_a_diverged_one_has_no_numbers() -> None:
    one = trial(CLIP, "descent-none-1")
    half = curves(one.config, np.array([3.0, 3.0, 3.0]), until=200)
    assert compute_outcome(one, half, diverged=False) is None
    told = compute_outcome(one, half, diverged=True)
    assert told is not None and not told.is_finite and told.diverged_seeds == 3


# ---- the section


def kept(config: RunConfig, bits: ndarray, state: RunState = "finished") -> store.StoredRun:
    until = None if state == "finished" else 200
    record = Record(
        config,
        1_000,
        4.0,
        curves(config, bits, until=until),
        {until or config.steps: Snapshot({"w": np.zeros((3, 1), np.float32)}, None)},
        state,
        "" if state == "finished" else "The training diverged by step 200.",
    )
    return store.save_run(record, store.run_folder(config))


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """No run ships; what browsers send is nothing; jobs end with their test."""
    monkeypatch.setattr(store, "pretrained", dict)
    monkeypatch.setattr(type(st.context), "cookies", property(lambda _: {}))


@pytest.fixture
def ended_jobs() -> Any:
    yield
    service.reset()


def section(folder: Path, chosen: str) -> AppTest:
    """The section in an app of its own, which has a Compare page to lead to."""
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


@pytest.mark.usefixtures("shelf")
@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=list(EXPERIMENTS))
def test_kept_runs_are_drawn_compared_and_concluded_from(experiment: Experiment, tmp_path: Path) -> None:
    ends = {}
    for i, each in enumerate(experiment.trials):
        ends[each.name] = np.array([3.0, 3.1, 3.3]) + 0.01 * i
        kept(each.config, ends[each.name])
    at = section(tmp_path, experiment.name)
    text = page_text(at)
    assert experiment.question in text
    assert experiment_finding(experiment, found(experiment, {name: tuple(bits) for name, bits in ends.items()})) in [
        heading.value.replace("\\", "") for heading in at.subheader
    ]
    assert f"{len(experiment.trials)} trainings of three seeds, about" in text
    dots = [
        y
        for panel in plot_frame_figures(at, "experiment-ends")
        for trace in panel["plot"]["data"][1::2]
        for y in trace["y"]
    ]
    assert sorted(dots) == pytest.approx(sorted(np.concatenate(list(ends.values())).tolist()), abs=1e-4)
    lines = plot_frame_figures(at, "experiment-curves")
    values = sum(len(part.values) for part in experiment.panels)
    assert len(lines) == (1 if len(experiment.conditions) == 1 else values)
    assert sum(len(panel["tracks"]) for panel in lines) == len(experiment.trials)
    rows = table(at, "experiment-table")
    assert len(rows) == values
    first = experiment.conditions[0].label or "end"
    assert rows[0][first]["text"] == findings.describe_outcome(
        ended(experiment.trials[0], *ends[experiment.trials[0].name])
    )
    assert [button.label for button in at.button] == ["Run it again here"]


@pytest.mark.usefixtures("shelf")
def test_a_diverged_run_is_an_answer_too(tmp_path: Path) -> None:
    for each in CLIP.trials:
        kept(each.config, np.full(3, 3.0), "diverged" if each.name == "descent-none-1" else "finished")
    at = section(tmp_path, "clipping")
    (row,) = [row for row in table(at, "experiment-table") if row["value"]["text"].endswith("momentum, 1")]
    assert row["none"]["text"] == "no numbers any more"
    assert "at 1 with gradient descent (all three seeds)" in page_text(at).replace("\\", "")
    notes = [note["text"] for note in plot_frame_figures(at, "experiment-ends")[0]["plot"]["layout"]["annotations"]]
    assert "no numbers" in notes


@pytest.mark.usefixtures("shelf")
def test_before_anything_is_trained_the_section_stands_and_offers_to_train(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[RunConfig, str]] = []

    def submit(config: RunConfig, visitor: str) -> Any:
        asked.append((config, visitor))
        return type("Job", (), {"key": key(config)})

    monkeypatch.setattr(service, "submit", submit)
    at = section(tmp_path, "nonsense")
    assert "Nobody has asked this here yet\\." in page_text(at)
    assert at.pills(key="text.experiment").value == "window"
    assert_no_errors(next(button for button in at.button if button.label == "Run it here").click().run())
    assert asked == [(each.config, "ada") for each in WINDOW.trials]


@pytest.mark.usefixtures("shelf")
def test_another_experiment_is_told_to_the_page(tmp_path: Path) -> None:
    at = section(tmp_path, "window")
    assert_no_errors(at.pills(key="text.experiment").set_value("clipping").run())
    assert at.session_state["chosen"] == "clipping"
    assert CLIP.question in page_text(assert_no_errors(at.run()))


TINY = Experiment(
    "tiny",
    "Tiny",
    "Does it work?",
    "It does.",
    "A paper",
    "https://example.org",
    "Nothing much.",
    "x",
    "rnn",
    {
        "corpus": "brackets",
        "size": 3_000,
        "context": 8,
        "width": 4,
        "hidden": 9,
        "iterations": 12,
        "batch_size": 4,
        "replicas": 2,
        "evaluate_every": 4,
        "evaluation_size": 100,
    },
    "learning_rate",
    "learning rate",
    (ExperimentPanel("", "", "", {}, (0.01, 0.1)),),
    (Condition("none", "without", {"clip": 0.0}), Condition("clip", "with", {"clip": 1.0})),
    claims_divergence=True,
)


@pytest.mark.usefixtures("shelf", "ended_jobs")
def test_an_experiment_is_run_here_and_followed_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiments, "EXPERIMENTS", {"tiny": TINY})
    at = section(tmp_path, "tiny")
    assert_no_errors(next(button for button in at.button if button.label == "Run it here").click().run())
    until = time.monotonic() + 60
    while not all((job := service.find(key(each.config))) and job.view().done for each in TINY.trials):
        assert time.monotonic() < until, "the trainings did not end within a minute"
        time.sleep(0.02)
    at = assert_no_errors(at.run())
    assert warnings_of(at) == []
    assert [row["value"]["text"] for row in table(at, "experiment-table")] == ["0.01", "0.1"]
    (live,) = [data["live"] for data in component_data(at, "plot_frame") if data["file"] == "experiment-curves"]
    assert live is None
    run = store.find_by_config(TINY.trials[0].config)
    assert run is not None
    row = table(at, "experiment-table")[0]
    assert row["none"]["text"].startswith(f"{run.curves.last('bits_per_char').mean():.3f}")


@pytest.mark.usefixtures("shelf")
def test_while_something_trains_the_frame_is_as_high_as_the_beginning_and_asks_again() -> None:
    lanes = {}
    for each in NORM.trials:
        run = kept(each.config, np.array([3.0, 3.1, 3.2]))
        lanes[each.name] = run_view.RunView(each.config, run, None)
    over = experiment_charts.curve_panels(NORM, lanes, "bits")
    first = NORM.trials[0].name
    from explorer.jobs.job import JobView

    half = curves(NORM.trials[0].config, np.array([3.0, 3.1, 3.2]), until=200)
    lanes[first] = replace(lanes[first], job=JobView(NORM.trials[0].config, "ada", "running", 200, curves=half))
    cached = experiment_charts._curve_panel.cache_info
    live = experiment_charts.curve_panels(NORM, lanes, "bits")
    before = cached().misses
    assert experiment_charts.curve_panels(NORM, lanes, "bits") == live
    assert cached().misses == before, "what is under way is drawn once for all who follow it"
    tops = [panels[0].figure.layout.yaxis.range[1] for panels in (over, live)]
    assert tops[0] < 4 < UNIFORM_BITS < tops[1]
    assert (
        experiments.load_outcomes(NORM, lanes).keys() == lanes.keys()
    )  # the kept run speaks until the new one is over


def test_a_default_recipe_is_no_experiment() -> None:
    """Experiments have keys of their own: a visitor's usual run is never taken for one of theirs."""
    usual = {
        key(with_settings(default_config("text", model), {"replicas": 3}))
        for model in ("feedforward", "rnn", "transformer")
    }
    assert usual.isdisjoint(key(each.config) for e in EXPERIMENTS.values() for each in e.trials)
