"""A training as it is remembered: curves and weights as plain arrays. Needs no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from explorer.errors import DamagedRun
from explorer.training.config import RunConfig, key

State: TypeAlias = Literal["running", "finished", "stopped", "diverged"]
Axis: TypeAlias = Literal["step", "epoch", "tokens", "seconds"]


@dataclass(frozen=True, eq=False)
class Curves:
    """What was measured while a run went on, over all replicas. A branch starts at its parent's step. They never
    change: as the key of a cache the same object is the same curves."""

    first: int  # steps taken before
    losses: Float[ndarray, "steps replicas"]  # of each batch before its step, in nats
    tokens: Float[ndarray, " moments"]  # read by one replica, before the first step and after each
    seconds: Float[ndarray, " moments"]  # of training, all replicas together, likewise
    evaluated: Int[ndarray, " evaluations"]  # after how many steps
    metrics: dict[str, Float[ndarray, "evaluations replicas"]]
    answers: dict[str, Float[ndarray, "evaluations replicas parts"]] = field(default_factory=dict)  # e.g. P(sustain)
    signals: dict[str, Float[ndarray, "steps replicas"]] = field(default_factory=dict)  # e.g. the gradient's norm
    samples: tuple[tuple[str, ...], ...] = ()  # text written at each evaluation by each replica, where any is

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
        return Curves(
            self.first,
            self.losses[:rows],
            self.tokens[: rows + 1],
            self.seconds[: rows + 1],
            self.evaluated[known],
            {name: values[known] for name, values in self.metrics.items()},
            {name: values[known] for name, values in self.answers.items()},
            {name: values[:rows] for name, values in self.signals.items()},
            self.samples[: int(known.sum())],
        )

    def followed_by(self, later: Curves) -> Curves:
        """These curves and those of the steps after them."""
        return Curves(
            self.first,
            np.concatenate([self.losses, later.losses]),
            np.concatenate([self.tokens, later.tokens[1:]]),
            np.concatenate([self.seconds, later.seconds[1:]]),
            np.concatenate([self.evaluated, later.evaluated]),
            _joined(self.metrics, later.metrics),
            _joined(self.answers, later.answers),
            _joined(self.signals, later.signals),
            self.samples + later.samples,
        )


def _joined(one: dict[str, ndarray], other: dict[str, ndarray]) -> dict[str, ndarray]:
    """Arrays by name, one after the other; where nobody was asked yet there are no names to go on from."""
    if not one or not other:
        return one or other
    return {name: np.concatenate([values, other[name]]) for name, values in one.items()}


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
    tokenizer: str = ""  # what its text was cut with, as JSON; empty where the task has a vocabulary of its own

    @property
    def finished(self) -> bool:
        return self.state == "finished"

    @property
    def key(self) -> str:
        return key(self.config)

    def weights(self, step: int | None = None) -> Mapping[str, ndarray]:
        """The weights after so many steps, or the last ones, as `StoredRun.weights` gives them. Raises DamagedRun."""
        wanted = self.curves.step if step is None else step
        if wanted not in self.snapshots:
            raise DamagedRun(f"Run {self.key} has no weights of step {wanted:,}. Train it again.")
        return self.snapshots[wanted].weights
