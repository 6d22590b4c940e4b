"""Learned positions before and after training; and whether a Transformer sees the order of words: two sentences, read
by untrained models with and without positions.

No training is needed for the second: without positions and without a mask each output is the same sum over the same
set of words, whatever the weights (Vaswani et al. 2017, section 3.5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from explorer.inspection.opening import to_array
from explorer.models.configs import TransformerTaggerConfig
from explorer.models.transformer_tagger import TransformerTagger
from explorer.seeds import generator
from explorer.training.building import build
from explorer.training.store import StoredRun

KINDS = ("none", "sinusoidal", "learned", "rotary")
SEEDS = 8
_SIZES = {"width": 32, "heads": 2, "hidden": 64, "layers": 2}


def learned(run: StoredRun) -> tuple[Float[ndarray, "places width"], Float[ndarray, "places width"]]:
    """The learned vectors of a run's first seed, as they started and as training left them. Raises DamagedRun.

    Runs that ship keep their last weights only; the first are drawn again, and come out the same.
    """
    name = "position.weight"
    alone = replace(run.config, replicas=1)
    return to_array(build(alone).state_dict()[name]), run.weights()[name][0]


@dataclass(frozen=True, eq=False)
class Order:
    """How far apart two sentences stand in models of one kind, as a share of the length of their vectors."""

    positions: str
    causal: bool
    sentence: Float[ndarray, " seeds"]  # means over the words
    words: Float[ndarray, " seeds"] | None  # the word that differs most; None if they have not the same words


@torch.inference_mode()
def word_order(first: Sequence[str], second: Sequence[str], seeds: int = SEEDS) -> list[Order]:
    """Both sentences read by every kind of model: an encoder, and a decoder with its causal mask.

    The models of one seed start alike but for their positions.
    """
    known = sorted({*first, *second})
    ids = [torch.tensor([[known.index(word) for word in words]]) for words in (first, second)]
    pairs = _pairs(first, second)
    found = []
    for causal in (False, True):
        for kind in KINDS:
            config = TransformerTaggerConfig(**_SIZES, positions=kind, causal=causal)  # type: ignore[arg-type]
            apart = [_apart(config, seed, len(known), ids, pairs) for seed in range(seeds)]
            sentence, words = np.array(apart).T
            found.append(Order(kind, causal, sentence, words if pairs else None))
    return found


def _pairs(first: Sequence[str], second: Sequence[str]) -> list[tuple[int, int]]:
    """Where each word of the first sentence stands in the second, if both have the same words."""
    if sorted(first) != sorted(second):
        return []
    order = [sorted(range(len(words)), key=words.__getitem__) for words in (first, second)]
    return list(zip(*order, strict=True))


def _apart(
    config: TransformerTaggerConfig, seed: int, words: int, ids: Sequence[Tensor], pairs: Sequence[tuple[int, int]]
) -> tuple[float, float]:
    longest = max(len(one[0]) for one in ids)
    model = TransformerTagger(config, words + 1, 1, longest, generator(seed, "positions/order")).eval()
    a, b = (model.features(one)[0] for one in ids)
    each = [_relative(a[i], b[j]) for i, j in pairs]
    return _relative(a.mean(dim=0), b.mean(dim=0)), max(each, default=float("nan"))


def _relative(a: Float[Tensor, " width"], b: Float[Tensor, " width"]) -> float:
    return float((a - b).norm() / ((a.norm() + b.norm()) / 2).clamp_min(1e-12))
