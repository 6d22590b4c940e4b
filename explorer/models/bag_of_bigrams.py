"""Bag of bigrams: softmax regression on the counts of pairs of neighbouring tokens (Wang & Manning 2012).

    z = W x + b,   x_uv = how often token v stands directly after token u;   p = softmax(z)

The readout is linear, as in a bag of words, but "not preserve" and "not destroy" are two features with two weights.
The order of the tokens has an effect within a pair only. Pairs with padding are not counted.

With many tokens, almost all of the V^2 counts of a sentence are 0. Then the weights of its pairs are looked up and
added, which is the same sum. With `buckets`, pairs share that many weights by a hash (Weinberger et al. 2009).
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor, nn

from explorer.models.configs import BagOfBigramsConfig, BagOfBigramsEnglishConfig
from explorer.models.layers import Linear
from explorer.models.shapes import ClassLogits, Ids
from explorer.models.taps import Tap

_HASH = 2_654_435_761  # the golden ratio times 2^32 (Knuth): it spreads neighbouring pairs
_MAX_COUNTED = 64  # tokens of a vocabulary whose pairs are counted in a table


class BagOfBigrams(nn.Module):
    """A linear classifier of bigram counts: one weight for each pair of neighbouring tokens and class."""

    def __init__(
        self,
        config: BagOfBigramsConfig | BagOfBigramsEnglishConfig,
        vocabulary: int,
        classes: int,
        padding: int,
        generator: Generator,
    ) -> None:
        super().__init__()
        self.vocabulary, self.padding = vocabulary, padding
        self.buckets: int = getattr(config, "buckets", 0)  # 0: every pair has its own weights
        self.readout = Linear(self.buckets or vocabulary**2, classes, generator)
        self.counts = Tap()

    def forward(self, ids: Ids) -> ClassLogits:
        first, second = ids[..., :-1], ids[..., 1:]
        counted = ((first != self.padding) & (second != self.padding)).float()
        if self.vocabulary > _MAX_COUNTED:
            return self._add_weights(self.pair_index(first, second), counted)
        counts = torch.zeros(*ids.shape[:-1], self.vocabulary**2, device=ids.device)
        counts = counts.scatter_add_(-1, first * self.vocabulary + second, counted)  # row by row of the table of pairs
        return self.readout(self.counts(counts))

    def pair_index(self, first: Int[Tensor, "*pairs"], second: Int[Tensor, "*pairs"]) -> Int[Tensor, "*pairs"]:
        """Return the column of the weights of each pair."""
        pairs = first * self.vocabulary + second
        return pairs * _HASH % 2**31 % self.buckets if self.buckets else pairs

    def _add_weights(
        self, pairs: Int[Tensor, "*replicas batch pairs"], counted: Float[Tensor, "*replicas batch pairs"]
    ) -> ClassLogits:
        """Return the sum of the weights of the pairs of each row, and the bias."""
        weight = self.readout.weight  # (*replicas, classes, V * V)
        chosen = pairs.flatten(-2)[..., None, :].expand(*weight.shape[:-1], -1)
        weights = weight.gather(-1, chosen).view(*weight.shape[:-1], *pairs.shape[-2:])
        return self.readout.add_bias((weights * counted[..., None, :, :]).sum(dim=-1).mT)
