from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy import ndarray

from explorer.inspection.compare import (
    BATCH_LOSS,
    MetricCurve,
    downsample,
    first_crossing,
    is_paired,
    metric_curve,
    shared_initial_weights,
    smooth,
)
from explorer.training.config import RunConfig, default_config, with_settings
from explorer.training.record import Curves

CONFIG = with_settings(
    default_config("negation", "rnn"), {"replicas": 2, "train_size": 128, "epochs": 4}
)  # 2 steps an epoch
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
def test_metrics_are_placed_at_their_evaluation_and_batch_losses_before_their_step(
    curves: Curves, axis: str, evaluations: list[float], batches: list[float]
) -> None:
    accuracy, loss = metric_curve(curves, CONFIG, "test_accuracy", axis), metric_curve(curves, CONFIG, BATCH_LOSS, axis)
    assert accuracy.x.tolist() == pytest.approx(evaluations)
    assert loss.x.tolist() == pytest.approx(batches)
    np.testing.assert_array_equal(accuracy.values, HAND.metrics["test_accuracy"])
    np.testing.assert_array_equal(loss.values, HAND.losses)


def test_a_missing_metric_is_nan_everywhere() -> None:
    curve = metric_curve(HAND, CONFIG, "exact_accuracy", "step")
    assert curve.values.shape == (3, 2) and np.isnan(curve.values).all()


def test_smoothing_is_the_bias_corrected_moving_average() -> None:
    curve = smooth(MetricCurve(np.arange(3.0), np.array([[1.0], [2.0], [4.0]])), 0.5).values[:, 0]
    assert curve.tolist() == pytest.approx([1, (0.25 * 1 + 0.5 * 2) / 0.75, (0.125 * 1 + 0.25 * 2 + 0.5 * 4) / 0.875])


@settings(deadline=None)
@given(st.floats(-1e3, 1e3), st.floats(0, 0.99), st.integers(1, 50))
def test_smoothing_keeps_a_constant(value: float, weight: float, count: int) -> None:
    smoothed = smooth(MetricCurve(np.arange(float(count)), np.full((count, 2), value)), weight)
    assert smoothed.values == pytest.approx(value)


def test_weight_zero_does_not_smooth() -> None:
    before = MetricCurve(np.arange(2.0), np.array([[1.0], [0.0]]))
    assert smooth(before, 0.0) is before


@settings(deadline=None)
@given(
    st.integers(0, 90).flatmap(
        lambda n: arrays(float, (n, 2), elements=st.floats(-1, 1) | st.just(float("nan")), fill=st.nothing())
    )
)
@example(np.full((40, 2), np.nan))
@example(np.zeros((0, 2)))
def test_downsampling_keeps_the_extremes_of_every_segment(values: ndarray) -> None:
    most, lines = 7, 2
    indices = downsample(values, most)
    assert indices.tolist() == sorted(set(indices.tolist()))
    assert len(indices) <= most * (1 + 2 * lines) + 2
    if not len(values):
        return
    assert (indices[0], indices[-1]) == (0, len(values) - 1)
    long = -(-len(values) // most) if len(values) > most else 1
    for start in range(0, len(values), long):
        end = start + long
        for line in range(lines):
            part, remaining = values[start:end, line], values[indices[(indices >= start) & (indices < end)], line]
            if not np.isnan(part).all():
                assert (np.nanmin(remaining), np.nanmax(remaining)) == (np.nanmin(part), np.nanmax(part))


X = np.array([0.0, 10, 20, 40])


@pytest.mark.parametrize(
    ("values", "target", "rising", "position"),
    [
        ([0.5, 0.7, 0.9, 1.0], 0.8, True, 15.0),
        ([0.5, 0.7, 0.9, 1.0], 0.7, True, 10.0),
        ([0.5, 0.7, 0.6, 1.0], 0.65, True, 7.5),  # the first time, though it falls again
        ([0.9, 0.7, 0.9, 1.0], 0.8, True, 0.0),  # at the first point
        ([0.5, 0.7, 0.6, 0.9], 0.95, True, np.nan),  # never
        ([2.0, 1.0, 0.5, 0.1], 0.75, False, 15.0),
        ([2.0, 1.0, 0.5, 0.1], 0.05, False, np.nan),
        ([np.nan, np.nan, 0.9, 1.0], 0.8, True, 20.0),  # undefined before the first value
        ([0.5, np.nan, 0.9, 1.0], 0.8, True, 20.0),
        ([np.nan] * 4, 0.8, True, np.nan),
    ],
)
def test_crossings_are_interpolated_linearly(values: list[float], target: float, rising: bool, position: float) -> None:
    crossings = first_crossing(MetricCurve(X, np.array([values, values]).T), target, rising)
    assert crossings == pytest.approx([position, position], nan_ok=True)


@pytest.mark.parametrize(
    ("changes", "comparable"),
    [({}, True), ({"epochs": 9}, True), ({"seed": 1}, False), ({"replicas": 3}, False), ({"p_not": 0.5}, False)],
)
def test_runs_are_paired_only_with_equal_seeds_and_data(changes: dict[str, object], comparable: bool) -> None:
    other: RunConfig = with_settings(CONFIG, changes)
    assert is_paired(CONFIG, other) is comparable


def test_initial_weights_are_shared_if_equal_and_nonzero() -> None:
    one = {"embedding": np.ones((2, 3)), "bias": np.zeros(2), "state": np.ones((2, 2)), "own": np.ones(1)}
    other = {"embedding": np.ones((2, 3)), "bias": np.zeros(2), "state": np.ones((2, 4))}
    assert shared_initial_weights(one, other) == (["embedding"], 3)
    assert shared_initial_weights(one, {**one, "embedding": np.full((2, 3), 1 + 1e-9)}) == (["state", "own"], 4)
