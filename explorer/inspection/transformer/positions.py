"""Learned position vectors before and after training, and whether untrained Transformers see the order of words.

The second needs no training: without positions and without a mask each output is the same sum over the same set of
words, whatever the weights (Vaswani et al. 2017, section 3.5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from explorer.inspection.load_model import to_array
from explorer.models.configs import TransformerTaggerConfig
from explorer.models.transformer_tagger import TransformerTagger
from explorer.run_store.store import StoredRun
from explorer.seeds import generator
from explorer.training.model_factory import build_model

POSITION_KINDS = ("none", "sinusoidal", "learned", "rotary")
SEEDS = 8
_SIZES = {"width": 32, "heads": 2, "hidden": 64, "layers": 2}


def learned_positions(run: StoredRun) -> tuple[Float[ndarray, "places width"], Float[ndarray, "places width"]]:
    """Return the position vectors of the first seed before (drawn again) and after training. Raises DamagedRun."""
    name = "position.weight"
    single = replace(run.config, replicas=1)
    return to_array(build_model(single).state_dict()[name]), run.weights()[name][0]


@dataclass(frozen=True, eq=False)
class OrderDistance:
    """Distance between the vectors of two sentences in models of one kind, relative to the vectors' length."""

    positions: str
    causal: bool
    sentence_distance: Float[ndarray, " seeds"]  # between the means over the words
    # Of the word that differs most; None if the sentences have different words.
    word_distance: Float[ndarray, " seeds"] | None


@torch.inference_mode()
def word_order_distances(first: Sequence[str], second: Sequence[str], seeds: int = SEEDS) -> list[OrderDistance]:
    """Compare two sentences in untrained encoders and decoders of equal weights with every kind of positions."""
    vocabulary = sorted({*first, *second})
    ids = [torch.tensor([[vocabulary.index(word) for word in words]]) for words in (first, second)]
    pairs = _matching_positions(first, second)
    distances = []
    for causal in (False, True):
        for kind in POSITION_KINDS:
            config = TransformerTaggerConfig(**_SIZES, positions=kind, causal=causal)  # type: ignore[arg-type]
            per_seed = [_sentence_distances(config, seed, len(vocabulary), ids, pairs) for seed in range(seeds)]
            sentence, words = np.array(per_seed).T
            distances.append(OrderDistance(kind, causal, sentence, words if pairs else None))
    return distances


def _matching_positions(first: Sequence[str], second: Sequence[str]) -> list[tuple[int, int]]:
    """Return pairs of positions of equal words, if both sentences have the same words."""
    if sorted(first) != sorted(second):
        return []
    order = [sorted(range(len(words)), key=words.__getitem__) for words in (first, second)]
    return list(zip(*order, strict=True))


def _sentence_distances(
    config: TransformerTaggerConfig, seed: int, words: int, ids: Sequence[Tensor], pairs: Sequence[tuple[int, int]]
) -> tuple[float, float]:
    longest = max(len(one[0]) for one in ids)
    model = TransformerTagger(config, words + 1, 1, longest, generator(seed, "positions/order")).eval()
    a, b = (model.features(one)[0] for one in ids)
    each = [_relative_distance(a[i], b[j]) for i, j in pairs]
    return _relative_distance(a.mean(dim=0), b.mean(dim=0)), max(each, default=float("nan"))


def _relative_distance(a: Float[Tensor, " width"], b: Float[Tensor, " width"]) -> float:
    return float((a - b).norm() / ((a.norm() + b.norm()) / 2).clamp_min(1e-12))
