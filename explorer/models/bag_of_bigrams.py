"""Bag of bigrams: softmax regression on the counts of pairs of neighbouring tokens (Wang & Manning 2012).

    z = W x + b,   x_uv = how often token v stands directly after token u;   p = softmax(z)

The readout is linear, as in a bag of words, but "not preserve" and "not destroy" are two features with two weights.
The order of the tokens has an effect within a pair only. Pairs with padding are not counted.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor, nn

from explorer.models.configs import BagOfBigramsConfig
from explorer.models.layers import Linear
from explorer.models.taps import Tap


class BagOfBigrams(nn.Module):
    """A linear classifier of bigram counts: one weight for each pair of neighbouring tokens and class."""

    def __init__(
        self, config: BagOfBigramsConfig, vocabulary: int, classes: int, padding: int, generator: Generator
    ) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.padding = padding
        self.readout = Linear(vocabulary**2, classes, generator)
        self.counts = Tap()

    def forward(self, ids: Int[Tensor, "*replicas batch time"]) -> Float[Tensor, "*replicas batch classes"]:
        first, second = ids[..., :-1], ids[..., 1:]
        counted = ((first != self.padding) & (second != self.padding)).float()
        counts = torch.zeros(*ids.shape[:-1], self.vocabulary**2)
        counts = counts.scatter_add_(-1, first * self.vocabulary + second, counted)  # row by row of the table of pairs
        return self.readout(self.counts(counts))
