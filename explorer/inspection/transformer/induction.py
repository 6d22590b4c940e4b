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

from explorer.errors import InvalidSetting
from explorer.inspection.attention.attend import Head
from explorer.inspection.load_model import LoadedModel, to_array
from explorer.inspection.words.labelling import parse_row
from explorer.models.configs import TransformerTaggerConfig
from explorer.models.taps import Intervention, intervene, record
from explorer.models.transformer_tagger import TransformerTagger
from explorer.tasks.sequence_labelling.induction import (
    ROLES,
    InductionConfig,
    evaluation_rows,
    head_scores,
    in_second_copy,
)
from explorer.tasks.sequence_labelling.rows import Rows, logits_per_replica, masked_mean, score

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


def find_roles(scores: InductionScores) -> tuple[dict[str, Head], ...]:
    """Return which head of each seed, as (layer, head), has which of the ROLES; {} for a model with one layer.

    The induction head has the highest induction score above the first layer, the previous-token head the highest
    previous-token score in a layer below. The control of each is the head with the lowest score in the same layer.
    """
    if scores.induction.shape[1] < 2:
        return tuple({} for _ in scores.induction)
    return tuple(map(_roles_of_seed, scores.previous, scores.induction))


def _roles_of_seed(
    previous: Float[ndarray, "layers heads"], induction: Float[ndarray, "layers heads"]
) -> dict[str, Head]:
    layer, head = _highest(induction[1:])
    layer += 1
    below, other = _highest(previous[:layer])
    roles = {"previous": (below, other), "induction": (layer, head)}
    controls = {"previous_control": (below, previous), "induction_control": (layer, induction)}
    if induction.shape[1] > 1:
        roles |= {name: (at, int(scores[at].argmin())) for name, (at, scores) in controls.items()}
    return {name: roles[name] for name in ROLES if name in roles}


def _highest(scores: Float[ndarray, "layers heads"]) -> Head:
    layer, head = np.unravel_index(scores.argmax(), scores.shape)
    return int(layer), int(head)


@torch.inference_mode()
def loss_without(
    loaded: LoadedModel, heads: Sequence[Sequence[Head]], ablation: Ablation
) -> Float[ndarray, " replicas"]:
    """Return the loss on the second copy of each seed without its own heads.

    Their output is set to zero (Michel et al. 2019, section 3.2), or at all positions to its mean over these rows.
    """
    task, rows = _rows(loaded)
    with intervene(loaded.stack, _without_heads(loaded, heads, rows.ids != task.symbols, ablation)):
        _, losses = score(loaded.stack, rows, loaded.config.replicas)
    return to_array(masked_mean(losses, in_second_copy(task, rows)))


def _without_heads(
    loaded: LoadedModel, heads: Sequence[Sequence[Head]], visible: Bool[Tensor, "batch time"], ablation: Ablation
) -> dict[str, Intervention]:
    """Return the interventions, by tap, that replace the outputs of the heads of each seed."""
    changes: dict[str, Intervention] = {}
    for layer in range(tagger_config(loaded).layers):
        ablated = torch.zeros(loaded.config.replicas, 1, tagger_config(loaded).heads, 1, 1, dtype=torch.bool)
        for replica, pairs in enumerate(heads):
            for _, head in (pair for pair in pairs if pair[0] == layer):
                ablated[replica, 0, head] = True
        if ablated.any():
            changes[f"blocks.{layer}.attention.mixed"] = _replace(ablated, visible[:, None, :, None], ablation)
    return changes


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


@dataclass(frozen=True, eq=False)
class RowReading:
    """What a model predicts after each symbol of a typed row but the last."""

    symbols: str
    repeated: tuple[bool, ...]  # whether the next symbol is the one that followed the same symbol before
    next_probability: Float[ndarray, "replicas positions"]  # of the next symbol of the row
    predicted: tuple[str, ...]  # the likeliest next symbol, by the mean over the seeds


@torch.inference_mode()
def read_row(loaded: LoadedModel, text: str, heads: Sequence[Sequence[Head]] = ()) -> RowReading:
    """Predict every symbol of a typed row, with the output of these heads of each seed set to zero.

    Raises InvalidSetting for a row that the task does not have.
    """
    task = loaded.config.task_as(InductionConfig)
    row = parse_row(task, text)
    if len(row.ids) < 2:
        raise InvalidSetting("One symbol has no next one. Write at least two.")
    ids = torch.tensor([row.ids])
    with intervene(loaded.stack, _without_heads(loaded, heads, torch.ones_like(ids, dtype=torch.bool), "zero")):
        logits = logits_per_replica(loaded.stack, ids, loaded.config.replicas)
    probabilities = logits[:, 0, :-1].softmax(dim=-1)
    following = ids[0, 1:]
    return RowReading(
        "".join(task.vocabulary[id] for id in row.ids),
        tuple(target == id for target, id in zip(row.targets[:-1], row.ids[1:], strict=True)),
        to_array(probabilities[:, torch.arange(len(following)), following]),
        tuple(task.labels[id] for id in probabilities.mean(dim=0).argmax(dim=-1).tolist()),
    )


def _rows(loaded: LoadedModel) -> tuple[InductionConfig, Rows]:
    task = loaded.config.task_as(InductionConfig)
    return task, evaluation_rows(task, ROWS, SEED)


def tagger_config(loaded: LoadedModel) -> TransformerTaggerConfig:
    """Return the settings of the model."""
    assert isinstance(loaded.stack, TransformerTagger)
    return loaded.stack.config
