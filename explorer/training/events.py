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
    """One optimiser step: the loss of its batch before it (nats), and the tokens one replica read in it."""

    step: int
    losses: Float[Tensor, " replicas"]
    tokens: float


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What the model says about every sentence of the world, after so many steps."""

    step: int
    logits: Float[Tensor, "replicas sentences classes"]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Everything a training needs to go on after so many steps, as if it had never stopped.

    Batches follow from seed and step alone, so no generator has a state to keep. `kept`: its weights are
    worth looking at later; the others are only for going on.
    """

    step: int
    weights: dict[str, Tensor]  # each with a leading replica axis
    optimiser: dict[str, Tensor]  # of all parameters in one vector; see `adam.py`
    kept: bool


Event: TypeAlias = Started | Step | Evaluation | Checkpoint
