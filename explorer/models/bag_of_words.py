"""Bag of words: a classifier of token counts. The order of the tokens has no effect.

    x_v = how often token v occurs (padding is not counted)

    BagOfWords          z = W x + b                              p = softmax(z)
    BagOfWordsHidden    h = tanh(V x + a),   z = W h + b         p = softmax(z)

The first is softmax regression. With two classes it equals logistic regression whose weights are the difference of the
two rows of W, so the score of a sentence is a sum of one weight for each token. No such sum computes exclusive or
(Minsky & Papert 1969); a hidden layer over the same counts does.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from explorer.models.configs import BagOfWordsConfig, BagOfWordsHiddenConfig
from explorer.models.layers import Linear
from explorer.models.shapes import ClassLogits, Ids
from explorer.models.taps import Tap


def count_tokens(ids: Ids, vocabulary: int, padding: int) -> Float[Tensor, "*replicas batch vocabulary"]:
    """Return how often each token occurs in each row; padding is not counted."""
    counts = torch.zeros(*ids.shape[:-1], vocabulary, device=ids.device)
    return counts.scatter_add_(-1, ids, (ids != padding).float())


class BagOfWords(nn.Module):
    """A linear classifier of token counts: one weight for each token and class."""

    def __init__(
        self, config: BagOfWordsConfig, vocabulary: int, classes: int, padding: int, generator: Generator
    ) -> None:
        super().__init__()
        self.vocabulary, self.padding = vocabulary, padding
        self.readout = Linear(vocabulary, classes, generator)
        self.counts = Tap()

    def forward(self, ids: Ids) -> ClassLogits:
        return self.readout(self.counts(count_tokens(ids, self.vocabulary, self.padding)))


class BagOfWordsHidden(nn.Module):
    """A classifier of token counts with one hidden layer of tanh units."""

    def __init__(
        self, config: BagOfWordsHiddenConfig, vocabulary: int, classes: int, padding: int, generator: Generator
    ) -> None:
        super().__init__()
        self.vocabulary, self.padding = vocabulary, padding
        self.inner = Linear(vocabulary, config.hidden, generator)
        self.readout = Linear(config.hidden, classes, generator)
        self.counts, self.hidden = Tap(), Tap()

    def forward(self, ids: Ids) -> ClassLogits:
        counts = self.counts(count_tokens(ids, self.vocabulary, self.padding))
        h = self.hidden(torch.tanh(self.inner(counts)))
        return self.readout(h)
