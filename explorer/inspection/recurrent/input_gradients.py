"""Gradient norms of a loss at the end of a sequence with respect to every input symbol.

With L the cross-entropy of predicting a sequence's first symbol at its end, and x_t the embedding of symbol t, this is
|dL/dx_t|. In a plain recurrent network it contains a product of T - t matrices, dh_T/dh_t = prod diag(1 - h^2) U, which
vanishes or explodes with their number (Hochreiter 1991; Bengio, Simard and Frasconi 1994; Pascanu, Mikolov and Bengio
2013). Computed in double precision: single precision underflows near 1e-45, which a plain network with the default
initialization reaches within 200 symbols.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor, nn

from explorer.inspection.load_model import LoadedModel, load_model, to_array
from explorer.inspection.recurrent.gates import has_keep_gate, mean_keep_rates
from explorer.models.recurrence import RecurrentClassifier
from explorer.models.taps import intervene
from explorer.run_store.store import StoredRun
from explorer.tasks.recall import RecallConfig, evaluation_sequences
from explorer.training.config import default_config, with_settings
from explorer.training.model_factory import build_model
from explorer.training.record import Record

SEEDS = 8  # of untrained networks
SEQUENCES = 64  # doubling them changes the ratio of first to last by 2 %
_MAX_SYMBOLS = 2**14  # of all replicas, whose activations are held for one backward pass: about 20 MB


@dataclass(frozen=True, eq=False)
class GradientHistory:
    """Gradients and gates of one run at its snapshots."""

    steps: tuple[int, ...]
    norms: Float[ndarray, "steps replicas time"]
    shares: Float[ndarray, "replicas units"] | None  # that are kept at a step before training; None without gates
    radii: Float[ndarray, " replicas"] | None  # of a plain net before training


def gradient_history(run: StoredRun | Record) -> GradientHistory:
    """Return the gradients of a run at each of its snapshots. Raises DamagedRun."""
    steps = run.snapshot_steps()
    first = load_model(run, steps[0])
    recurrent = isinstance(first.stack, RecurrentClassifier)
    gated = recurrent and has_keep_gate(first)
    return GradientHistory(
        tuple(steps),
        np.stack([input_gradient_norms(load_model(run, step)) for step in steps]),
        mean_keep_rates(first) if gated else None,
        spectral_radii(first) if recurrent and not gated else None,
    )


@dataclass(frozen=True, eq=False)
class RecallOutcome:
    """What a run has learned, and how much gradient reaches its first symbol after training."""

    accuracy: Float[ndarray, " replicas"]
    gradient_ratio: Float[ndarray, " replicas"]  # the gradient at the first symbol divided by that at the last


def recall_outcome(run: StoredRun | Record) -> RecallOutcome:
    """Return the outcome of a run on recall. Raises DamagedRun."""
    norms = input_gradient_norms(load_model(run))
    return RecallOutcome(run.curves.last("accuracy"), norms[:, 0] / np.maximum(norms[:, -1], 1e-300))


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


# Untrained plain networks, by the spectral radius of their recurrent matrix


def gradient_norms_by_gain(gains: Sequence[float], length: int) -> Float[ndarray, "gains replicas time"]:
    """Return |dL/dx_t| of untrained networks whose recurrent matrices are scaled to these spectral radii."""
    norms = []
    for gain in gains:
        config = with_settings(default_config("recall", "rnn"), {"replicas": SEEDS, "length": length, "gain": gain})
        norms.append(input_gradient_norms(LoadedModel(config, build_model(config).requires_grad_(False), None)))
    stacked = np.stack(norms)
    stacked.flags.writeable = False
    return stacked


def linear_reference(
    norms: Float[ndarray, "gains replicas time"], gains: Sequence[float]
) -> Float[ndarray, "gains 1 time"]:
    """Return the norms of a linear network with the same last value: they scale as radius^(T - t)."""
    time = norms.shape[-1]
    growth = np.array(gains)[:, None, None] ** np.arange(time - 1, -1, -1)
    return np.median(norms, axis=1, keepdims=True)[..., -1:] * growth
