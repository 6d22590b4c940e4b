"""Control experiment for copy tasks: a small causal Transformer trained with and without attention.

If the target at each position is the token just read (as in the original notebook), the task needs no attention. If
the copy follows the source and a separator, every token has to be fetched from an earlier position. The models are
trained on request, on fresh sequences in every step.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import product

import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from explorer.inspection.attention.head_ablation import Ablation, interventions
from explorer.inspection.load_model import to_array
from explorer.models.configs import TransformerTextConfig
from explorer.models.layers import stack
from explorer.models.taps import intervene
from explorer.models.transformer_decoder import TransformerDecoder
from explorer.seeds import generator
from explorer.tasks.sequence_labelling.rows import position_losses
from explorer.training.config import Optimiser
from explorer.training.optimisers import ReplicaOptimizer

LENGTH, SYMBOLS = 12, 20  # as in the notebook
SEQUENCES, TEST_SEQUENCES = 24, 128  # per training step; per evaluation
STEPS, SEEDS = 250, 3
EVALUATION_STEPS = (0, 5, 10, 20, 35, 50, 75, 100, 125, 150, 175, 200, 225, 250)  # steps
_MODEL = TransformerTextConfig(
    width=32,
    heads=4,
    layers=2,
    hidden=64,
    positions="sinusoidal",
    norm="layer",
    norm_place="post",
    activation="relu",
    biases=True,
    start="usual",
)


@dataclass(frozen=True)
class CopyAccuracy:
    """Token accuracy on fresh sequences during training, with attention (True) and without (False)."""

    steps: tuple[int, ...]
    by_attention: Mapping[bool, Float[ndarray, "steps replicas"]]


def train_copy_models(separated: bool) -> CopyAccuracy:
    """Train both models on the notebook's copy task, or if `separated` on a copy after a separator."""
    return CopyAccuracy(
        EVALUATION_STEPS, {with_attention: _train(separated, with_attention) for with_attention in (True, False)}
    )


def _train(separated: bool, with_attention: bool) -> Float[ndarray, "steps replicas"]:
    words, length = SYMBOLS + separated, LENGTH * (1 + separated) + separated
    seeds = range(SEEDS)
    model = stack([TransformerDecoder(_MODEL, words, length, generator(seed, "start")) for seed in seeds])
    optimizer = ReplicaOptimizer(model, Optimiser(learning_rate=5e-3), SEEDS, 0.0)
    test_batch = _copy_batch(separated, TEST_SEQUENCES, "copying/fresh")
    accuracies = []
    # Without attention the output of every head is zero, so that no position sees another.
    no_heads = Ablation(frozenset(product(range(_MODEL.layers), range(_MODEL.heads))))
    with nullcontext() if with_attention else intervene(model, interventions(model, no_heads)):
        for step in range(STEPS + 1):
            if step in EVALUATION_STEPS:
                with torch.inference_mode():
                    accuracies.append(_accuracy(model, *test_batch))
            ids, targets = _copy_batch(separated, SEQUENCES, f"copying/{step}")
            losses = _loss(model(ids), targets)
            optimizer.zero_grad()
            losses.backward(torch.ones(SEEDS))  # type: ignore[no-untyped-call]
            optimizer.step(step + 1, STEPS + 1)
    return to_array(torch.stack(accuracies))


def _copy_batch(separated: bool, count: int, purpose: str) -> tuple[Tensor, Tensor]:
    """Return inputs and targets, one batch per seed; positions without a target are -1."""
    rows = [torch.randint(SYMBOLS, (count, LENGTH), generator=generator(seed, purpose)) for seed in range(SEEDS)]
    source = torch.stack(rows)
    if not separated:
        return source, source
    separator = torch.full((*source.shape[:-1], 1), SYMBOLS)
    no_targets = torch.full((*source.shape[:-1], LENGTH), -1)
    # The target after the separator is the first token, then the second, and so on; the last input has no target.
    return torch.cat((source, separator, source), dim=-1), torch.cat(
        (no_targets, source, -torch.ones_like(separator)), dim=-1
    )


def _loss(
    logits: Float[Tensor, "replicas batch time words"], targets: Int[Tensor, "replicas batch time"]
) -> Float[Tensor, " replicas"]:
    counted = targets >= 0
    return (position_losses(logits, targets.clamp_min(0)) * counted).sum(dim=(-2, -1)) / counted.sum(dim=(-2, -1))


def _accuracy(model: TransformerDecoder, ids: Tensor, targets: Tensor) -> Float[Tensor, " replicas"]:
    right = (model(ids).argmax(dim=-1) == targets) & (targets >= 0)
    return right.sum(dim=(-2, -1)) / (targets >= 0).sum(dim=(-2, -1))
