"""A training as it is remembered: curves and weights as plain arrays. Needs no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from explorer.training.config import RunConfig

State: TypeAlias = Literal["running", "finished", "stopped", "diverged"]
Axis: TypeAlias = Literal["step", "epoch", "tokens", "seconds"]


@dataclass(frozen=True)
class Curves:
    """What was measured while a run went on, over all replicas. A branch starts at its parent's step."""

    first: int  # steps taken before
    losses: Float[ndarray, "steps replicas"]  # of each batch before its step, in nats
    tokens: Float[ndarray, " moments"]  # read by one replica, before the first step and after each
    seconds: Float[ndarray, " moments"]  # of training, all replicas together, likewise
    evaluated: Int[ndarray, " evaluations"]  # after how many steps
    metrics: dict[str, Float[ndarray, "evaluations replicas"]]
    sustain: Float[ndarray, "evaluations replicas sentences"]  # P(sustain) of every sentence of the world

    @property
    def step(self) -> int:
        """Steps taken so far."""
        return self.first + len(self.losses)

    def last(self, metric: str) -> Float[ndarray, " replicas"]:
        """A metric at the last evaluation, one value a seed."""
        values: ndarray = self.metrics[metric][-1]
        return values

    def along(self, axis: Axis, steps: Int[ndarray, " n"], steps_per_epoch: int) -> Float[ndarray, " n"]:
        """Where steps lie on an axis."""
        if axis in ("tokens", "seconds"):
            values: ndarray = getattr(self, axis)[steps - self.first]
            return np.asarray(values, dtype=float)
        return steps / (steps_per_epoch if axis == "epoch" else 1)

    def until(self, step: int) -> Curves:
        """The curves as they stood after so many steps."""
        rows, known = step - self.first, self.evaluated <= step
        metrics = {name: values[known] for name, values in self.metrics.items()}
        return Curves(
            self.first,
            self.losses[:rows],
            self.tokens[: rows + 1],
            self.seconds[: rows + 1],
            self.evaluated[known],
            metrics,
            self.sustain[known],
        )

    def followed_by(self, later: Curves) -> Curves:
        """These curves and those of the steps after them."""
        if not len(self.evaluated):  # nobody was asked yet: there are no metrics to go on from
            metrics, sustain = later.metrics, later.sustain
        elif not len(later.evaluated):
            metrics, sustain = self.metrics, self.sustain
        else:
            metrics = {name: np.concatenate([values, later.metrics[name]]) for name, values in self.metrics.items()}
            sustain = np.concatenate([self.sustain, later.sustain])
        return Curves(
            self.first,
            np.concatenate([self.losses, later.losses]),
            np.concatenate([self.tokens, later.tokens[1:]]),
            np.concatenate([self.seconds, later.seconds[1:]]),
            np.concatenate([self.evaluated, later.evaluated]),
            metrics,
            sustain,
        )


@dataclass(frozen=True)
class Weights:
    """A model at one step; with `optimiser` a training can go on from there."""

    weights: Mapping[str, ndarray]  # each with a leading replica axis
    optimiser: Mapping[str, ndarray] | None


@dataclass(frozen=True)
class Record:
    """A training, over or under way."""

    config: RunConfig
    parameters: int  # of one replica
    seconds: float  # of the whole training, all replicas together
    curves: Curves
    snapshots: Mapping[int, Weights]  # by step
    state: State = "finished"
    problem: str = ""  # why it did not finish

    @property
    def finished(self) -> bool:
        return self.state == "finished"
