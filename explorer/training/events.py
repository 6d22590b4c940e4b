"""What a training tells while it goes on. Tensors become numbers only when somebody reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Started:
    """The model is built; `parameters` counts one replica."""

    parameters: int


@dataclass(frozen=True, slots=True)
class Step:
    """One optimiser step, and the loss of its batch before it (nats)."""

    step: int
    losses: Float[Tensor, " replicas"]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What the model says about every sentence of the world, after so many epochs."""

    step: int
    epoch: int
    logits: Float[Tensor, "replicas sentences classes"]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Weights to look at, each with a leading replica axis."""

    step: int
    weights: dict[str, Tensor]


Event: TypeAlias = Started | Step | Evaluation | Snapshot
