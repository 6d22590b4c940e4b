"""Previous-token heads and induction heads: their scores, and the losses on the second copy without each head.

A previous-token head attends to the token before. An induction head attends, from a token of the second copy, to the
token after its earlier occurrence, and so finds the token that comes next (Elhage et al. 2021; Olsson et al. 2022).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy import ndarray
from torch import Tensor

from explorer.inspection.load_model import LoadedModel, to_array
from explorer.models.configs import TransformerTaggerConfig
from explorer.models.taps import Intervention, intervene, record
from explorer.models.transformer_tagger import TransformerTagger
from explorer.tasks.sequence_labelling.induction import InductionConfig
from explorer.tasks.sequence_labelling.induction_rows import evaluation_rows, head_scores, in_second_copy
from explorer.tasks.sequence_labelling.rows import Rows, masked_mean, score

ROWS, SEED = 128, 1  # other rows than those of the evaluations in training
Ablation = Literal["zero", "mean"]


@dataclass(frozen=True, eq=False)
class InductionScores:
    """Scores of every head and the losses of every seed, on the same rows for all models."""

    previous: Float[ndarray, "replicas layers heads"]  # see `head_scores`
    induction: Float[ndarray, "replicas layers heads"]
    first_copy_loss: Float[ndarray, " replicas"]  # nats per symbol
    second_copy_loss: Float[ndarray, " replicas"]


@torch.inference_mode()
def measure_scores(loaded: LoadedModel) -> InductionScores:
    """Score every head of every seed."""
    task, rows = _rows(loaded)
    replicas = loaded.config.replicas
    with record(loaded.stack) as trace:
        _, losses = score(loaded.stack, rows, replicas)
    second = in_second_copy(task, rows)
    previous, induction = head_scores(task, trace, rows, replicas)
    return InductionScores(
        to_array(previous),
        to_array(induction),
        to_array(masked_mean(losses, rows.mask & ~second)),
        to_array(masked_mean(losses, second)),
    )


@torch.inference_mode()
def loss_without(
    loaded: LoadedModel, heads: Sequence[Sequence[tuple[int, int]]], ablation: Ablation
) -> Float[ndarray, " replicas"]:
    """Return the loss on the second copy of each seed without its own heads, given as (layer, head).

    Their output is set to zero (Michel et al. 2019, section 3.2), or at all positions to its mean over these rows.
    """
    task, rows = _rows(loaded)
    second = in_second_copy(task, rows)
    model, replicas, layers = loaded.stack, loaded.config.replicas, tagger_config(loaded).layers
    visible = (rows.ids != task.symbols)[:, None, :, None]
    changes: dict[str, Intervention] = {}
    for layer in range(layers):
        ablated = torch.zeros(replicas, 1, tagger_config(loaded).heads, 1, 1, dtype=torch.bool)
        for replica, pairs in enumerate(heads):
            for _, head in (pair for pair in pairs if pair[0] == layer):
                ablated[replica, 0, head] = True
        if ablated.any():
            changes[f"blocks.{layer}.attention.mixed"] = _replace(ablated, visible, ablation)
    with intervene(model, changes):
        _, losses = score(model, rows, replicas)
    return to_array(masked_mean(losses, second))


def _replace(
    ablated: Bool[Tensor, "replicas 1 heads 1 1"], visible: Bool[Tensor, "batch 1 time 1"], ablation: Ablation
) -> Callable[[Tensor, int], Tensor]:
    """Return an intervention on the outputs of the heads of a layer."""

    def change(mixed: Tensor, _: int) -> Tensor:
        stacked = mixed.view(len(ablated), -1, *mixed.shape[-3:])
        new = torch.zeros_like(stacked)
        if ablation == "mean":
            new = ((stacked * visible).sum(dim=(1, 3), keepdim=True) / visible.sum()).expand_as(stacked)
        return torch.where(ablated, new, stacked).view_as(mixed)

    return change


def head_losses(loaded: LoadedModel, ablation: Ablation) -> Float[ndarray, "replicas layers heads"]:
    """Return the loss on the second copy of each seed without each head in turn."""
    config, replicas = tagger_config(loaded), loaded.config.replicas
    losses = [
        [loss_without(loaded, [[(layer, head)]] * replicas, ablation) for head in range(config.heads)]
        for layer in range(config.layers)
    ]
    return np.moveaxis(np.array(losses), -1, 0)


def _rows(loaded: LoadedModel) -> tuple[InductionConfig, Rows]:
    task = loaded.config.task_as(InductionConfig)
    return task, evaluation_rows(task, ROWS, SEED)


def tagger_config(loaded: LoadedModel) -> TransformerTaggerConfig:
    """Return the settings of the model."""
    assert isinstance(loaded.stack, TransformerTagger)
    return loaded.stack.config
