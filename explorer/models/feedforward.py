"""Embedding + feedforward network: a window of word vectors, laid side by side, through one tanh layer.

    e = [E(w_1); ...; E(w_L)],   h = tanh(W e + b),   z = U h + c

The body of Bengio et al. 2003 (eq. 1, without the direct connections from e to z), used here to
classify a sentence instead of predicting the next word. Each place of the window has weights of its
own: the same word two places further is a new thing to learn. What stands beyond the window is not
seen; a shorter sentence is filled up with padding, which has a vector like any word.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Generator, Tensor, nn

from explorer.models.configs import FeedforwardConfig
from explorer.models.layers import Embedding, Linear
from explorer.models.taps import Tap


class Feedforward(nn.Module):
    """A fixed window of embeddings, one hidden layer, one answer."""

    def __init__(
        self, config: FeedforwardConfig, vocabulary: int, classes: int, padding: int, generator: Generator
    ) -> None:
        super().__init__()
        self.window = config.window
        self.padding = padding
        self.embedding = Embedding(vocabulary, config.width, generator)
        self.inner = Linear(config.window * config.width, config.hidden, generator)
        self.readout = Linear(config.hidden, classes, generator)
        self.embedded = Tap()
        self.hidden = Tap()

    def forward(self, ids: Int[Tensor, "*replicas batch time"]) -> Float[Tensor, "*replicas batch classes"]:
        seen = ids[..., : self.window]
        if seen.shape[-1] < self.window:
            seen = F.pad(seen, (0, self.window - seen.shape[-1]), value=self.padding)
        e = self.embedded(self.embedding(seen)).flatten(-2)
        h = self.hidden(torch.tanh(self.inner(e)))
        return self.readout(h)
