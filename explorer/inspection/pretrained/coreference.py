"""Whether a head finds what “it” means: two sentences that differ in one word, which decides between two nouns.

A head switches between the two sentences of a pair if it gives more attention to the right noun than to the other one
in both. Many heads are tried, so one of them switches often by chance. The control changes, in random pairs, which noun
counts as right; the best head of all must then be compared with the best head of each such draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float64
from numpy import ndarray

from explorer.hub.tokenizer import PretrainedTokenizer
from explorer.inspection.attention.attend import forward_with_taps, layer_values
from explorer.inspection.attention.attention_model import AttentionModel
from explorer.inspection.attention.head_ablation import Head
from explorer.inspection.pretrained.intervals import Estimate, estimate_share
from explorer.inspection.pretrained.senses import find_occurrence
from explorer.inspection.pretrained.texts import PRONOUN_PAIRS, PronounPair

_DRAWS = 2_000


@dataclass(frozen=True, eq=False)
class Coreference:
    """How much more attention each head gives to the first noun of a pair than to the second one."""

    preference: Float[ndarray, "pairs 2 layers heads"]  # in the sentence about the first noun, and about the second
    query: str  # the word whose attention is measured

    def switches(self) -> Float[ndarray, "pairs layers heads"]:
        """Return 1 for each pair in which a head prefers the right noun twice, −1 for the wrong one twice, else 0."""
        about_first, about_second = np.sign(self.preference[:, 0]), np.sign(self.preference[:, 1])
        return (about_first - about_second) / 2

    @property
    def best_head(self) -> Head:
        """The head that switches in most pairs."""
        counts = (self.switches() > 0).sum(axis=0)
        layer, head = np.unravel_index(int(counts.argmax()), counts.shape)
        return int(layer), int(head)

    def best_share(self) -> Estimate:
        """Return the share of pairs in which the best head switches."""
        return estimate_share(self.switches()[(slice(None), *self.best_head)] > 0)

    def best_by_chance(self) -> Float64[ndarray, " draws"]:
        """Return the share of the best head of each draw, with the two nouns exchanged in random pairs."""
        rng = np.random.default_rng(0)
        switches = self.switches().reshape(len(self.preference), -1)
        right, wrong = (switches > 0).astype(np.float64), (switches < 0).astype(np.float64)
        exchanged = rng.integers(2, size=(_DRAWS, len(switches))).astype(np.float64)
        counts = (1 - exchanged) @ right + exchanged @ wrong
        return counts.max(axis=1) / len(switches)

    def p(self) -> float:
        """Return the probability that the best head switches in so many pairs by chance."""
        by_chance = self.best_by_chance()
        return (1 + int((by_chance >= self.best_share().value).sum())) / (1 + len(by_chance))


@torch.inference_mode()
def coreference(
    model: AttentionModel, tokenizer: PretrainedTokenizer, pairs: Sequence[PronounPair] = PRONOUN_PAIRS
) -> Coreference:
    """Measure the attention to both nouns: of “it” in an encoder, of the word that decides in a causal model."""
    return Coreference(
        np.stack([[_preference(model, tokenizer, pair, word) for word in pair.words] for pair in pairs]),
        "the deciding word" if model.layout.causal else "it",
    )


def _preference(
    model: AttentionModel, tokenizer: PretrainedTokenizer, pair: PronounPair, word: str
) -> Float[ndarray, "layers heads"]:
    text = pair.text.format(word)
    first, second, query = (
        find_occurrence(tokenizer, text, each)
        for each in (pair.first, pair.second, word if model.layout.causal else "it")
    )
    _, trace = forward_with_taps(model, query.ids)
    of_query = layer_values(model, trace, "weights")[:, :, list(query.positions)].mean(dim=2)
    return (
        of_query[..., list(first.positions)].sum(dim=-1) - of_query[..., list(second.positions)].sum(dim=-1)
    ).numpy()
