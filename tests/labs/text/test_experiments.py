"""Findings of the experiments follow their numbers, also against common claims; then the section itself."""

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
from explorer.inspection.verdicts import MINIMUM_SEEDS
from explorer.jobs.scheduler import service
from explorer.labs.text import experiment_charts, experiments
from explorer.labs.text import experiment_findings as findings
from explorer.labs.text.experiment_findings import (
    Outcome,
    compute_outcome,
    experiment_finding,
    experiment_headline,
)
from explorer.run_store import store
from explorer.training.config import RunConfig, default_config, key, with_settings
from explorer.training.objectives.text import METRICS
from explorer.training.record import Curves, Record, RunState, Snapshot
from explorer.ui.training import run_view
from tests.pages.screen import assert_no_errors, component_data, page_text, plot_frame_figures, table, warnings_of
from tests.words import assert_mentions, assert_states

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


def test_the_window_finding_compares_consecutive_sizes_and_judges_the_claim() -> None:
    ends = {
        "1": (3.60, 3.61, 3.62),
        "2": (3.20, 3.21, 3.22),
        "4": (3.10, 3.11, 3.12),
        "8": (3.09, 3.12, 3.09),
        "16": (3.29, 3.32, 3.29),
    }
    assert_states(
        experiment_finding(WINDOW, make_outcomes(WINDOW, ends)),
        "2 characters instead of 1 saves 0.400 bits per character … 4 instead of 2 saves 0.100 … "
        "8 instead of 4 … better with two of three seeds … 16 instead of 8 costs 0.200 … Three seeds … too few",
    )
    assert_states(experiment_headline(WINDOW, make_outcomes(WINDOW, ends)), "better with every seed at two of four")
    helps = make_outcomes(WINDOW, {**ends, "8": (3.00, 3.01, 3.02)})
    assert "8 instead of 4 saves 0.100" in experiment_finding(WINDOW, helps)
    assert "better with every seed at three of four steps" in experiment_headline(WINDOW, helps)
    assert "4 instead of 2 changes nothing" in experiment_finding(
        WINDOW, make_outcomes(WINDOW, {**ends, "4": ends["2"]})
    )


def test_the_finding_names_the_values_where_the_condition_lowers_or_raises_the_loss_in_every_seed() -> None:
    ends = {
        "none-0.01": (3.0, 3.1, 3.2),
        "bn-0.01": (3.5, 3.6, 3.7),
        "none-0.03": (3.0, 3.1, 3.2),
        "bn-0.03": (3.1, 3.1, 3.1),
        "none-0.3": (4.0, 4.2, 4.4),
        "bn-0.3": (3.5, 3.7, 3.9),
    }
    assert_states(
        experiment_finding(NORM, make_outcomes(NORM, ends)),
        "BatchNorm every seed ends lower at 0.3 … 0.500 bits … higher at 0.01 … 0.500 bits … at 0.03 … disagree … "
        "at 0.1 nothing … at most 0.40 bits … without BatchNorm, 0.40 with … Three seeds … too few",
    )


def test_three_seeds_that_disagree_everywhere_do_not_judge_the_claim() -> None:
    every = {t.name: (3.2, 3.1, 3.0) for t in WARM.trials if t.condition == WARM.conditions[1]}
    sentence = experiment_finding(WARM, make_outcomes(WARM, every))
    assert_mentions(sentence, "With warm-up … seeds disagree at each of six learning rates")
    assert sentence.endswith("Three seeds are too few to tell whether the claim holds.")


def test_disagreement_is_mentioned_only_where_seeds_disagree() -> None:
    sentence = experiment_finding(WARM, make_outcomes(WARM, {"post-warm-0.1": (3.2, 3.1, 3.0)}))
    assert_mentions(
        sentence, "lower, or all higher, at no learning rate … at 0.1 with the norm after … disagree … five nothing"
    )
    gone = (math.nan, math.nan, math.nan)
    sentence = experiment_finding(
        NORM, make_outcomes(NORM, {"none-0.3": gone, "bn-0.3": gone, "bn-0.01": (2.0, 2.1, 2.2)})
    )
    assert_mentions(
        sentence, "lower at 0.01 … 1.000 bits per character … at 0.03 and 0.1 nothing … at 0.3 … not finite"
    )
    assert "disagree" not in sentence


def test_a_condition_that_helps_everywhere_is_reported_without_a_verdict() -> None:
    every = {t.name: (2.0, 2.1, 2.2) for t in WARM.trials if t.condition == WARM.conditions[1]}
    sentence = experiment_finding(WARM, make_outcomes(WARM, every))
    assert_mentions(sentence, "lower at 0.01 with the norm after … 1.000 bits per character")
    assert sentence.endswith("Three seeds are too few to tell whether the claim holds.")


def broken(name: str, worst: float = 30.0, broke_out: int = 3) -> dict[str, Outcome | tuple[float, ...]]:
    return {name: make_outcome(trial(CLIP, name), 7.0, 50.0, 9.0, broke_out=broke_out, worst=worst)}


def test_divergence_is_reported_with_its_settings_and_seeds() -> None:
    sentence = experiment_finding(
        CLIP, make_outcomes(CLIP, {**broken("descent-none-1"), **broken("adam-clip-0.3", broke_out=2)})
    )
    assert_states(
        sentence,
        "Without clipping … 30 bits … guessing … 6 … at 1 with gradient descent (all three seeds) … "
        "With clipping … 0.3 with Adam (two of three seeds)",
    )
    one = experiment_finding(CLIP, make_outcomes(CLIP, broken("descent-none-1", broke_out=1)))
    assert "(one of three seeds)" in one
    assert "With clipping that happens at none of them." in experiment_finding(
        CLIP, make_outcomes(CLIP, broken("descent-none-1"))
    )


def test_divergence_only_with_clipping_or_nowhere_is_reported() -> None:
    sentence = experiment_finding(CLIP, make_outcomes(CLIP, {}))
    assert_mentions(sentence, "Without clipping nothing diverges … no batch … more … guessing")
    sentence = experiment_finding(CLIP, make_outcomes(CLIP, broken("descent-clip-1")))
    assert_mentions(
        sentence, "Without clipping nothing diverges … with clipping … 1 with gradient descent (all three seeds)"
    )


def test_a_run_with_nan_counts_as_diverged_and_enters_no_mean() -> None:
    gone = make_outcome(trial(CLIP, "descent-none-1"), math.nan, math.nan, math.nan, worst=8.0)
    assert gone.worse_than_blind and not gone.is_finite and gone.diverged_seeds == 3
    assert findings.describe_outcome(gone) == "not finite"
    sentence = experiment_finding(CLIP, make_outcomes(CLIP, {"descent-none-1": gone}))
    assert "at 1 with gradient descent (all three seeds)" in sentence and "nan" not in sentence
    lost = make_outcome(trial(NORM, "none-0.3"), math.nan, math.nan, math.nan)
    sentence = experiment_finding(NORM, make_outcomes(NORM, {"none-0.3": lost}))
    assert_mentions(sentence, "lower at 0.3 … other ends worse than … guessing")
    assert "nan" not in sentence
    lost = make_outcome(trial(NORM, "bn-0.3"), math.nan, math.nan, math.nan)
    assert "higher at 0.3 (it ends worse than uniform guessing)" in experiment_finding(
        NORM, make_outcomes(NORM, {"bn-0.3": lost})
    )


def test_a_diverged_condition_is_judged_without_an_interval() -> None:
    """If one condition ends at 184, 55 and 9 bits and the other at 3, the spread of the first does not matter."""
    ends = make_outcomes(NORM, {"none-0.3": (183.8, 54.5, 9.4), "bn-0.3": (3.1, 3.2, 3.1)})
    (compared,) = [each for each in findings.compare_conditions(NORM, NORM.panels[0], ends) if each.value == 0.3]
    assert compared.difference is not None and compared.difference.low < 0 < compared.difference.high
    assert compared.direction == "lower"
    assert findings.describe_difference(compared) == "the first is worse than uniform guessing"


def test_no_experiment_has_enough_seeds_for_a_verdict() -> None:
    """The sentences have none. If an experiment gets as many seeds, they need `judge`."""
    assert all(each.config.replicas < MINIMUM_SEEDS for one in EXPERIMENTS.values() for each in one.trials)


def test_nothing_is_concluded_before_all_runs_are_finished() -> None:
    assert experiment_finding(WINDOW, {}) == "No run of this experiment has ended yet."
    assert not experiment_headline(WINDOW, {})
    some = make_outcomes(WINDOW, {})
    some.pop("16")
    assert_states(experiment_finding(WINDOW, some), "4 of 5 runs")


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.254, "0.25"),
        (1.34, "1.3"),
        (57.2, "57"),
        (1_234.0, "1,234"),
        (1.3e8, "1.3\u00a0×\u00a010⁸"),
        (math.inf, "infinite"),
    ],
)
def test_lengths_are_formatted_with_few_digits(value: float, written: str) -> None:
    assert findings.format_short(value) == written


def test_differences_are_formatted_with_their_interval() -> None:
    ends = make_outcomes(NORM, {"none-0.01": (3.0, 3.1, 3.2), "bn-0.01": (2.5, 2.6, 2.7), "bn-0.03": (3.2, 3.1, 3.0)})
    written = [findings.describe_difference(each) for each in findings.compare_conditions(NORM, NORM.panels[0], ends)]
    assert written[0] == "−0.500 (−0.500 to −0.500)"
    assert written[1].startswith("0.000 (−0.4") and written[1].endswith("+0.497)")
    assert written[2] == "none: identical losses"
    assert findings.describe_outcome(ends["bn-0.01"]) == "2.600 (2.500 to 2.700)"


# ---- from curves to outcomes


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
    sentence = compute_outcome(one, curves(one.config, np.array([3.0, 5.0, 3.1]), losses), diverged=False)
    assert sentence is not None
    assert (sentence.recorded_divergences, sentence.diverged_seeds, sentence.longest_gradient) == (1, 1, 0.5)
    assert sentence.worst_batch == pytest.approx(20)
    np.testing.assert_allclose(sentence.bits, [3.0, 5.0, 3.1])


def test_an_unfinished_run_has_no_outcome_and_a_diverged_one_has_no_numbers() -> None:
    one = trial(CLIP, "descent-none-1")
    half = curves(one.config, np.array([3.0, 3.0, 3.0]), until=200)
    assert compute_outcome(one, half, diverged=False) is None
    sentence = compute_outcome(one, half, diverged=True)
    assert sentence is not None and not sentence.is_finite and sentence.diverged_seeds == 3


# ---- the section


def store_run(config: RunConfig, bits: ndarray, state: RunState = "finished") -> store.StoredRun:
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
def empty_store(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Use a store without included runs, and browsers without cookies."""
    monkeypatch.setattr(store, "pretrained_folders", dict)
    monkeypatch.setattr(type(st.context), "cookies", property(lambda _: {}))


@pytest.fixture
def ended_jobs() -> Any:
    yield
    service.reset()


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
@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=list(EXPERIMENTS))
def test_stored_runs_are_drawn_and_compared(experiment: Experiment, tmp_path: Path) -> None:
    ends = {}
    for i, each in enumerate(experiment.trials):
        ends[each.name] = np.array([3.0, 3.1, 3.3]) + 0.01 * i
        store_run(each.config, ends[each.name])
    at = section(tmp_path, experiment.name)
    text = page_text(at)
    assert experiment.question in text
    outcomes = make_outcomes(experiment, {name: tuple(bits) for name, bits in ends.items()})
    assert experiment_finding(experiment, outcomes) in text.replace("\\", "")
    headline = experiment_headline(experiment, outcomes)
    assert headline in [heading.value for heading in at.subheader] and len(headline.split()) <= 20
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
        make_outcome(experiment.trials[0], *ends[experiment.trials[0].name])
    )
    assert [button.label for button in at.button] == ["Train again"]


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
    assert_no_errors(next(button for button in at.button if button.label == "Train").click().run())
    assert submitted == [(each.config, "ada") for each in WINDOW.trials]


@pytest.mark.usefixtures("empty_store")
def test_selecting_another_experiment_is_reported_to_the_page(tmp_path: Path) -> None:
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


@pytest.mark.usefixtures("empty_store", "ended_jobs")
def test_an_experiment_can_be_trained_and_followed_until_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(experiments, "EXPERIMENTS", {"tiny": TINY})
    at = section(tmp_path, "tiny")
    assert_no_errors(next(button for button in at.button if button.label == "Train").click().run())
    until = time.monotonic() + 60
    while not all((job := service.find(key(each.config))) and job.view().done for each in TINY.trials):
        assert time.monotonic() < until, "the trainings did not end within a minute"
        time.sleep(0.02)
    at = assert_no_errors(at.run())
    assert warnings_of(at) == []
    assert [row["value"]["text"] for row in table(at, "experiment-table")] == ["0.01", "0.1"]
    (playback,) = [data["playback"] for data in component_data(at, "plot_frame") if data["file"] == "experiment-curves"]
    assert not playback["live"]
    run = store.find_by_config(TINY.trials[0].config)
    assert run is not None
    row = table(at, "experiment-table")[0]
    assert row["none"]["text"].startswith(f"{run.curves.last('bits_per_char').mean():.3f}")


@pytest.mark.usefixtures("empty_store")
def test_during_training_the_axis_includes_the_initial_loss_and_figures_are_cached() -> None:
    views = {}
    for each in NORM.trials:
        run = store_run(each.config, np.array([3.0, 3.1, 3.2]))
        views[each.name] = run_view.RunView(each.config, run, None)
    over = experiment_charts.curve_panels(NORM, views, "bits")
    first = NORM.trials[0].name
    from explorer.jobs.job import JobView

    half = curves(NORM.trials[0].config, np.array([3.0, 3.1, 3.2]), until=200)
    views[first] = replace(views[first], job=JobView(NORM.trials[0].config, "ada", "running", 200, curves=half))
    cached = experiment_charts._curve_panel.cache_info
    live = experiment_charts.curve_panels(NORM, views, "bits")
    before = cached().misses
    assert experiment_charts.curve_panels(NORM, views, "bits") == live
    assert cached().misses == before, "figures of a training are cached for all visitors"
    tops = [panels[0].figure.layout.yaxis.range[1] for panels in (over, live)]
    assert tops[0] < 4 < UNIFORM_BITS < tops[1]
    assert (
        experiments.load_outcomes(NORM, views).keys() == views.keys()
    )  # the stored run is used until the new one is finished


def test_default_configurations_are_not_runs_of_an_experiment() -> None:
    """Runs of experiments have their own keys, which no default configuration has."""
    usual = {
        key(with_settings(default_config("text", model), {"replicas": 3}))
        for model in ("feedforward", "rnn", "transformer")
    }
    assert usual.isdisjoint(key(each.config) for e in EXPERIMENTS.values() for each in e.trials)
