"""The events of a training. They hold tensors, which become numbers only when they are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Started:
    """The model is built."""

    parameters: int  # of one replica
    tokenizer: str = ""  # of the task's text, as JSON
    machine: str = ""  # the kind of machine that trains; see `machine_kind`
    baselines: Mapping[str, float] = field(default_factory=dict)  # by metric; see `Objective.baselines`


@dataclass(frozen=True, slots=True)
class Step:
    """One optimiser step: loss of its batch before it (nats), tokens read by one replica, and other `signals`."""

    step: int
    losses: Float[Tensor, " replicas"]
    tokens: float
    signals: Mapping[str, Float[Tensor, " replicas"]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What the objective's `evaluate` returned after so many steps; `Objective.compute_metrics` makes metrics of it."""

    step: int
    answers: Mapping[str, Float[Tensor, "replicas ..."]]
    samples: tuple[str, ...] = ()  # generated text, one per replica


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Everything from which a training resumes after so many steps, as if it had never stopped.

    Batches and dropout follow from seed and step alone, so no generator has a state to save. `is_snapshot`: the weights
    stay in the finished run; other checkpoints serve only to resume.
    """

    step: int
    weights: dict[str, Tensor]  # the model, each with a leading replica axis
    optimiser: dict[str, Tensor]  # moments, averaged weights, and a state carried over batches
    is_snapshot: bool


@dataclass(frozen=True, slots=True)
class EvaluationPart:
    """Part of a long evaluation is done, and another training may take its turn. Nothing is recorded."""


Event: TypeAlias = Started | Step | Evaluation | EvaluationPart | Checkpoint
