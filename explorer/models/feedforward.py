"""Embedding + feedforward network: the concatenated embeddings of a window, and one tanh layer.

    e = [E(w_1); ...; E(w_L)],   h = tanh(W e + b),   z = U h + c

The network of Bengio et al. 2003 (eq. 1, without the direct connections from e to z) classifies a sentence here
instead of predicting the next word. Each position of the window has its own weights, so what is learned about a word at
one position does not carry over to another. Tokens beyond the window are ignored. A shorter sentence is padded; the
padding token has an embedding like any other.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Generator, nn

from explorer.models.configs import FeedforwardConfig
from explorer.models.layers import Dropout, Embedding, Linear
from explorer.models.shapes import ClassLogits, Ids
from explorer.models.taps import Tap


class Feedforward(nn.Module):
    """A feedforward classifier of the first `window` tokens, with one hidden layer."""

    def __init__(
        self, config: FeedforwardConfig, vocabulary: int, classes: int, padding: int, generator: Generator
    ) -> None:
        super().__init__()
        self.window, self.padding = config.window, padding
        self.dropout = Dropout(getattr(config, "dropout", 0.0))
        self.embedding = Embedding(vocabulary, config.width, generator, getattr(config, "start", 1.0))
        self.inner = Linear(config.window * config.width, config.hidden, generator)
        self.readout = Linear(config.hidden, classes, generator)
        self.embedded, self.hidden = Tap(), Tap()

    def forward(self, ids: Ids) -> ClassLogits:
        seen = ids[..., : self.window]
        if seen.shape[-1] < self.window:
            seen = F.pad(seen, (0, self.window - seen.shape[-1]), value=self.padding)
        e = self.dropout(self.embedded(self.embedding(seen))).flatten(-2)
        h = self.hidden(torch.tanh(self.inner(e)))
        return self.readout(h)
