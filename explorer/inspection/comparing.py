"""Runs side by side: their curves on one axis, who is where first, and whether a difference is more than luck."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from explorer.training.config import RunConfig
from explorer.training.record import Axis, Curves

BATCH_LOSS = "batch_loss"  # the one measure that is taken at every step


@dataclass(frozen=True)
class Course:
    """A measure of one run along an axis, a column a seed."""

    x: Float[ndarray, " points"]
    values: Float[ndarray, "points replicas"]


def course(curves: Curves, config: RunConfig, measure: str, axis: Axis) -> Course:
    """A run's curve. A batch's loss is that of the weights before its step, so it stands there."""
    if measure == BATCH_LOSS:
        steps, values = curves.first + np.arange(len(curves.losses)), curves.losses
    else:
        steps = curves.evaluated
        values = curves.metrics.get(measure, np.full((len(steps), config.replicas), np.nan))
    known = np.where(np.isfinite(values), values, np.nan)  # a diverged run may end in infinities
    return Course(curves.along(axis, steps, config.steps_per_epoch), known.astype(float))


def over_seeds(values: Float[ndarray, "points replicas"]) -> Float[ndarray, "points 3"]:
    """Mean, lowest and highest of the seeds that have a value; NaN where none has."""
    out, there = np.full((len(values), 3), np.nan), ~np.isnan(values).all(axis=1)
    some = values[there]
    out[there] = np.column_stack([np.nanmean(some, axis=1), np.nanmin(some, axis=1), np.nanmax(some, axis=1)])
    return out


def smoothed(course: Course, weight: float) -> Course:
    """The exponential moving average that starts without bias: each point keeps `weight` of what came before."""
    if not weight or not len(course.values):
        return course
    mean, known = np.zeros(course.values.shape[1]), 0.0
    out = np.empty_like(course.values)
    for i, value in enumerate(course.values):
        mean, known = weight * mean + (1 - weight) * value, weight * known + (1 - weight)
        out[i] = mean / known
    return Course(course.x, out)


def thinned(values: Float[ndarray, "points lines"], most: int = 400) -> Int[ndarray, " kept"]:
    """Which points to draw of lines that have more of them than the screen has pixels.

    Of each of `most` stretches the first point and every line's lowest and highest: no extreme is lost.
    """
    count = len(values)
    if count <= most:
        return np.arange(count)
    long = -(-count // most)
    starts = np.arange(0, count, long)
    padded = np.full((len(starts) * long, values.shape[1]), np.nan)
    padded[:count] = values
    parts = padded.reshape(len(starts), long, -1)
    lowest = np.where(np.isnan(parts), np.inf, parts).argmin(axis=1)
    highest = np.where(np.isnan(parts), -np.inf, parts).argmax(axis=1)
    return np.unique(np.concatenate([starts, [count - 1], *(starts + lowest.T), *(starts + highest.T)]))


def reached(course: Course, target: float, rising: bool) -> Float[ndarray, " replicas"]:
    """Where each seed first is at the target, between points on a straight line; NaN where it never is."""
    sign = 1.0 if rising else -1.0
    return np.array([_first(course.x, sign * values, sign * target) for values in course.values.T])


def _first(x: Float[ndarray, " n"], values: Float[ndarray, " n"], target: float) -> float:
    there = np.flatnonzero(values >= target)
    if not len(there):
        return float("nan")
    i = int(there[0])
    if i == 0 or np.isnan(values[i - 1]):
        return float(x[i])
    share = (target - values[i - 1]) / (values[i] - values[i - 1])
    return float(x[i - 1] + share * (x[i] - x[i - 1]))


@dataclass(frozen=True)
class Difference:
    """How much the second of two runs is above the first, with the interval that 19 of 20 samples of seeds hold."""

    mean: float
    low: float
    high: float
    seeds: int  # of the smaller side
    paired: bool  # the same seeds on the same data: each is compared with itself

    @property
    def noise(self) -> bool:
        """Whether the seeds alone could have made it."""
        return self.low <= 0 <= self.high


def difference(first: Float[ndarray, " first"], second: Float[ndarray, " second"], paired: bool) -> Difference | None:
    """Student's t interval, of the pairs or after Welch (1947); None where fewer than two seeds tell."""
    from scipy.special import stdtrit  # takes 0.4 s to import: the first page must not wait for it

    if paired:
        both = ~np.isnan(first) & ~np.isnan(second)
        apart = second[both] - first[both]
        if len(apart) < 2:
            return None
        mean, spread, freedom = apart.mean(), apart.var(ddof=1) / len(apart), len(apart) - 1.0
        fewest = len(apart)
    else:
        first, second = first[~np.isnan(first)], second[~np.isnan(second)]
        fewest = min(len(first), len(second))
        if fewest < 2:
            return None
        mean = second.mean() - first.mean()
        parts = [side.var(ddof=1) / len(side) for side in (first, second)]
        spread = sum(parts)
        weights = sum(p**2 / (len(side) - 1) for p, side in zip(parts, (first, second), strict=True))
        freedom = spread**2 / weights if weights > 0 else fewest - 1.0
    reach = float(stdtrit(freedom, 0.975) * np.sqrt(spread))
    return Difference(float(mean), float(mean) - reach, float(mean) + reach, fewest, paired)


def paired(one: RunConfig, other: RunConfig) -> bool:
    """Whether seed by seed two runs saw the same data, so that each seed may be compared with itself."""
    return one.seeds == other.seeds and one.task == other.task


def same_start(one: Mapping[str, ndarray], other: Mapping[str, ndarray]) -> tuple[list[str], int]:
    """The names of the weights that two starts share exactly, and how many there are in the smaller one."""
    shared = [name for name, value in one.items() if name in other and _equal(value, other[name])]
    return shared, min(len(one), len(other))


def _equal(one: ndarray, other: ndarray) -> bool:
    return one.shape == other.shape and bool(np.array_equal(one, other)) and bool(one.any())
