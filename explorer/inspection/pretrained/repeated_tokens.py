"""Induction heads of a language model, on random tokens that occur twice in the same order.

An induction head attends, from a token of the second copy, to the token after its earlier occurrence (Olsson et al.
2022). It depends on a previous-token head in a layer below (Elhage et al. 2021). Heads are chosen by their scores on
some sequences, and removed (their output is zero) on others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from jaxtyping import Float, Float64, Int
from numpy import ndarray
from torch import Tensor

from explorer.errors import InvalidSetting
from explorer.inspection.attention.attend import forward_with_taps, layer_values
from explorer.inspection.attention.attention_model import AttentionModel
from explorer.inspection.attention.head_ablation import Head, measure_without_heads
from explorer.inspection.pretrained.intervals import Estimate, estimate
from explorer.inspection.verdicts import MeanDifference, mean_difference
from explorer.models.structure import AttentionLayout
from explorer.seeds import generator
from explorer.tasks.sequence_labelling.rows import position_losses

Ids: TypeAlias = Int[Tensor, "sequences time"]
PERIOD = 24  # tokens of each copy
SEQUENCES = 16
MOST_REMOVED = 4  # induction heads
DRAWS = 20  # groups of random heads
_CHUNK = 4  # sequences in one forward pass


def repeated_tokens(
    pool: Sequence[int], seed: int, sequences: int = SEQUENCES, period: int = PERIOD, before: Sequence[int] = ()
) -> Ids:
    """Return sequences of `period` random tokens of the pool, twice. Raises InvalidSetting for a small pool."""
    if len(pool) < period:
        raise InvalidSetting(f"{period} different tokens are needed; this model has {len(pool)} that can be used.")
    draws, tokens = generator(seed, "repeated tokens"), torch.tensor(tuple(pool))
    first = torch.stack([tokens[torch.randperm(len(tokens), generator=draws)[:period]] for _ in range(sequences)])
    start = torch.tensor(tuple(before), dtype=torch.int64).expand(sequences, -1)
    return torch.cat([start, first, first], dim=1)


@dataclass(frozen=True, eq=False)
class RepeatScores:
    """Mean attention of every head to the two tokens that matter, for each sequence."""

    # From the second copy to the token after the earlier occurrence.
    induction: Float[ndarray, "sequences layers heads"]
    previous: Float[ndarray, "sequences layers heads"]  # to the token before

    def best_induction_heads(self, count: int = MOST_REMOVED) -> tuple[Head, ...]:
        """Return the heads with the highest induction scores, the highest first."""
        return _highest(self.induction.mean(axis=0), count)

    def previous_token_head(self) -> Head | None:
        """Return the head with the highest previous-token score below the best induction head; None in layer 0."""
        layer = self.best_induction_heads(1)[0][0]
        return _highest(self.previous.mean(axis=0)[:layer], 1)[0] if layer else None

    def induction_of(self, head: Head) -> Estimate:
        return estimate(self.induction[:, head[0], head[1]])

    def previous_of(self, head: Head) -> Estimate:
        return estimate(self.previous[:, head[0], head[1]])


def _highest(scores: Float[ndarray, "layers heads"], count: int) -> tuple[Head, ...]:
    order = np.argsort(-scores, axis=None, kind="stable")[:count]
    return tuple((int(i) // scores.shape[1], int(i) % scores.shape[1]) for i in order)


def repeat_scores(
    weights: Float[Tensor, "layers heads query key"], period: int
) -> tuple[Float[Tensor, "layers heads"], Float[Tensor, "layers heads"]]:
    """Return the induction scores and the previous-token scores of one sequence, which ends with both copies."""
    time = weights.shape[-1]
    second = torch.arange(time - period, time)
    later = torch.arange(1, time)
    return weights[..., second, second - period + 1].mean(dim=-1), weights[..., later, later - 1].mean(dim=-1)


@torch.inference_mode()
def score_heads(model: AttentionModel, ids: Ids, period: int = PERIOD) -> RepeatScores:
    """Score every head on each sequence."""
    found = []
    for row in ids.tolist():
        _, trace = forward_with_taps(model, row)
        found.append(repeat_scores(layer_values(model, trace, "weights"), period))
    induction, previous = (torch.stack(scores).numpy() for scores in zip(*found, strict=True))
    return RepeatScores(induction, previous)


@torch.inference_mode()
def losses_without(
    model: AttentionModel, ids: Ids, removed: Sequence[Sequence[Head]], period: int = PERIOD
) -> Float64[ndarray, "groups sequences"]:
    """Return the loss on the second copy, in nats per token, without each of these groups of heads (none: no heads).

    Only tokens that can be predicted from their first occurrence count: all of the second copy but the first. Raises
    InvalidSetting for an unknown head.
    """

    def losses(chunk: Ids) -> Float64[ndarray, "groups rows"]:
        def measure(states: Tensor) -> Tensor:
            return position_losses(model.readout(states[:, -period:-1]), chunk[:, 1 - period :]).double().mean(dim=1)

        return measure_without_heads(model, chunk, removed, measure)

    return np.concatenate([losses(chunk) for chunk in torch.split(ids, _CHUNK)], axis=1)


def matched_heads(
    heads: Sequence[Head], excluded: Sequence[Head], layout: AttentionLayout, draws: int = DRAWS
) -> list[tuple[Head, ...]]:
    """Return random groups of heads for comparison: each has as many heads in each layer as the group `heads`.

    No group occurs twice and none contains one of the `excluded` heads; there are fewer than `draws` if fewer exist.
    """
    rng = np.random.default_rng(0)
    layers = sorted({layer for layer, _ in heads})
    others = {
        layer: [head for head in range(layout.heads) if (layer, head) not in {*heads, *excluded}] for layer in layers
    }
    counts = {layer: sum(at == layer for at, _ in heads) for layer in layers}
    if any(len(others[layer]) < counts[layer] for layer in layers):
        return []
    found: dict[tuple[Head, ...], None] = {}
    for _ in range(50 * draws):
        group = tuple(
            (layer, int(head))
            for layer in layers
            for head in sorted(rng.choice(others[layer], counts[layer], replace=False))
        )
        found[group] = None
        if len(found) == draws:
            break
    return list(found)


@dataclass(frozen=True, eq=False)
class Removal:
    """The loss on the second copy with all heads, without a group of heads, and without random groups instead."""

    heads: tuple[Head, ...]
    with_all: Float64[ndarray, " sequences"]  # nats per token
    without: Float64[ndarray, " sequences"]
    controls: Float64[ndarray, "groups sequences"]

    @property
    def increase(self) -> MeanDifference:
        """How much the loss rises: mean over the sequences with Student's t interval of the pairs."""
        found = mean_difference(self.with_all, self.without, paired=True)
        assert found is not None, "there are several sequences"
        return found

    @property
    def control_losses(self) -> Float64[ndarray, " groups"]:
        """The mean loss without each random group."""
        return self.controls.mean(axis=1)

    @property
    def p(self) -> float:
        """The share of groups, counting this one, without which the loss is at least as high as without this one."""
        return (1 + int((self.control_losses >= self.without.mean()).sum())) / (1 + len(self.controls))


def measure_removal(
    model: AttentionModel,
    ids: Ids,
    heads: Sequence[Head],
    excluded: Sequence[Head] = (),
    draws: int = DRAWS,
    period: int = PERIOD,
) -> Removal:
    """Remove a group of heads, and random groups of the same layers without the `excluded` ones instead."""
    groups = matched_heads(heads, excluded, model.layout, draws)
    losses = losses_without(model, ids, [(), heads, *groups], period)
    return Removal(tuple(heads), losses[0], losses[1], losses[2:])
