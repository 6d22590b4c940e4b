"""Previous-token heads and induction heads: their scores, and the losses on the second copy without each head.

A previous-token head attends to the token before. An induction head attends, from a token of the second copy, to the
token after its earlier occurrence, and so finds the token that comes next (Elhage et al. 2021; Olsson et al. 2022).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from explorer.errors import InvalidSetting
from explorer.inspection.attention.attend import forward_with_taps
from explorer.inspection.attention.attention_model import attention_model
from explorer.inspection.attention.head_ablation import Ablation, Head, measure_without_heads, single_heads
from explorer.inspection.load_model import LoadedModel, shared_model, to_array
from explorer.inspection.words.labelling import parse_row
from explorer.models.taps import record
from explorer.run_store.store import StoredRun
from explorer.seeds import generator
from explorer.tasks.sequence_labelling import induction as induction_task
from explorer.tasks.sequence_labelling.rows import Rows, logits_per_replica, masked_mean, position_losses, score

ROWS, SEED = 128, 1  # other rows than those of the evaluations in training
Replacement = Literal["zero", "mean"]


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
    second = induction_task.in_second_copy(task, rows)
    previous, induction = induction_task.head_scores(task, trace, rows, replicas)
    return InductionScores(
        to_array(previous),
        to_array(induction),
        to_array(masked_mean(losses, rows.mask & ~second)),
        to_array(masked_mean(losses, second)),
    )


@torch.inference_mode()
def copy_accuracy(loaded: LoadedModel, length: int) -> Float[ndarray, " replicas"]:
    """Return the share of right symbols of the second copy in rows whose copies have this length."""
    task = loaded.config.task_as(induction_task.InductionConfig)
    rows = induction_task.draw_rows(task, [length] * ROWS, generator(SEED, f"induction/copies/{length}"))
    correct, _ = score(loaded.stack, rows, loaded.config.replicas)
    return to_array(masked_mean(correct.float(), induction_task.in_second_copy(task, rows)))


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
    return {name: roles[name] for name in induction_task.ROLES if name in roles}


def _highest(scores: Float[ndarray, "layers heads"]) -> Head:
    layer, head = np.unravel_index(scores.argmax(), scores.shape)
    return int(layer), int(head)


@torch.inference_mode()
def loss_without(
    loaded: LoadedModel, heads: Sequence[Sequence[Head]], ablation: Replacement
) -> Float[ndarray, " replicas"]:
    """Return the loss on the second copy of each seed with its own heads at zero, or at their mean over these rows."""
    losses = [_losses_of_seed(loaded, replica, [group], ablation) for replica, group in enumerate(heads)]
    return np.concatenate(losses)


def head_losses(loaded: LoadedModel, ablation: Replacement) -> Float[ndarray, "replicas layers heads"]:
    """Return the loss on the second copy of each seed without each head in turn."""
    layout = attention_model(loaded.single_replica(0)).layout
    groups = single_heads(layout)
    losses = [_losses_of_seed(loaded, replica, groups, ablation) for replica in range(loaded.config.replicas)]
    return np.stack(losses).reshape(-1, layout.layers, layout.heads)


def _losses_of_seed(
    loaded: LoadedModel, replica: int, groups: Sequence[Sequence[Head]], ablation: Replacement
) -> Float[ndarray, " groups"]:
    """Return the loss on the second copy of one seed without each of these groups of heads."""
    model, (task, rows) = attention_model(loaded.single_replica(replica)), _rows(loaded)
    second, visible = induction_task.in_second_copy(task, rows), rows.ids != task.symbols

    def measure(states: Tensor) -> Tensor:
        return masked_mean(position_losses(model.readout(states), rows.targets)[None], second)[0]

    return measure_without_heads(model, rows.ids, groups, measure, visible if ablation == "mean" else None)


@dataclass(frozen=True, eq=False)
class RowReading:
    """What a model predicts after each symbol of a typed row but the last."""

    symbols: str
    repeated: tuple[bool, ...]  # whether the next symbol is the one that followed the same symbol before
    next_probability: Float[ndarray, "replicas positions"]  # of the next symbol of the row
    predicted: tuple[str, ...]  # the likeliest next symbol, by the mean over the seeds


@torch.inference_mode()
def read_row(loaded: LoadedModel, text: str, heads: Sequence[Sequence[Head]] = ()) -> RowReading:
    """Predict every symbol of a typed row, without these heads of each seed. Raises InvalidSetting for a bad row."""
    task = loaded.config.task_as(induction_task.InductionConfig)
    row = parse_row(task, text)
    if len(row.ids) < 2:
        raise InvalidSetting("One symbol has no next one. Write at least two.")
    if heads:
        ablated = ((loaded.single_replica(i), frozenset(group)) for i, group in enumerate(heads))
        logits = torch.stack([forward_with_taps(model, row.ids, Ablation(group))[0] for model, group in ablated])
    else:
        logits = logits_per_replica(loaded.stack, torch.tensor([row.ids]), loaded.config.replicas)[:, 0]
    probabilities = logits[:, :-1].softmax(dim=-1)
    following = torch.tensor(row.ids[1:])
    return RowReading(
        "".join(task.vocabulary[id] for id in row.ids),
        tuple(target == id for target, id in zip(row.targets[:-1], row.ids[1:], strict=True)),
        to_array(probabilities[:, torch.arange(len(following)), following]),
        tuple(task.labels[id] for id in probabilities.mean(dim=0).argmax(dim=-1).tolist()),
    )


def _rows(loaded: LoadedModel) -> tuple[induction_task.InductionConfig, Rows]:
    task = loaded.config.task_as(induction_task.InductionConfig)
    return task, induction_task.evaluation_rows(task, ROWS, SEED)


# ---- of runs, as the page on induction heads shows them


@dataclass(frozen=True, eq=False)
class HeadMeasurements:
    """What is measured of the heads of every seed on fresh rows."""

    scores: InductionScores
    roles: tuple[dict[str, Head], ...]  # of each seed, see `find_roles`
    importance: Float[ndarray, "replicas layers heads"]  # rise of the loss on the second copy without each head


@dataclass(frozen=True, eq=False)
class AblationLosses:
    """The loss on the second copy of every seed, with all heads and without the head of each role."""

    base: Float[ndarray, " replicas"]
    without: Mapping[str, Float[ndarray, " replicas"]]


def predict_row(run: StoredRun, text: str) -> RowReading:
    """Predict every symbol of a typed row, see `read_row`. Raises DamagedRun."""
    return read_row(shared_model(run), text)


def measure_heads(run: StoredRun) -> HeadMeasurements:
    """Score the heads of every seed, and remove each of them. Raises DamagedRun."""
    loaded = shared_model(run)
    scores = measure_scores(loaded)
    rise = head_losses(loaded, "zero") - scores.second_copy_loss[:, None, None]
    return HeadMeasurements(scores, find_roles(scores), rise)


def ablation_losses(run: StoredRun, ablation: Replacement) -> AblationLosses:
    """Remove the head of each role in turn. Raises DamagedRun."""
    loaded = shared_model(run)
    scores = measure_scores(loaded)
    roles = find_roles(scores)
    without = {role: loss_without(loaded, [[heads[role]] for heads in roles], ablation) for role in roles[0]}
    return AblationLosses(scores.second_copy_loss, without)


def predict_row_without(run: StoredRun, text: str, role: str) -> tuple[RowReading, RowReading] | None:
    """Predict a row with and without the head of a role; None if it cannot be read. Raises DamagedRun."""
    loaded = shared_model(run)
    heads = [[each[role]] if role in each else [] for each in find_roles(measure_scores(loaded))]
    try:
        return read_row(loaded, text), read_row(loaded, text, heads)
    except InvalidSetting:
        return None
