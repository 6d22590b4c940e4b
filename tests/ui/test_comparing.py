from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from explorer.inspection.comparing import Difference
from explorer.training import store
from explorer.training.config import branched, changed, default, key
from explorer.training.record import Curves
from explorer.training.store import Card, Metric, StoredRun
from explorer.ui import comparing
from explorer.ui.comparing import AXES, MOST, OF_TASK, Comparison, Entrant, differences, usual_target
from explorer.ui.comparison_results import (
    amount,
    arrivals,
    shown,
    start_finding,
    verdict,
    verdict_words,
    why_finding,
    winners_finding,
)
from explorer.ui.runs import Lane

STATE = Comparison()


def run(
    name: str, steps: int = 10, tokens: float = 100, seconds: float = 1, end: float = 1.0, **changes: object
) -> Entrant:
    """A run whose accuracy rises from 0.5 on a straight line; what a step costs is given."""
    config = changed(default("negation", "rnn"), {"replicas": 2, **changes})
    moments = np.arange(steps + 1.0)
    metrics = {
        "test_accuracy": np.array([[0.5, 0.5], [end, end]]),
        "test_loss": np.array([[1.0, 1.0], [1.5 - end, 1.5 - end]]),
        "train_loss": np.array([[1.0, 1.0], [1.5 - end, 1.5 - end]]),
    }
    losses = np.linspace(1, 1.5 - end, steps)[:, None].repeat(2, 1)
    curves = Curves(0, losses, moments * tokens, moments * seconds, np.array([0, steps]), metrics)
    card = Card(
        key=key(config), parameters=7, seconds=1, state="finished", step=steps,
        metrics={"a": Metric(mean=1, values=[])},
        created="2026-01-01T00:00:00+00:00", torch="2.0", name=name,
    )  # fmt: skip
    return Entrant(name, key(config), name, Lane(config, StoredRun(Path(name), config, card, curves), None))


A, B, C = run("A", 10, 100, 1), run("B", 20, 10, 1, seed=10), run("C", 30, 100, 0.1, seed=20)


def test_the_three_axes_may_have_three_winners() -> None:
    found = winners_finding(STATE, [A, B, C], 0.95)
    assert found == "First at 0.950: A by step (9 steps), B by tokens read (180 tokens) and C by seconds (2.7 s)."


def test_one_run_may_be_first_whatever_one_counts() -> None:
    fast = run("D", 8, 10, 0.1, seed=30)
    found = winners_finding(STATE, [A, fast], 0.95)
    assert found == "D is at 0.950 first, whatever one counts: after 7 steps, 72 tokens and 0.7 s."
    assert winners_finding(STATE, [fast], 0.95).startswith("D is at 0.950 after 7 steps,")


def test_where_nobody_arrives_nobody_wins() -> None:
    low = run("low", end=0.9)
    assert winners_finding(STATE, [low], 0.95) == "No run's mean is ever at 0.950. Drag the target to where they are."
    assert winners_finding(STATE, [], 0.95).startswith("No run's mean is ever")


def test_a_run_arrives_where_its_mean_crosses_the_target_and_its_seeds_are_counted() -> None:
    one = run("one")
    curves = one.curves
    assert curves is not None
    curves.metrics["test_accuracy"][1] = [1.0, 0.8]  # the mean ends at 0.9
    for target, at, seeds in ((0.7, 5.0, 2), (0.85, 8.75, 1), (0.95, None, 1)):
        (found,) = arrivals(STATE, [one], target, "step")
        assert (found.at, found.seeds) == (pytest.approx(at), seeds)


def test_losses_arrive_from_above() -> None:
    (found,) = arrivals(Comparison(y="test_loss"), [A], 0.75, "step")
    assert found.at == pytest.approx(5)


@pytest.mark.parametrize(
    ("value", "axis", "text"),
    [
        (1234.4, "step", "1,234 steps"),
        (999.0, "tokens", "999 tokens"),
        (1.2, "step", "1 step"),
        (0.0994, "seconds", "99 ms"),
        (2.71, "seconds", "2.7 s"),
        (None, "step", "never"),
        (float("nan"), "seconds", "never"),
    ],
)
def test_a_place_is_said_with_its_unit(value: float | None, axis: str, text: str) -> None:
    assert amount(value, axis) == text


def test_what_a_step_costs_explains_the_axes() -> None:
    assert why_finding([A, B, C]) == (
        "A step of A takes 1000.00 ms, one of C 100.00 ms: 10.0 times as long. "
        "Their steps read from 10 to 100 tokens a seed."
    )
    assert why_finding([A, C]).endswith("Every step reads about 100 tokens a seed, so steps and tokens agree.")
    assert why_finding([A]) == ""


def test_a_usual_target_is_one_that_most_runs_reach() -> None:
    ends = [run(str(end), end=end) for end in (0.9, 1.2, 1.3)]  # losses end at 0.6, 0.3, 0.2
    assert usual_target(STATE, ends) == 0.95
    losses = Comparison(y="test_loss")
    assert usual_target(losses, ends) == pytest.approx(0.36)
    assert usual_target(losses, []) == 0.1
    for measure in OF_TASK["negation"]:
        if not measure.endswith("accuracy"):
            assert winners_finding(Comparison(y=measure), ends, usual_target(Comparison(y=measure), ends))


def test_a_verdict_compares_seed_by_seed_where_seeds_and_data_are_the_same() -> None:
    same, other = run("same", end=0.75, learning_rate=0.01), run("other", end=0.75, seed=5)
    pairs, groups = verdict(A, same, STATE), verdict(A, other, STATE)
    assert pairs is not None and groups is not None
    assert (pairs.mean, pairs.paired, groups.mean, groups.paired) == (-0.25, True, -0.25, False)


def test_a_difference_is_said_with_its_interval_and_whether_it_is_noise() -> None:
    assert verdict_words(Difference(-0.1, -0.15, -0.05, 8, True), True) == "−0.100 (−0.150 to −0.050)"
    assert verdict_words(Difference(0.01, -0.02, 0.04, 8, True), True) == (
        "+0.010 (−0.020 to +0.040), within the noise of the seeds"
    )
    assert verdict_words(Difference(0.0, 0.0, 0.0, 8, True), True).startswith("0.000 (0.000 to 0.000), within")
    assert verdict_words(None, True) == "one seed tells nothing of luck"


@pytest.mark.parametrize(("value", "text"), [(0.5, "0.500"), (0.0123, "0.012"), (4.2e-5, "0.000042"), (0.0, "0.000")])
def test_a_loss_is_shown_with_the_digits_that_count(value: float, text: str) -> None:
    assert shown(value, rising=False) == text
    assert float(shown(1e-12, rising=False)) == 0 and not shown(1e-12, rising=False).endswith(".")


def test_only_settings_that_differ_are_told() -> None:
    other = run("E", seed=3, hidden=9)
    assert differences([A, other]) == {"hidden": ["24", "9"], "seed": ["0", "3"]}
    assert differences([A, A]) == {}
    gru = Entrant("5", "g", "g", Lane(changed(default("negation", "gru"), {"replicas": 2}), None, None))
    assert differences([A, gru])["model"] == ["rnn", "gru"]


# ---- real runs


def named(*names: str) -> list[Entrant]:
    found, problems = comparing.entrants([store.find(name).key for name in names])
    assert problems == []
    return found


def test_runs_of_one_model_are_told_apart_by_what_sets_them_apart() -> None:
    found = named("negation-single-rnn", "negation-half-rnn", "negation-single-gru")
    assert [e.name for e in found] == ["RNN, p_not = 0.35", "RNN, p_not = 0.5", "GRU"]
    assert [e.label for e in found] == ["1", "2", "3"]
    parent = store.find("negation-single-rnn").config
    lanes = {"a": Lane(parent, None, None), "b": Lane(branched(parent, 30, {"order": 1}), None, None)}
    assert list(comparing._names(lanes).values()) == ["RNN, order = 0", "RNN, branch at step 30, order = 1"]


def test_an_unknown_run_is_one_sentence_and_the_others_stay() -> None:
    keys = [store.find("negation-single-rnn").key, "abcdefghijkl", "../../etc/passwd"]
    found, problems = comparing.entrants(keys)
    assert [e.key for e in found] == keys[:1]
    assert len(problems) == 2 and all("is not on this machine" in problem for problem in problems)


def test_recurrent_models_of_the_same_seeds_start_from_the_same_embedding_and_readout() -> None:
    told = start_finding(named("negation-single-rnn", "negation-single-lstm", "negation-single-gru"))
    assert len(told) == 3
    for sentence in told:
        assert "`embedding.weight`" in sentence and "readout" in sentence
        assert "recurren" not in sentence.split("numbers in")[1]


def test_nothing_is_said_of_starts_from_other_seeds_or_of_weights_that_were_not_kept() -> None:
    rnn, gru = named("negation-single-rnn", "negation-single-gru")
    config = changed(gru.config, {"seed": 8})
    stored = gru.lane.stored
    assert stored is not None
    other = Entrant("2", "o", "o", Lane(config, StoredRun(stored.folder, config, stored.card, stored.curves), None))
    assert start_finding([rnn, gru]) != []
    assert start_finding([rnn, other]) == []
    assert start_finding(named("negation-half-rnn", "negation-half-gru")) == []


def test_the_usual_runs_need_no_mention_and_the_newest_eight_stay() -> None:
    usual = comparing.usual_runs()
    assert len(usual) == 4
    assert STATE.with_runs(usual) == STATE
    assert STATE.shown == usual
    many = [str(i) for i in range(10)]
    assert STATE.with_runs(many + many).runs == tuple(many[-MOST:])


def test_every_run_of_one_colour_has_a_dash_of_its_own() -> None:
    dashes = comparing._dashes([run(str(i), seed=i) for i in range(4)])
    assert len(set(dashes.values())) == 4


@pytest.mark.parametrize("measure", OF_TASK["negation"])
def test_every_measure_of_every_shipped_kind_is_there_on_every_axis(measure: str) -> None:
    entrants = named("negation-single-rnn", "negation-held-out-transformer")
    for axis in AXES:
        for found in comparing.courses(Comparison(y=measure, smooth=0.5), entrants, axis):
            assert found is not None and len(found.x) > 10 and np.isfinite(found.values).all()
