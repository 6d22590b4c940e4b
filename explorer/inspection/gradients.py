"""How far a loss at the end of a sequence reaches back: the gradient at every symbol that was read.

With L the cross-entropy of a sequence's first symbol, asked at its end, and x_t the vector with which symbol t enters
the model, this is |dL/dx_t|. It runs back through every step between: through a plain recurrent network it is a product
of T - t matrices, dh_T/dh_t = prod diag(1 - h^2) U, which vanishes or explodes with their number (Hochreiter 1991;
Bengio, Simard and Frasconi 1994; Pascanu, Mikolov and Bengio 2013). In double precision: single underflows to 0 near
1e-45, which a plain net of usual start reaches within 200 symbols.
"""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor, nn

from explorer.inspection.opening import OpenedModel, to_array
from explorer.models.recurrence import RecurrentClassifier
from explorer.models.taps import intervene
from explorer.tasks.recall import RecallConfig
from explorer.tasks.sequences import fresh

SEQUENCES = 64  # twice as many change the ratio of first to last by two in a hundred
_AT_ONCE = 2**14  # symbols of one replica whose steps are held for the way back


def along_sequence(found: OpenedModel, length: int | None = None) -> Float[ndarray, "replicas time"]:
    """|dL/dx_t| of every replica at symbols 1 to T of fresh sequences, a mean over them, by default of the length of
    its training."""
    task = found.config.on(RecallConfig)
    ids = fresh(task, length or task.length, SEQUENCES)
    return to_array(gradients(found.stack, ids, found.config.replicas))


def gradients(stack: nn.Module, ids: Int[Tensor, "sequences time"], replicas: int) -> Float[Tensor, "replicas time"]:
    """The same for any sequences and a stack of models with the tap `embedded`, whose weights stay as they are."""
    model = copy.deepcopy(stack).double().requires_grad_(False)
    total = torch.zeros(replicas, ids.shape[-1], dtype=torch.float64)
    for some in torch.split(ids, max(1, _AT_ONCE // ids.shape[-1])):
        total += _norms(model, some.expand(replicas, *some.shape) if replicas > 1 else some).view(replicas, -1)
    return total / len(ids)


def _norms(model: nn.Module, ids: Int[Tensor, "*replicas some time"]) -> Float[Tensor, "*replicas time"]:
    """The norms over the width, summed over the sequences."""
    entered: list[Tensor] = []

    def enter(value: Tensor, step: int) -> Tensor:
        entered.append(value.detach().requires_grad_())
        return entered[-1]

    with torch.enable_grad(), intervene(model, {"embedded": enter}):
        logits = model(ids)
        # A sum: what one sequence loses depends on no other.
        loss = F.cross_entropy(logits.flatten(0, -2), ids[..., 0].flatten(), reduction="sum")
    (slope,) = torch.autograd.grad(loss, entered)
    # A Transformer puts a question before the first symbol.
    norms: Tensor = slope[..., -ids.shape[-1] :, :].norm(dim=-1)
    return norms.sum(dim=-2)


def spectral_radii(found: OpenedModel) -> Float[ndarray, " replicas"]:
    """The largest absolute eigenvalue of each replica's recurrent matrix. Only for a plain recurrent network."""
    assert isinstance(found.stack, RecurrentClassifier)
    weight = found.stack.cell.recurrent.weight
    radii = torch.linalg.eigvals(weight.detach().double()).abs().amax(dim=-1)
    return to_array(radii.view(found.config.replicas))
