"""The gradient of shared weights, step by step.

A recurrent net uses one matrix U at every step. Unrolled over time it is a deep net whose layers happen to be equal:
give each step t a copy U_t of its own, and by the chain rule

    dL/dU = sum over t of dL/dU_t                (backpropagation through time: Werbos 1990, Backpropagation through
                                                  time: what it does and how to do it)

So the terms of the sum are found just so: every step gets its copy, and the gradient of each is taken.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor, nn

from explorer.inspection.opening import OpenedModel, to_array
from explorer.models.layers import Linear
from explorer.models.recurrence import RecurrentClassifier
from explorer.models.taps import record
from explorer.tasks.recall import RecallConfig
from explorer.tasks.sequences import fresh

SEQUENCES = 64


@dataclass(frozen=True, eq=False)
class Terms:
    """The terms of dL/dU of every replica, in double precision; L is the mean loss over fresh sequences, in nats."""

    sizes: Float[ndarray, "replicas time"]  # |dL/dU_t|
    share: Float[ndarray, "replicas time"]  # of the whole: the part of dL/dU_t that points its way, over |dL/dU|
    whole: Float[ndarray, " replicas"]  # |dL/dU|
    off: float  # largest difference of an entry between the sum of the terms and autograd's own gradient


def terms(opened: OpenedModel) -> Terms:
    """The terms for a net on the recall task."""
    task, replicas = opened.config.on(RecallConfig), opened.config.replicas
    ids = fresh(task, task.length, SEQUENCES)
    model = copy.deepcopy(opened.stack).double()
    assert isinstance(model, RecurrentClassifier)
    beside = ids.expand(replicas, *ids.shape) if replicas > 1 else ids
    weight = model.cell.recurrent.weight.requires_grad_()
    (shared,) = torch.autograd.grad(_loss(model, beside), weight)
    copies = Copies(model.cell.recurrent, ids.shape[-1])
    model.cell.recurrent = copies
    of_each = torch.stack(torch.autograd.grad(_loss(model, beside), copies.of_step))
    by_step = of_each.view(len(of_each), replicas, -1)
    total = by_step.sum(dim=0)
    whole = total.norm(dim=-1)
    along = (by_step * total).sum(dim=-1) / whole.square()
    off = (of_each.sum(dim=0) - shared).abs().max()
    return Terms(to_array(by_step.norm(dim=-1).T), to_array(along.T), to_array(whole), float(off))


class Copies(Linear):
    """A recurrent matrix with a copy of its own for every step; the copies are used one after the other."""

    def __init__(self, shared: Linear, steps: int) -> None:
        nn.Module.__init__(self)
        self.weight, self.bias = shared.weight, shared.bias
        self.of_step = [shared.weight.detach().clone().requires_grad_() for _ in range(steps)]
        self._rest = iter(self.of_step)

    def _next(self) -> Linear:
        here = copy.copy(self)
        here._parameters = {**self._parameters, "weight": next(self._rest)}  # type: ignore[dict-item]  # a leaf as good as a parameter
        return here

    def forward(self, x: Float[Tensor, "*batch inputs"]) -> Float[Tensor, "*batch outputs"]:
        return Linear.forward(self._next(), x)

    def added_to(
        self, y: Float[Tensor, "*replicas batch outputs"], x: Float[Tensor, "*replicas batch inputs"]
    ) -> Float[Tensor, "*replicas batch outputs"]:
        return Linear.added_to(self._next(), y, x)


def _loss(model: nn.Module, ids: Int[Tensor, "*replicas batch time"]) -> Float[Tensor, ""]:
    """Of every replica the mean over its sequences, added up: no replica's weights enter another one's loss."""
    with torch.enable_grad(), record(model):  # watched, so that every step is taken by itself
        logits = model(ids)
        surprise = F.cross_entropy(logits.flatten(0, -2), ids[..., 0].flatten(), reduction="sum")
    return surprise / ids.shape[-2]
