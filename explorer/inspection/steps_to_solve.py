"""When a training first reaches a loss at which the model has learned its task."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

LEARNED_LOSS = 0.1  # nats: each digit is then right nine times in ten at least


@dataclass(frozen=True, eq=False)
class LossCurves:
    """The loss of a model on fresh rows over training."""

    steps: Float[ndarray, " points"]
    loss: Float[ndarray, "points replicas"]

    @property
    def steps_to_solve(self) -> Float[ndarray, " replicas"]:
        """Return the first evaluated step with a loss below `LEARNED_LOSS`, per seed; infinity if there is none."""
        below = self.loss < LEARNED_LOSS
        return np.where(below.any(axis=0), self.steps[below.argmax(axis=0)], np.inf)
