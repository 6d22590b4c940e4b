"""A training as it is remembered: curves and weights as plain arrays. Needs no torch."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Float, Int
from numpy import ndarray

from explorer.training.config import RunConfig


@dataclass(frozen=True)
class Curves:
    """What was measured while a run went on, over all replicas."""

    losses: Float[ndarray, "steps replicas"]  # of each batch before its step, in nats
    epochs: Int[ndarray, " evaluations"]
    metrics: dict[str, Float[ndarray, "evaluations replicas"]]
    sustain: Float[ndarray, "evaluations replicas sentences"]  # P(sustain) of every sentence of the world

    def last(self, metric: str) -> Float[ndarray, " replicas"]:
        """A metric at the last evaluation, one value a seed."""
        values: ndarray = self.metrics[metric][-1]
        return values


@dataclass(frozen=True)
class Record:
    """A finished or stopped training."""

    config: RunConfig
    parameters: int  # of one replica
    seconds: float  # of the whole training, all replicas together
    curves: Curves
    snapshots: dict[int, dict[str, ndarray]]  # by step; each weight with a leading replica axis
    finished: bool  # False: stopped before its last step
