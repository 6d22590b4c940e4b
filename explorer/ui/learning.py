"""Whether and when trainings came below a loss at which they know their task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.ui import training_controls
from explorer.ui.runs import Lane

LEARNED = 0.1  # nats: each digit is then right nine times in ten at least


@dataclass(frozen=True, eq=False)
class Learning:
    """The loss of a model on fresh rows, from the start to the end of its training."""

    steps: Float[ndarray, " points"]
    loss: Float[ndarray, "points replicas"]

    @property
    def reached(self) -> Float[ndarray, " replicas"]:
        """The first step that was looked at with a loss below `LEARNED`; infinite where there is none."""
        below = self.loss < LEARNED
        found: ndarray = np.where(below.any(axis=0), self.steps[below.argmax(axis=0)], np.inf)
        return found


def outcomes(lanes: Mapping[str, Lane]) -> dict[str, Learning]:
    """How each learned that was trained to its end."""
    found = {}
    for name, lane in lanes.items():
        curves = lane.result
        if training_controls.finished(lane) and curves is not None and len(curves.evaluated):
            loss = curves.metrics["loss"]
            found[name] = Learning(curves.evaluated[: len(loss)].astype(float), loss)
    return found
