"""The record of a training: curves and weights as arrays. Needs no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from explorer.errors import DamagedRun
from explorer.training.config import RunConfig, key

LOSS_RISE = 0.005  # nats by which a validation loss must have risen again to be called higher
RunState: TypeAlias = Literal["running", "finished", "stopped", "diverged"]
Axis: TypeAlias = Literal["step", "epoch", "tokens", "seconds"]


@dataclass(frozen=True, eq=False)
class Curves:
    """What was measured in a run; a branch starts at its parent's step. It never changes: a cache key."""

    first: int  # steps before the first of these: 0, or those of the parent
    losses: Float[ndarray, "steps replicas"]  # of each batch before its step, in nats
    tokens: Float[ndarray, " moments"]  # read by one replica; before the first step and after each
    seconds: Float[ndarray, " moments"]  # of training, all replicas together, likewise
    evaluated: Int[ndarray, " evaluations"]  # after how many steps
    metrics: dict[str, Float[ndarray, "evaluations replicas"]]
    answers: dict[str, Float[ndarray, "evaluations replicas parts"]] = field(default_factory=dict)  # e.g. P(sustain)
    signals: dict[str, Float[ndarray, "steps replicas"]] = field(default_factory=dict)  # e.g. the gradient's norm
    samples: tuple[tuple[str, ...], ...] = ()  # generated text by evaluation and replica, if any

    @property
    def step(self) -> int:
        """The number of steps so far."""
        return self.first + len(self.losses)

    def last(self, metric: str) -> Float[ndarray, " replicas"]:
        """Return a metric at the last evaluation."""
        return self.metrics[metric][-1]

    def axis_values(self, axis: Axis, steps: Int[ndarray, " n"], steps_per_epoch: int) -> Float[ndarray, " n"]:
        """Return the position of steps on an axis."""
        if axis in ("tokens", "seconds"):
            values: ndarray = getattr(self, axis)[steps - self.first]
            return np.asarray(values, dtype=float)
        return steps / (steps_per_epoch if axis == "epoch" else 1)

    def up_to(self, step: int) -> Curves:
        """Return the curves of the first steps, up to this one."""
        rows, chosen = step - self.first, self.evaluated <= step
        return Curves(
            self.first,
            self.losses[:rows],
            self.tokens[: rows + 1],
            self.seconds[: rows + 1],
            self.evaluated[chosen],
            {name: values[chosen] for name, values in self.metrics.items()},
            {name: values[chosen] for name, values in self.answers.items()},
            {name: values[:rows] for name, values in self.signals.items()},
            self.samples[: int(chosen.sum())],
        )

    def extended_by(self, later: Curves) -> Curves:
        """Return these curves followed by those of later steps."""
        return Curves(
            self.first,
            np.concatenate([self.losses, later.losses]),
            np.concatenate([self.tokens, later.tokens[1:]]),
            np.concatenate([self.seconds, later.seconds[1:]]),
            np.concatenate([self.evaluated, later.evaluated]),
            _concatenate(self.metrics, later.metrics),
            _concatenate(self.answers, later.answers),
            _concatenate(self.signals, later.signals),
            self.samples + later.samples,
        )


def _concatenate(one: dict[str, ndarray], other: dict[str, ndarray]) -> dict[str, ndarray]:
    """Concatenate arrays by name. What an earlier version of the program did not record is NaN before.

    Curves without an evaluation have no names.
    """
    if not one or not other:
        return one or other
    unknown = np.full_like(next(iter(one.values())), np.nan)
    return {name: np.concatenate([one.get(name, unknown), values]) for name, values in other.items()}


def describe_lowest_loss(config: RunConfig, curves: Curves) -> str:
    """Say at which step the median validation loss of a run on text was lower than at its end; else ""."""
    losses = curves.metrics.get("val_loss_part")
    if losses is None or len(losses) < 2 or not np.isfinite(losses).all():
        return ""
    steps = curves.evaluated[losses.argmin(axis=0)]
    if config.keep == "best":
        which = " and ".join(f"{step:,}" for step in sorted({int(steps.min()), int(steps.max())}))
        span = f"step {which}" if steps.min() == steps.max() else f"steps between {which}"
        return f"The run ends with the weights of {span}, where the validation loss was lowest."
    medians = np.median(losses, axis=1)
    best = int(medians.argmin())
    if medians[-1] <= medians[best] + LOSS_RISE:
        return ""
    return (
        f"The validation loss was lowest at step {curves.evaluated[best]:,}: {medians[best]:.3f}; at the end "
        f"{medians[-1]:.3f}. The setting keep = best keeps the weights of that step."
    )


@dataclass(frozen=True)
class Snapshot:
    """The weights of a model at one step; with `optimiser` a training can resume there."""

    weights: Mapping[str, ndarray]  # each with a leading replica axis
    optimiser: Mapping[str, ndarray] | None


@dataclass(frozen=True)
class Record:
    """A training that ended or that is still running."""

    config: RunConfig
    parameters: int  # of one replica
    seconds: float  # of the whole training, all replicas together
    curves: Curves
    snapshots: Mapping[int, Snapshot]  # by step
    state: RunState = "finished"
    problem: str = ""  # why it did not finish
    tokenizer: str = ""  # of its text, as JSON; empty if the task has a fixed vocabulary
    machines: tuple[str, ...] = ()  # the kinds of machine on which it was trained, in order; none if it is not known
    baselines: Mapping[str, float] = field(default_factory=dict)  # by metric; see `Objective.baselines`

    @property
    def finished(self) -> bool:
        return self.state == "finished"

    @property
    def key(self) -> str:
        return key(self.config)

    @property
    def cache_key(self) -> tuple[str, str, int]:
        """A key for caches; contains the SHA-256 of an own text, so that results can be dropped with it."""
        return getattr(self.config.task, "text", ""), self.key, id(self)

    def snapshot_steps(self) -> list[int]:
        """Return the steps whose weights are in memory."""
        return sorted(self.snapshots)

    def weights(self, step: int | None = None) -> Mapping[str, ndarray]:
        """Return the weights after so many steps, by default the last ones. Raises DamagedRun if they are missing."""
        step = self.curves.step if step is None else step
        if step not in self.snapshots:
            raise DamagedRun(f"Run {self.key} has no weights of step {step:,}. Train it again.")
        return self.snapshots[step].weights
