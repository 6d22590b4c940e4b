"""Gradient norms of a loss at the end of a sequence with respect to every input symbol.

With L the cross-entropy of predicting a sequence's first symbol at its end, and x_t the embedding of symbol t, this is
|dL/dx_t|. In a plain recurrent network it contains a product of T - t matrices, dh_T/dh_t = prod diag(1 - h^2) U, which
vanishes or explodes with their number (Hochreiter 1991; Bengio, Simard and Frasconi 1994; Pascanu, Mikolov and Bengio
2013). Computed in double precision: single precision underflows near 1e-45, which a plain network with the default
initialization reaches within 200 symbols.
"""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor, nn

from explorer.inspection.load_model import LoadedModel, to_array
from explorer.models.recurrence import RecurrentClassifier
from explorer.models.taps import intervene
from explorer.tasks.recall import RecallConfig, evaluation_sequences

SEQUENCES = 64  # doubling them changes the ratio of first to last by 2 %
_MAX_SYMBOLS = 2**14  # of all replicas, whose activations are held for one backward pass: about 20 MB


def input_gradient_norms(loaded: LoadedModel, length: int | None = None) -> Float[ndarray, "replicas time"]:
    """Return the mean |dL/dx_t| of every replica over fresh sequences, by default of the training length."""
    task = loaded.config.task_as(RecallConfig)
    ids = evaluation_sequences(task, length or task.length, SEQUENCES)
    return to_array(gradient_norms(loaded.stack, ids, loaded.config.replicas))


def gradient_norms(
    stack: nn.Module, ids: Int[Tensor, "sequences time"], replicas: int
) -> Float[Tensor, "replicas time"]:
    """Return the mean |dL/dx_t| over these sequences for a stack of models with the tap `embedded`."""
    model = copy.deepcopy(stack).double().requires_grad_(False)
    total = torch.zeros(replicas, ids.shape[-1], dtype=torch.float64)
    for chunk in torch.split(ids, max(1, _MAX_SYMBOLS // (replicas * ids.shape[-1]))):
        total += _norms(model, chunk.expand(replicas, *chunk.shape) if replicas > 1 else chunk).view(replicas, -1)
    return total / len(ids)


def _norms(model: nn.Module, ids: Int[Tensor, "*replicas some time"]) -> Float[Tensor, "*replicas time"]:
    """Return the norms over the width, summed over the sequences."""
    embedded: list[Tensor] = []

    def replace_embedding(value: Tensor, step: int) -> Tensor:
        embedded.append(value.detach().requires_grad_())
        return embedded[-1]

    with torch.enable_grad(), intervene(model, {"embedded": replace_embedding}):
        logits = model(ids)
        # The sum: the loss of one sequence does not depend on the others.
        loss = F.cross_entropy(logits.flatten(0, -2), ids[..., 0].flatten(), reduction="sum")
    (gradient,) = torch.autograd.grad(loss, embedded)
    # A Transformer prepends a query token to the symbols.
    norms: Tensor = gradient[..., -ids.shape[-1] :, :].norm(dim=-1)
    return norms.sum(dim=-2)


def spectral_radii(loaded: LoadedModel) -> Float[ndarray, " replicas"]:
    """Return the largest absolute eigenvalue of each replica's recurrent matrix; only for a plain recurrent network."""
    assert isinstance(loaded.stack, RecurrentClassifier)
    weight = loaded.stack.cell.recurrent.weight
    radii = torch.linalg.eigvals(weight.detach().double()).abs().amax(dim=-1)
    return to_array(radii.view(loaded.config.replicas))
