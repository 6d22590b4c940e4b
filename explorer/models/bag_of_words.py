"""Bag of words: softmax regression on token counts. The order of the tokens has no effect.

    z = W x + b,   x_v = how often token v occurs;   p = softmax(z)

With two classes this equals logistic regression whose weights are the difference of the two rows of W. Padding is not
counted.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor, nn

from explorer.models.configs import BagOfWordsConfig
from explorer.models.layers import Linear
from explorer.models.taps import Tap


class BagOfWords(nn.Module):
    """A linear classifier of token counts: one weight for each token and class."""

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
