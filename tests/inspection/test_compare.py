from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from explorer.inspection import compare
from explorer.training.config import default_config, with_settings
from explorer.training.record import Curves

# Two steps an epoch.
CONFIG = with_settings(default_config("negation", "rnn"), {"replicas": 2, "train_size": 128, "epochs": 4})
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
        (LATER, "seconds", [5, 5.6, 5.9], [5, 5.5, 5.6]),
    ],
)
def test_metrics_are_placed_at_their_evaluation_and_batch_losses_before_their_step(
    curves: Curves, axis: str, evaluations: list[float], batches: list[float]
) -> None:
    metrics = ("test_accuracy", compare.BATCH_LOSS)
    accuracy, loss = (compare.metric_curve(curves, CONFIG, metric, axis) for metric in metrics)
    assert accuracy.x.tolist() == pytest.approx(evaluations)
    assert loss.x.tolist() == pytest.approx(batches)
    np.testing.assert_array_equal(accuracy.values, HAND.metrics["test_accuracy"])
    np.testing.assert_array_equal(loss.values, HAND.losses)


def test_undefined_values_are_nan() -> None:
    curve = compare.metric_curve(HAND, CONFIG, "exact_accuracy", "step")
    assert curve.values.shape == (3, 2) and np.isnan(curve.values).all()
    values = np.array([[1.0, 5, 9, 2], [3, np.nan, 4, 8], [np.nan] * 4])
    np.testing.assert_array_equal(compare.mean_and_range(values), [[4.25, 1, 9], [5, 3, 8], [np.nan] * 3])
    np.testing.assert_array_equal(compare.median_and_range(values), [[3.5, 1, 9], [4, 3, 8], [np.nan] * 3])
    steps, mean, low, high = compare.metric_over_seeds(HAND, "test_accuracy")
    assert (steps.tolist(), mean.tolist()) == ([0, 2, 3], pytest.approx([0.45, 0.65, 0.95]))
    assert (low.tolist(), high.tolist()) == ([0.4, 0.6, 0.9], [0.5, 0.7, 1])
    assert [len(each) for each in compare.metric_over_seeds(None, "test_accuracy")] == [0] * 4
    assert compare.last_answers(None, "sustain") is compare.last_answers(HAND, "other") is None
    assert compare.last_answers(HAND, "sustain").tolist() == [[0], [0]]  # type: ignore[union-attr]
    assert compare.last_answers(replace(HAND, answers={"sustain": np.full((3, 2, 1), np.nan)}), "sustain") is None
    assert compare.held_out_losses(HAND, 0) == {"steps": [], "losses": []}
    parts, whole = np.array([[3, 2], [3, np.inf], [3, 2]]), np.array([[np.nan] * 2, [np.nan] * 2, [7, 0.12345]])
    both = replace(HAND, metrics={"val_loss": whole, "val_loss_part": parts})
    assert compare.held_out_losses(both, 1) == {"steps": [0, 3], "losses": [2, 0.1234]}
    only_parts = replace(HAND, metrics={"val_loss_part": parts})
    assert compare.held_out_losses(only_parts, 0) == {"steps": [0, 2, 3], "losses": [3, 3, 3]}


def test_smoothing_is_the_bias_corrected_moving_average() -> None:
    before = compare.MetricCurve(np.arange(3.0), np.array([[1.0], [2.0], [4.0]]))
    curve = compare.smooth(before, 0.25).values[:, 0]
    third = (0.25**2 * 0.75 * 1 + 0.25 * 0.75 * 2 + 0.75 * 4) / (1 - 0.25**3)
    assert curve.tolist() == pytest.approx([1, (0.1875 * 1 + 0.75 * 2) / 0.9375, third])
    assert compare.smooth(before, 0.0) is before


def test_downsampling_keeps_the_ends_and_the_extremes_of_every_segment() -> None:
    values = np.array([[0, 5], [3, 5], [1, 9], [2, 5], [7, np.nan], [6, 4], [5, 5], [5, 5]], float)
    assert compare.downsample(values, 8).tolist() == list(range(8))
    assert compare.downsample(values, 3).tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
    assert compare.downsample(values, 2).tolist() == [0, 1, 2, 4, 5, 6, 7]
    assert compare.downsample(np.full((9, 1), np.nan), 2).tolist() == [0, 5, 8]
    assert compare.downsample(np.zeros((0, 2))).tolist() == [] and len(compare.downsample(np.zeros((401, 1)))) < 401


X = np.array([0.0, 10, 20, 40])


@pytest.mark.parametrize(
    ("values", "target", "rising", "position"),
    [
        ([0.5, 0.7, 0.9, 1.0], 0.8, True, 15.0),
        ([0.5, 0.7, 0.9, 1.0], 0.7, True, 10.0),
        ([0.5, 0.7, 0.6, 1.0], 0.65, True, 7.5),  # the first time, though it falls again
        ([0.9, 0.7, 0.9, 1.0], 0.8, True, 0.0),  # at the first point
        ([2.0, 1.0, 0.5, 0.1], 0.75, False, 15.0),
        ([2.0, 1.0, 0.5, 0.1], 0.05, False, np.nan),
        ([np.nan, np.nan, 0.9, 1.0], 0.8, True, 20.0),  # undefined before the first value
        ([0.5, np.nan, 0.9, 1.0], 0.8, True, 20.0),
    ],
)
def test_crossings_are_interpolated_linearly(values: list[float], target: float, rising: bool, position: float) -> None:
    crossings = compare.first_crossing(compare.MetricCurve(X, np.array([values, values]).T), target, rising)
    assert crossings == pytest.approx([position, position], nan_ok=True)


def test_runs_are_paired_with_equal_seeds_and_data_and_share_equal_nonzero_initial_weights() -> None:
    assert compare.is_paired(CONFIG, with_settings(CONFIG, {"epochs": 9}))
    changes: tuple[dict[str, object], ...] = ({"seed": 1}, {"replicas": 3}, {"p_not": 0.5})
    assert not any(compare.is_paired(CONFIG, with_settings(CONFIG, each)) for each in changes)
    one = {"embedding": np.ones((2, 3)), "bias": np.zeros(2), "state": np.ones((2, 2)), "own": np.ones(1)}
    other = {"embedding": np.ones((2, 3)), "bias": np.zeros(2), "state": np.ones((2, 4))}
    assert compare.shared_initial_weights(one, other) == (["embedding"], 3)
    assert compare.shared_initial_weights(one, {**one, "embedding": np.full((2, 3), 1 + 1e-9)}) == (["state", "own"], 4)
