"""What a training tells while it goes on. Tensors become numbers only when somebody reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Started:
    """The model is built; `parameters` counts one replica. `tokenizer`: what the task cut its text with, as JSON."""

    parameters: int
    tokenizer: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One optimiser step: the loss of its batch before it (nats), and the tokens one replica read in it.

    `signals`: what else is measured at every step, e.g. the norm of the gradient.
    """

    step: int
    losses: Float[Tensor, " replicas"]
    tokens: float
    signals: Mapping[str, Float[Tensor, " replicas"]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What came of asking the model after so many steps; what the numbers mean is for the task's lesson to say."""

    step: int
    answers: Mapping[str, Float[Tensor, "replicas ..."]]
    samples: tuple[str, ...] = ()  # text that the model wrote, one a replica


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Everything a training needs to go on after so many steps, as if it had never stopped.

    Batches and dropout follow from seed and step alone, so no generator has a state to keep. `kept`: its weights
    are worth looking at later; the others are only for going on.
    """

    step: int
    weights: dict[str, Tensor]  # the model, each with a leading replica axis
    optimiser: dict[str, Tensor]  # what else it takes to go on: averages, and a state that is carried over batches
    kept: bool


Event: TypeAlias = Started | Step | Evaluation | Checkpoint
