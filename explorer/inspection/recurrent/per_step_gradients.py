"""The gradient of shared recurrent weights as a sum of per-step terms.

A recurrent network uses one matrix U at every step. With a separate copy U_t for each step t, the chain rule gives

    dL/dU = sum over t of dL/dU_t                (backpropagation through time: Werbos 1990, Backpropagation through
                                                  time: what it does and how to do it)

The terms are computed with such copies.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor, nn

from explorer.inspection.load_model import LoadedModel, to_array
from explorer.models.layers import Linear
from explorer.models.recurrence import RecurrentClassifier
from explorer.models.taps import record
from explorer.tasks.recall import RecallConfig, evaluation_sequences

SEQUENCES = 64


@dataclass(frozen=True, eq=False)
class StepGradients:
    """The per-step terms of dL/dU of every replica, in double precision; L is the mean loss (nats) over sequences."""

    norms: Float[ndarray, "replicas time"]  # |dL/dU_t|
    projection: Float[ndarray, "replicas time"]  # component of dL/dU_t along dL/dU, divided by |dL/dU|; sums to 1
    max_error: float  # largest difference of an entry between the sum of the terms and autograd's gradient


def step_gradients(loaded: LoadedModel) -> StepGradients:
    """Compute the per-step gradients of a recurrent network on the recall task."""
    task, replicas = loaded.config.task_as(RecallConfig), loaded.config.replicas
    ids = evaluation_sequences(task, task.length, SEQUENCES)
    model = copy.deepcopy(loaded.stack).double()
    assert isinstance(model, RecurrentClassifier)
    inputs = ids.expand(replicas, *ids.shape) if replicas > 1 else ids
    weight = model.cell.recurrent.weight.requires_grad_()
    (reference,) = torch.autograd.grad(_loss(model, inputs), weight)
    per_step = PerStepWeights(model.cell.recurrent, ids.shape[-1])
    model.cell.recurrent = per_step
    gradients = torch.stack(torch.autograd.grad(_loss(model, inputs), per_step.step_weights))
    flat = gradients.view(len(gradients), replicas, -1)
    total = flat.sum(dim=0)
    projection = (flat * total).sum(dim=-1) / total.square().sum(dim=-1)
    max_error = (gradients.sum(dim=0) - reference).abs().max()
    return StepGradients(to_array(flat.norm(dim=-1).T), to_array(projection.T), float(max_error))


class PerStepWeights(Linear):
    """A recurrent layer with a separate weight matrix for every step, used one after the other."""

    def __init__(self, shared: Linear, steps: int) -> None:
        nn.Module.__init__(self)
        self.weight, self.bias = shared.weight, shared.bias
        self.step_weights = [shared.weight.detach().clone().requires_grad_() for _ in range(steps)]
        self._rest = iter(self.step_weights)

    def _next(self) -> Linear:
        here = copy.copy(self)
        here._parameters = {**self._parameters, "weight": next(self._rest)}  # type: ignore[dict-item]  # a leaf tensor serves as a parameter
        return here

    def forward(self, x: Float[Tensor, "*batch inputs"]) -> Float[Tensor, "*batch outputs"]:
        return Linear.forward(self._next(), x)

    def add_product(
        self, y: Float[Tensor, "*replicas batch outputs"], x: Float[Tensor, "*replicas batch inputs"]
    ) -> Float[Tensor, "*replicas batch outputs"]:
        return Linear.add_product(self._next(), y, x)


def _loss(model: nn.Module, ids: Int[Tensor, "*replicas batch time"]) -> Float[Tensor, ""]:
    """Return the sum over replicas of their mean losses; the gradients of replicas stay separate."""
    with torch.enable_grad(), record(model):  # recording makes the cell run step by step
        logits = model(ids)
        surprisal = F.cross_entropy(logits.flatten(0, -2), ids[..., 0].flatten(), reduction="sum")
    return surprisal / ids.shape[-2]
