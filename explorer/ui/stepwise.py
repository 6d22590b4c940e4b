"""Trainings that are watched step by step: their playback, and what was measured on the way."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.inspection.comparing import over_seeds
from explorer.training.record import Curves
from explorer.ui import training_controls
from explorer.ui.components import Playback
from explorer.ui.runs import Lane


def last_step(lanes: Mapping[str, Lane]) -> int:
    """Where the longest of them ends."""
    return max(lane.config.steps for lane in lanes.values())


def playback(lanes: Mapping[str, Lane], races: int, name: str, by: float | None = None) -> Playback:
    """Through all steps, in about fifty of `by` each. `name` and `races` as in `training_controls.playback`."""
    last = last_step(lanes)
    reached = max((lane.curves.step for lane in lanes.values() if lane.curves), default=0)
    return training_controls.playback(
        lanes, races, name, last, reached, unit="step", step=by or float(max(last // 50, 1))
    )


def measured(curves: Curves | None, metric: str) -> tuple[Float[ndarray, " points"], ...]:
    """At which steps it was asked, and what came out over the seeds: steps, mean, lowest, highest. Without curves
    nothing yet."""
    values = np.zeros((0, 3)) if curves is None else over_seeds(curves.metrics[metric])
    steps = np.zeros(0) if curves is None else curves.evaluated[: len(values)].astype(float)
    return steps, *values.T
