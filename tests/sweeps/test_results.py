"""The table of a sweep, its winner and its picture."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from numpy import ndarray

from explorer.charts import notebook_figure
from explorer.sweeps.controller import Plan, RunStatus
from explorer.sweeps.findings import format_measured, progress_sentence, result_details, result_finding, rule_sentences
from explorer.sweeps.picture import describe_figure, picked_trial, sweep_chart
from explorer.sweeps.results import best_trial, compare_finalists, ranked, results_table, winner
from explorer.sweeps.space import Sweep, make_sweep, trials
from explorer.training.config import RunConfig, default_config, setting_value
from tests.charts.figures import figure_of
from tests.sweeps.simulated import SimulatedRuns

BASE = default_config("negation", "rnn")
RATES = [1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2]


def final_plan(sweep: Sweep, gap: float, noise: float = 1.0, diverging: Mapping[str, int] | None = None) -> Plan:
    """Return the end of a sweep whose trials are each `gap` better than the next higher learning rate."""

    def values(config: RunConfig, step: int) -> ndarray:
        place = RATES.index(setting_value(config, "learning_rate"))
        drawn = np.random.default_rng([config.seed, place, step]).normal(size=config.replicas)
        return 10 + gap * place + noise * drawn

    return SimulatedRuns(sweep, values, diverging).carry_out(lambda wanted: (wanted[0], 10**9))


def test_a_clear_difference_has_a_winner() -> None:
    sweep = make_sweep(BASE, {"learning_rate": RATES})
    plan = final_plan(sweep, gap=5)
    found = winner(sweep, plan)
    assert found and found.settings == (("learning_rate", 1e-4),)
    assert found.config.seeds == sweep.base.seeds
    assert result_finding(sweep, plan) == "Best: learning rate 0.0001."
    details = result_details(sweep, plan)
    assert details.startswith("With 8 new seeds the mean test loss is ") and details.endswith(": significant).")


def test_a_difference_within_the_noise_is_not_told_and_without_finalists_nothing_is_tested() -> None:
    sweep = make_sweep(BASE, {"learning_rate": RATES})
    plan = final_plan(sweep, gap=0.01)
    assert winner(sweep, plan) is None
    assert result_finding(sweep, plan).startswith("Cannot tell which is best: learning rate ")
    assert "within seed noise, " in result_details(sweep, plan)
    assert best_trial(sweep, plan) is not None
    sweep = make_sweep(BASE, {"learning_rate": RATES}, finalists=0)
    plan = final_plan(sweep, gap=5)
    assert compare_finalists(sweep, plan) is None and winner(sweep, plan) is None
    assert "is not tested" in result_finding(sweep, plan)
    assert best_trial(sweep, plan) == plan.trials[0].trial


def test_the_table_has_the_best_trial_first_and_those_given_up_last() -> None:
    sweep = make_sweep(BASE, {"learning_rate": RATES})
    plan = final_plan(sweep, gap=5)
    table = results_table(sweep, plan)
    assert table.learning_rate.tolist()[:2] == RATES[:2]
    assert table.state.tolist() == ["finished"] * 2 + ["given up"] * 4
    assert table.columns.tolist() == [
        *("trial", "learning_rate", "state", "step", "test_loss", "lowest", "highest", "sd", "parameters", "seconds"),
        *("confirmed", "run", "confirmation"),
    ]
    row = table.iloc[0]
    values = plan.trials[0].values
    assert (row.test_loss, row.lowest, row.highest) == (values.mean(), values.min(), values.max())
    assert row.sd == values.std(ddof=1) and row.confirmed == plan.finalists[0].mean


def test_a_diverged_trial_is_last_in_the_table() -> None:
    sweep = make_sweep(BASE, {"learning_rate": RATES})
    key = trials(sweep)[0].key
    table = results_table(sweep, final_plan(sweep, 5, diverging={key: 5}))
    assert table.iloc[-1][["learning_rate", "state"]].tolist() == [RATES[0], "diverged"]
    assert math.isinf(table.test_loss.iloc[-1]) and math.isnan(table.sd.iloc[-1])
    plan = final_plan(sweep, 5, diverging={trial.key: 5 for trial in trials(sweep)})
    assert plan.finished and best_trial(sweep, plan) is None
    assert result_finding(sweep, plan).endswith("all of them diverged or failed. Try smaller learning rates.")
    failed = [replace(each, state="failed", run=RunStatus("failed", problem="No memory.")) for each in plan.trials]
    assert result_finding(sweep, replace(plan, trials=tuple(failed))) == "No trial has a result: No memory."


def test_before_the_end_only_trials_at_the_same_step_are_compared() -> None:
    sweep = make_sweep(BASE, {"learning_rate": RATES})
    runs_by_rate = [trial.key for trial in trials(sweep)]
    (rung,) = sweep.rungs

    def values(config: RunConfig, step: int) -> ndarray:
        return np.full(config.replicas, 10.0 + RATES.index(setting_value(config, "learning_rate")))

    runs = SimulatedRuns(sweep, values)
    assert progress_sentence(sweep, runs.plan()) == "6 trials: 6 waiting."
    assert "only the best one in 3 goes on" in rule_sentences(sweep)
    runs.submit(runs.plan())
    runs.train(runs_by_rate[0], rung - 1)  # good, but not yet at the rung
    runs.train(runs_by_rate[4], rung)
    assert result_finding(sweep, runs.plan()) == "The search is not finished."
    runs.train(runs_by_rate[2], rung)
    assert result_finding(sweep, runs.plan()) == (
        f"The search is not finished. Best of 2 trials at step {rung}: learning rate 0.001."
    )
    assert progress_sentence(sweep, runs.plan()) == f"6 trials: 3 waiting, 1 running, 2 at step {rung}."


def test_values_that_hardly_differ_stay_apart() -> None:
    sweep = make_sweep(BASE, {"learning_rate": [1e-3, 1.0000001e-3]})
    plan = SimulatedRuns(sweep, lambda config, step: np.full(config.replicas, float(step))).carry_out(
        lambda wanted: (wanted[0], 10**9)
    )
    found = compare_finalists(sweep, plan)
    assert found and {found.best, *found.others} == {"learning rate 0.001", "learning rate 0.0010000001"}


def test_the_rule_names_the_steps_of_each_model_and_the_test() -> None:
    spaces = {name: make_sweep(default_config("negation", name), {"learning_rate": RATES}) for name in ("rnn", "gru")}
    same, other = spaces["gru"], make_sweep(default_config("negation", "transformer"), {"learning_rate": RATES})
    assert " steps only" in rule_sentences(spaces["rnn"], same)
    assert "of 325 steps (RNN) or 118 of 390 steps (Transformer) only" in rule_sentences(spaces["rnn"], other)
    assert "t test of pairs of seeds, 5 %)" in rule_sentences(same)
    three = make_sweep(default_config("text", "rnn"), {"training_share": [0.5, 0.75, 1.0]}, finalists=3)
    assert "Welch's t test, 5 %, corrected for the number of comparisons" in rule_sentences(three)


def test_measured_values_have_two_or_three_digits() -> None:
    found = [format_measured(value) for value in (0.5, -1.2345, 0.00012345, 0.0)]
    assert found == ["0.5", "−1.23", "1.2\u00a0×\u00a010⁻⁴", "0"]


@pytest.mark.parametrize(
    ("space", "options", "kind", "words"),
    [
        ({"learning_rate": RATES}, {}, "scatter", "Click a point"),
        ({"learning_rate": RATES, "hidden": [8, 16]}, {}, "heatmap", "The stronger the colour"),
        ({"learning_rate": RATES, "hidden": [8, 16], "schedule": ["constant", "cosine"]}, {}, "scatter", "axis “rank”"),
        ({"learning_rate": RATES, "hidden": "4:40"}, {"search": "random", "number": 12}, "scatter", "axis “rank”"),
    ],
)
def test_the_picture_has_every_trial_and_is_explained(
    space: dict[str, object], options: dict[str, object], kind: str, words: str
) -> None:
    sweep = make_sweep(BASE, space, **options)  # type: ignore[arg-type]
    assert words in describe_figure(sweep)
    for plan in (
        final_plan(sweep, 1),
        SimulatedRuns(sweep, lambda config, step: np.ones(config.replicas)).plan(),
    ):
        chart = sweep_chart(sweep, plan)
        assert chart.text == f"RNN: {result_finding(sweep, plan)}"
        figure = figure_of(chart)
        assert "var(" not in notebook_figure(chart).to_json()
        assert all(trace.type == kind for trace in figure.data)
        if kind == "heatmap":
            assert sum(bool(text) for row in figure.data[0].text for text in row) in (0, len(plan.trials))
        elif len(space) > 1:
            assert len(figure.data) == len(plan.trials)


def test_labels_of_parallel_coordinates_leave_gaps() -> None:
    sweep = make_sweep(BASE, {"learning_rate": "1e-4:0.1:log", "hidden": "4:40"}, search="random", number=40)
    plan = SimulatedRuns(sweep, lambda config, step: np.ones(config.replicas)).plan()
    figure = figure_of(sweep_chart(sweep, plan))
    for axis in range(2):
        heights = sorted(label.y for label in figure.layout.annotations if label.x == axis)
        assert (heights[0], heights[-1]) == (0.0, 1.0) and np.diff(heights).min() >= 0.1
        assert len(heights) > 4


def test_a_point_of_the_picture_is_a_trial() -> None:
    line = make_sweep(BASE, {"learning_rate": RATES})
    grid = make_sweep(BASE, {"learning_rate": RATES, "hidden": [8, 16]})
    cube = make_sweep(BASE, {"learning_rate": RATES, "hidden": [8, 16], "schedule": ["constant", "cosine"]})
    plan = final_plan(line, 1)
    assert picked_trial(line, plan, 2, 10.0).trial.settings == (("learning_rate", 1e-3),)  # type: ignore[union-attr]
    plan = final_plan(grid, 1)
    assert picked_trial(grid, plan, 5, 1).trial.label == "learning rate 0.03, hidden 16"  # type: ignore[union-attr]
    assert picked_trial(grid, plan, 50, 1) is None
    plan = final_plan(cube, 1)
    order = ranked(cube, plan)
    assert picked_trial(cube, plan, 3, 1.0) == order[0] and picked_trial(cube, plan, 3, 0.0) == order[-1]
    assert picked_trial(cube, plan, 1, 1.0) is None
