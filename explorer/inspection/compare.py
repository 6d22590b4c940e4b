"""Comparison of runs: curves on a common axis, when each reaches a target, and whether they are paired."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from explorer.training.config import RunConfig
from explorer.training.record import Axis, Curves

BATCH_LOSS = "batch_loss"  # the only measure recorded at every step


@dataclass(frozen=True)
class MetricCurve:
    """One measure of a run along an axis, with one column per seed."""

    x: Float[ndarray, " points"]
    values: Float[ndarray, "points replicas"]


def metric_curve(curves: Curves, config: RunConfig, measure: str, axis: Axis) -> MetricCurve:
    """Return the curve of a measure. The loss of a batch belongs to the step before its weights change."""
    if measure == BATCH_LOSS:
        steps, values = curves.first + np.arange(len(curves.losses)), curves.losses
    else:
        steps = curves.evaluated
        values = curves.metrics.get(measure, np.full((len(steps), config.replicas), np.nan))
    finite = np.where(np.isfinite(values), values, np.nan)  # a diverged run may end in infinities
    return MetricCurve(curves.axis_values(axis, steps, config.steps_per_epoch), finite.astype(float))


def mean_and_range(
    values: Float[ndarray, "points replicas"], middle: Callable[..., ndarray] = np.nanmean
) -> Float[ndarray, "points 3"]:
    """Return mean, minimum and maximum over the seeds that have a value; NaN where no seed has one."""
    result, has_value = np.full((len(values), 3), np.nan), ~np.isnan(values).all(axis=1)
    finite = values[has_value]
    result[has_value] = np.column_stack([middle(finite, axis=1), np.nanmin(finite, axis=1), np.nanmax(finite, axis=1)])
    return result


median_and_range = partial(mean_and_range, middle=np.nanmedian)


def smooth(course: MetricCurve, weight: float) -> MetricCurve:
    """Return the bias-corrected exponential moving average; `weight` is the share kept of the previous average."""
    if not weight or not len(course.values):
        return course
    mean, total_weight = np.zeros(course.values.shape[1]), 0.0
    out = np.empty_like(course.values)
    for i, row in enumerate(course.values):
        mean, total_weight = weight * mean + (1 - weight) * row, weight * total_weight + (1 - weight)
        out[i] = mean / total_weight
    return MetricCurve(course.x, out)


def downsample(values: Float[ndarray, "points lines"], max_points: int = 400) -> Int[ndarray, " kept"]:
    """Return the indices of the points to draw when lines have more points than the screen has pixels.

    The points are cut into at most `max_points` segments. Each keeps its first point and the minimum and maximum of
    every line, so no extreme value is lost.
    """
    count = len(values)
    if count <= max_points:
        return np.arange(count)
    segment = -(-count // max_points)
    starts = np.arange(0, count, segment)
    padded = np.full((len(starts) * segment, values.shape[1]), np.nan)
    padded[:count] = values
    segments = padded.reshape(len(starts), segment, -1)
    lowest = np.where(np.isnan(segments), np.inf, segments).argmin(axis=1)
    highest = np.where(np.isnan(segments), -np.inf, segments).argmax(axis=1)
    return np.unique(np.concatenate([starts, [count - 1], *(starts + lowest.T), *(starts + highest.T)]))


def first_crossing(course: MetricCurve, target: float, rising: bool) -> Float[ndarray, " replicas"]:
    """Return the x at which each seed first reaches the target, `rising` or falling, interpolated linearly; or NaN."""
    sign = 1.0 if rising else -1.0
    return np.array([_interpolate_crossing(course.x, sign * values, sign * target) for values in course.values.T])


def _interpolate_crossing(x: Float[ndarray, " n"], values: Float[ndarray, " n"], target: float) -> float:
    reached_at = np.flatnonzero(values >= target)
    if not len(reached_at):
        return float("nan")
    i = int(reached_at[0])
    if i == 0 or np.isnan(values[i - 1]):
        return float(x[i])
    share = (target - values[i - 1]) / (values[i] - values[i - 1])
    return float(x[i - 1] + share * (x[i] - x[i - 1]))


def growth_exponent(x: Int[ndarray, " sizes"], y: Float[ndarray, " sizes"], fit_from: int) -> float:
    """Return a of y ~ x^a by least squares of the logarithms over x >= `fit_from`; NaN with fewer than two points."""
    fitted = np.isfinite(y) & (x >= fit_from)
    return float(np.polyfit(np.log(x[fitted]), np.log(y[fitted]), 1)[0]) if fitted.sum() > 1 else float("nan")


def is_paired(first: RunConfig, second: RunConfig) -> bool:
    """Return whether two runs have the same seeds and the same data, so that seeds can be compared pairwise."""
    return first.seeds == second.seeds and first.task == second.task


def shared_initial_weights(first: Mapping[str, ndarray], second: Mapping[str, ndarray]) -> tuple[list[str], int]:
    """Return the names of the nonzero weights that are equal in two initializations, and the smaller weight count."""
    shared = [
        name for name, value in first.items() if name in second and value.any() and np.array_equal(value, second[name])
    ]
    return shared, min(len(first), len(second))


def metric_over_seeds(
    curves: Curves | None, metric: str, summarize: Callable[[ndarray], ndarray] = mean_and_range
) -> tuple[Float[ndarray, " points"], ...]:
    """Return the steps at which a metric was evaluated, and its mean (or median), lowest and highest value."""
    values = np.zeros((0, 3)) if curves is None else summarize(curves.metrics[metric])
    steps = np.zeros(0) if curves is None else curves.evaluated[: len(values)].astype(float)
    return steps, *values.T


def last_answers(curves: Curves | None, name: str) -> ndarray | None:
    """Return the answers of the last evaluation, one row per seed; None without any."""
    if curves is None or name not in curves.answers or not len(curves.answers[name]):
        return None
    values: ndarray = curves.answers[name][-1]
    return None if np.isnan(values).all() else values


def held_out_losses(curves: Curves, replica: int) -> dict[str, list[int] | list[float]]:
    """Return the held-out loss of one seed by training step; for negation the loss over all sentences."""
    name = next((name for name in ("val_loss", "val_loss_part", "test_loss") if name in curves.metrics), None)
    if name is None:
        return {"steps": [], "losses": []}
    losses = curves.metrics[name][:, replica]
    if name == "val_loss" and "val_loss_part" in curves.metrics:  # of a text, measured in full at the end only
        losses = np.where(np.isfinite(losses), losses, curves.metrics["val_loss_part"][:, replica])
    finite = np.isfinite(losses)
    return {"steps": curves.evaluated[finite].tolist(), "losses": np.round(losses[finite], 4).tolist()}
