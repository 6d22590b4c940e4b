"""The controller: what it decides follows from the curves alone, whatever order the runs end in."""

from __future__ import annotations

import dataclasses
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy import ndarray

from explorer.sweeps.controller import RunStatus, TrialStatus, best_trials, next_actions, survivors, values_at
from explorer.sweeps.space import Sweep, make_sweep, trials
from explorer.tasks.text.bits_per_byte import held_out_text
from explorer.tasks.text.config import TextConfig
from explorer.training.config import RunConfig, default_config, key, setting_value
from tests.sweeps.simulated import SimulatedRuns, curves_up_to

RATES = [1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2]
BASE = default_config("negation", "rnn")


def sweep_of(rates: list[float] = RATES, **options: object) -> Sweep:
    return make_sweep(BASE, {"learning_rate": rates}, **options)  # type: ignore[arg-type]


def noisy(config: RunConfig, step: int) -> ndarray:
    """Return losses that fall with the steps and depend on the trial, with noise from the run and the step."""
    rate = float(setting_value(config, "learning_rate"))
    noise = np.random.default_rng([step, config.seed, int(1e6 * rate)]).normal(size=config.replicas)
    return 1 / (1 + step * rate) + 0.1 * noise


def in_turns(wanted: list[str]) -> tuple[str, int]:
    return wanted[0], 10**9


def results(runs: SimulatedRuns) -> list[tuple[object, ...]]:
    plan = runs.plan()
    return [
        (status.trial.number, status.state, status.step, status.values.tolist())
        for status in (*plan.trials, *plan.finalists)
    ]


@settings(max_examples=12)
@given(st.integers(0, 2**30))
def test_the_order_in_which_runs_progress_changes_nothing(seed: int) -> None:
    random = Random(seed)
    sweep = sweep_of()
    undisturbed = SimulatedRuns(sweep, noisy)
    undisturbed.carry_out(in_turns)

    def choose(wanted: list[str]) -> tuple[str, int]:
        return random.choice(wanted), random.choice([10, 60, 150, 10**9])

    runs = SimulatedRuns(sweep, noisy)
    runs.carry_out(choose)
    assert results(runs) == results(undisturbed)
    assert runs.steps_taken == undisturbed.steps_taken


@settings(max_examples=12)
@given(st.permutations(range(len(RATES))), st.integers(0, 2**20))
def test_where_curves_do_not_cross_halving_finds_the_best(places: list[int], seed: int) -> None:
    """With equal noise in every trial, the trial that is best at each rung is the best at the end."""

    def rank_losses(config: RunConfig, step: int) -> ndarray:
        place = places[RATES.index(setting_value(config, "learning_rate"))]
        noise = np.random.default_rng([seed, step]).normal(size=config.replicas)  # the same for all trials
        return place / len(RATES) + noise

    with_halving = SimulatedRuns(sweep_of(), rank_losses)
    without = SimulatedRuns(sweep_of(halving=False), rank_losses)
    best = [trial.settings for trial in trials(with_halving.sweep) if places[trial.number - 1] < 2]
    for runs in (with_halving, without):
        plan = runs.carry_out(in_turns)
        assert sorted(status.trial.settings for status in plan.finalists) == sorted(best)
        finished = [status for status in plan.trials if status.state == "finished"]
        assert min(finished, key=lambda status: status.mean).trial.settings == best[places.index(0) > places.index(1)]
    assert with_halving.steps_taken < without.steps_taken


def test_each_rung_keeps_the_best_third() -> None:
    sweep = sweep_of()
    assert [survivors(sweep, rung) for rung in range(len(sweep.rungs))] == [3]
    runs = SimulatedRuns(sweep, noisy)
    first = runs.plan()
    assert {submission.until for submission in first.submit} == {sweep.rungs[0]} and len(first.submit) == 9
    plan = runs.carry_out(in_turns)
    given_up = [status for status in plan.trials if status.state == "given up"]
    assert len(given_up) == 6 and {status.step for status in given_up} == {sweep.rungs[0]}
    kept = [status for status in plan.trials if status.state == "finished"]
    at_rung = {status.trial.number: noisy(status.trial.config, sweep.rungs[0]).mean() for status in plan.trials}
    assert max(at_rung[status.trial.number] for status in kept) < min(at_rung[s.trial.number] for s in given_up)


def test_a_rung_waits_for_its_last_trial() -> None:
    sweep = sweep_of()
    runs = SimulatedRuns(sweep, noisy)
    asked: list[str] = []
    next_actions(sweep, lambda config: asked.append(key(config)) or RunStatus())  # type: ignore[func-returns-value]
    assert len(asked) == len(set(asked)) == 9, "the controller asks once for each run"
    runs.submit(runs.plan())
    for name in sorted(runs.wanted)[:-1]:
        runs.train(name, 10**9)
    plan = runs.plan()
    assert not plan.submit and not any(status.state == "given up" for status in plan.trials)


@pytest.mark.parametrize("finalists", [0, 2, 3])
def test_the_finalists_are_trained_with_seeds_that_the_search_did_not_use(finalists: int) -> None:
    sweep = sweep_of(seeds=3, finalists=finalists)
    plan = SimulatedRuns(sweep, noisy).carry_out(in_turns)
    assert len(plan.finalists) == finalists
    assert len({status.trial.config.seeds for status in plan.finalists}) <= 1
    for status in plan.finalists:
        assert len(status.values) == 8
        assert not set(status.trial.config.seeds) & set(sweep.base.seeds)


def test_a_diverged_or_failed_trial_is_never_kept() -> None:
    sweep = sweep_of()
    plan = SimulatedRuns(sweep, noisy).carry_out(in_turns)
    best = min((status for status in plan.trials if status.state == "finished"), key=lambda status: status.mean)
    diverging = SimulatedRuns(sweep, noisy, {best.trial.key: sweep.rungs[0] + 5})
    plan = diverging.carry_out(in_turns)
    status = plan.trials[best.trial.number - 1]
    assert status.state == "diverged" and np.isinf(status.mean)
    assert best.trial.number not in [status.trial.number for status in plan.finalists]
    failing = SimulatedRuns(sweep, noisy)
    failing.status[trials(sweep)[2].key] = RunStatus("failed", problem="no memory")
    plan = failing.carry_out(in_turns)  # it is not submitted again
    assert plan.trials[2].state == "failed" and plan.finished


def test_without_halving_every_trial_reaches_its_end_and_stored_runs_are_not_trained_again() -> None:
    sweep = sweep_of(halving=False)
    runs = SimulatedRuns(sweep, noisy)
    trial = trials(sweep)[0]
    curves = curves_up_to(sweep, trial.config, BASE.steps, noisy)
    runs.status[trial.key] = RunStatus("finished", BASE.steps, curves=curves)
    assert {key(submission.config) for submission in runs.plan().submit} == {each.key for each in trials(sweep)[1:]}
    plan = runs.carry_out(in_turns)
    assert {(status.state, status.step) for status in plan.trials} == {("finished", BASE.steps)}


def test_the_highest_accuracy_is_the_best() -> None:
    sweep = dataclasses.replace(sweep_of(), metric="test_accuracy")
    statuses = [
        TrialStatus(trial, "finished", 1, np.array([trial.number / 10]), RunStatus()) for trial in trials(sweep)
    ]
    assert [trial.number for trial in best_trials(sweep, statuses, 2)] == [9, 8]


def test_a_loss_on_text_is_that_of_a_part_before_the_end() -> None:
    curves = curves_up_to(sweep_of(), BASE, BASE.steps, noisy)
    values = curves.metrics["test_loss"]
    missing = np.full_like(values, np.nan)
    missing[-1] = 7
    text = dataclasses.replace(curves, metrics={"val_loss": missing, "val_loss_part": values})
    step, end = (int(at) for at in curves.evaluated[[3, -1]])
    assert np.array_equal(values_at(text, BASE, "val_loss", step), values[3])  # type: ignore[arg-type]
    assert np.array_equal(values_at(text, BASE, "val_loss", end), missing[-1])  # type: ignore[arg-type]
    assert values_at(text, BASE, "val_loss", step + 1) is None
    base = dataclasses.replace(default_config("text", "gru"), task=TextConfig(corpus="toy"))
    bits = held_out_text(base.task_as(TextConfig)).bits_per_byte(values[3].astype(float))
    assert np.allclose(values_at(text, base, "bits_per_byte", step), bits)  # type: ignore[arg-type]
