from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy import ndarray
from scipy import stats

from explorer.inspection.comparing import (
    BATCH_LOSS,
    Course,
    course,
    difference,
    paired,
    reached,
    same_start,
    smoothed,
    thinned,
)
from explorer.training.config import RunConfig, changed, default
from explorer.training.record import Curves

CONFIG = changed(default("negation", "rnn"), {"replicas": 2, "train_size": 128, "epochs": 4})  # 2 steps an epoch
HAND = Curves(
    first=0,
    losses=np.array([[0.9, 0.7], [0.8, 0.6], [0.7, 0.5]], np.float32),
    tokens=np.array([0.0, 300, 620, 900]),
    seconds=np.array([0.0, 0.5, 0.6, 0.9]),
    evaluated=np.array([0, 2, 3]),
    metrics={"test_accuracy": np.array([[0.5, 0.4], [0.7, 0.6], [1.0, 0.9]])},
    answers={"sustain": np.zeros((3, 2, 1))},
)
LATER = Curves(  # a branch: it starts after ten steps, with its parent's tokens and seconds
    10, HAND.losses, HAND.tokens + 3_000, HAND.seconds + 5, HAND.evaluated + 10, HAND.metrics, HAND.answers
)


@pytest.mark.parametrize(
    ("curves", "axis", "evaluations", "batches"),
    [
        (HAND, "step", [0, 2, 3], [0, 1, 2]),
        (HAND, "epoch", [0, 1, 1.5], [0, 0.5, 1]),
        (HAND, "tokens", [0, 620, 900], [0, 300, 620]),
        (HAND, "seconds", [0, 0.6, 0.9], [0, 0.5, 0.6]),
        (LATER, "step", [10, 12, 13], [10, 11, 12]),
        (LATER, "tokens", [3_000, 3_620, 3_900], [3_000, 3_300, 3_620]),
        (LATER, "seconds", [5, 5.6, 5.9], [5, 5.5, 5.6]),
    ],
)
def test_a_measure_stands_where_it_was_taken_and_a_batch_before_its_step(
    curves: Curves, axis: str, evaluations: list[float], batches: list[float]
) -> None:
    accuracy, loss = course(curves, CONFIG, "test_accuracy", axis), course(curves, CONFIG, BATCH_LOSS, axis)
    assert accuracy.x.tolist() == pytest.approx(evaluations)
    assert loss.x.tolist() == pytest.approx(batches)
    np.testing.assert_array_equal(accuracy.values, HAND.metrics["test_accuracy"])
    np.testing.assert_array_equal(loss.values, HAND.losses)


def test_a_measure_that_a_run_does_not_have_is_unknown_at_every_point() -> None:
    found = course(HAND, CONFIG, "exact_accuracy", "step")
    assert found.values.shape == (3, 2) and np.isnan(found.values).all()


def test_smoothing_is_the_moving_average_freed_of_its_start() -> None:
    found = smoothed(Course(np.arange(3.0), np.array([[1.0], [2.0], [4.0]])), 0.5).values[:, 0]
    assert found.tolist() == pytest.approx([1, (0.25 * 1 + 0.5 * 2) / 0.75, (0.125 * 1 + 0.25 * 2 + 0.5 * 4) / 0.875])


@settings(deadline=None)
@given(st.floats(-1e3, 1e3), st.floats(0, 0.99), st.integers(1, 50))
def test_smoothing_keeps_what_never_changes(value: float, weight: float, count: int) -> None:
    found = smoothed(Course(np.arange(float(count)), np.full((count, 2), value)), weight)
    assert found.values == pytest.approx(value)


def test_no_smoothing_changes_nothing() -> None:
    before = Course(np.arange(2.0), np.array([[1.0], [0.0]]))
    assert smoothed(before, 0.0) is before


@settings(deadline=None)
@given(
    st.integers(0, 90).flatmap(
        lambda n: arrays(float, (n, 2), elements=st.floats(-1, 1) | st.just(float("nan")), fill=st.nothing())
    )
)
@example(np.full((40, 2), np.nan))
@example(np.zeros((0, 2)))
def test_thinning_loses_no_extreme_of_any_stretch(values: ndarray) -> None:
    most, lines = 7, 2
    kept = thinned(values, most)
    assert kept.tolist() == sorted(set(kept.tolist()))
    assert len(kept) <= most * (1 + 2 * lines) + 2
    if not len(values):
        return
    assert (kept[0], kept[-1]) == (0, len(values) - 1)
    long = -(-len(values) // most) if len(values) > most else 1
    for start in range(0, len(values), long):
        end = start + long
        for line in range(lines):
            part, left = values[start:end, line], values[kept[(kept >= start) & (kept < end)], line]
            if not np.isnan(part).all():
                assert (np.nanmin(left), np.nanmax(left)) == (np.nanmin(part), np.nanmax(part))


X = np.array([0.0, 10, 20, 40])


@pytest.mark.parametrize(
    ("values", "target", "rising", "at"),
    [
        ([0.5, 0.7, 0.9, 1.0], 0.8, True, 15.0),
        ([0.5, 0.7, 0.9, 1.0], 0.7, True, 10.0),
        ([0.5, 0.7, 0.6, 1.0], 0.65, True, 7.5),  # the first time, though it falls again
        ([0.9, 0.7, 0.9, 1.0], 0.8, True, 0.0),  # at the first point
        ([0.5, 0.7, 0.6, 0.9], 0.95, True, np.nan),  # never
        ([2.0, 1.0, 0.5, 0.1], 0.75, False, 15.0),
        ([2.0, 1.0, 0.5, 0.1], 0.05, False, np.nan),
        ([np.nan, np.nan, 0.9, 1.0], 0.8, True, 20.0),  # nothing is known before
        ([0.5, np.nan, 0.9, 1.0], 0.8, True, 20.0),
        ([np.nan] * 4, 0.8, True, np.nan),
    ],
)
def test_a_target_is_reached_between_two_points_on_a_straight_line(
    values: list[float], target: float, rising: bool, at: float
) -> None:
    found = reached(Course(X, np.array([values, values]).T), target, rising)
    assert found == pytest.approx([at, at], nan_ok=True)


ENDS = st.lists(st.floats(0, 1).map(lambda v: round(v, 3)), min_size=2, max_size=8)


@pytest.mark.filterwarnings("ignore:Precision loss:RuntimeWarning")  # scipy's, where seeds are nearly alike
@settings(deadline=None)
@given(ENDS, ENDS)
def test_the_interval_of_runs_with_different_seeds_is_that_of_scipys_welch_test(a: list[float], b: list[float]) -> None:
    first, second = np.array(a), np.array(b)
    assume(np.ptp(first) + np.ptp(second) > 0)
    found = difference(first, second, paired=False)
    assert found is not None
    wanted = stats.ttest_ind(second, first, equal_var=False).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high), abs=1e-9)
    assert found.mean == pytest.approx(second.mean() - first.mean())
    assert (found.seeds, found.paired) == (min(len(a), len(b)), False)


@pytest.mark.filterwarnings("ignore:Precision loss:RuntimeWarning")
@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000)), min_size=2, max_size=8))
def test_the_interval_of_runs_with_the_same_seeds_is_that_of_scipys_paired_test(pairs: list[tuple[int, int]]) -> None:
    first, second = np.array(pairs).T / 1000
    assume(np.ptp(np.round(second - first, 6)) > 0)
    found = difference(first, second, paired=True)
    assert found is not None
    wanted = stats.ttest_rel(second, first).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high), abs=1e-9)


@pytest.mark.parametrize("same_seeds", [True, False])
def test_one_seed_tells_nothing_and_a_seed_without_a_value_does_not_count(same_seeds: bool) -> None:
    nan = np.nan
    assert difference(np.array([0.9]), np.array([0.8]), same_seeds) is None
    assert difference(np.array([0.9, nan]), np.array([nan, 0.8]), same_seeds) is None
    assert difference(np.array([nan, nan]), np.array([0.8, 0.9]), same_seeds) is None
    whole = difference(np.array([0.9, 0.8, 0.7]), np.array([0.8, 0.9, 0.9]), same_seeds)
    holed = difference(np.array([0.9, 0.8, 0.7, nan]), np.array([0.8, 0.9, 0.9, nan]), same_seeds)
    assert whole == holed


@pytest.mark.parametrize("same_seeds", [True, False])
def test_seeds_that_all_end_alike_leave_no_doubt(same_seeds: bool) -> None:
    found = difference(np.full(3, 0.75), np.full(3, 1.0), same_seeds)
    assert found is not None
    assert (found.mean, found.low, found.high, found.noise) == (0.25, 0.25, 0.25, False)
    equal = difference(np.full(3, 0.75), np.full(3, 0.75), same_seeds)
    assert equal is not None and equal.noise


def test_a_difference_is_noise_where_its_interval_holds_zero() -> None:
    ones = np.array([0.90, 0.80, 0.95, 0.85])
    luck = difference(ones, ones[::-1] + 0.01, paired=False)
    real = difference(ones, ones + np.array([0.04, 0.05, 0.05, 0.04]), paired=True)
    assert luck is not None and luck.noise
    assert real is not None and not real.noise


@pytest.mark.parametrize(
    ("changes", "fair"),
    [({}, True), ({"epochs": 9}, True), ({"seed": 1}, False), ({"replicas": 3}, False), ({"p_not": 0.5}, False)],
)
def test_seeds_are_compared_one_by_one_only_where_they_saw_the_same_data(
    changes: dict[str, object], fair: bool
) -> None:
    other: RunConfig = changed(CONFIG, changes)
    assert paired(CONFIG, other) is fair


def test_a_start_is_shared_where_the_numbers_are_the_same_and_not_all_zero() -> None:
    one = {"embedding": np.ones((2, 3)), "bias": np.zeros(2), "state": np.ones((2, 2)), "own": np.ones(1)}
    other = {"embedding": np.ones((2, 3)), "bias": np.zeros(2), "state": np.ones((2, 4))}
    assert same_start(one, other) == (["embedding"], 3)
    assert same_start(one, {**one, "embedding": np.full((2, 3), 1 + 1e-9)}) == (["state", "own"], 4)
