"""Bag of words: softmax regression on counts. It knows which words are there, not where.

    z = W x + b,   x_v = how often token v occurs;   p = softmax(z)

The oldest idea of the lineage, and with two classes the same as logistic regression on the
difference of the two rows of W. Padding is never counted.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor, nn

from explorer.models.configs import BagOfWordsConfig
from explorer.models.layers import Linear
from explorer.models.taps import Tap


class BagOfWords(nn.Module):
    """A weight for each token and class; the logits are sums of them."""

    def __init__(
        self, config: BagOfWordsConfig, vocabulary: int, classes: int, padding: int, generator: Generator
    ) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.padding = padding
        self.readout = Linear(vocabulary, classes, generator)
        self.counts = Tap()

    def forward(self, ids: Int[Tensor, "*replicas batch time"]) -> Float[Tensor, "*replicas batch classes"]:
        counts = torch.zeros(*ids.shape[:-1], self.vocabulary)
        counts = counts.scatter_add_(-1, ids, (ids != self.padding).float())
        return self.readout(self.counts(counts))
