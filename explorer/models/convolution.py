"""Convolutional classifier: filters over windows of neighbouring tokens, and the largest response of each.

    c_i = relu(W [E(w_i); ...; E(w_(i+k-1))] + b),   m = max_i c_i,   z = U [m of every k] + d

The network of Kim 2014 (eq. 2 to 4) has filters of several widths k, with the same weights at every position: a filter
that detects "not preserve" does so wherever these words are. The order of the tokens has an effect within a window
only, and the maximum keeps neither where a filter responded nor how often. Differences: the embeddings are learned from
random values, and there is no dropout. Padding and the positions beyond the end are read as zeros, and no window starts
there; even a sentence of one token has a window of every width.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Generator, Tensor, nn

from explorer.models.configs import ConvolutionConfig
from explorer.models.layers import Dropout, Embedding, Linear
from explorer.models.shapes import ClassLogits, Features, Ids
from explorer.models.taps import Tap


class Convolution(nn.Module):
    """Filters over every window of `size` neighbouring vectors: one matrix product for all windows."""

    def __init__(self, width: int, filters: int, size: int, generator: Generator) -> None:
        super().__init__()
        self.size = size
        self.filters = Linear(size * width, filters, generator)
        self.responses, self.feature_map = Tap(), Tap()

    def forward(
        self, e: Features, is_token: Bool[Tensor, "*replicas batch time"]
    ) -> Float[Tensor, "*replicas batch filters"]:
        """Return the largest response of each filter to a window that starts at a token; 0 if none is above 0."""
        windows = F.pad(e, (0, 0, 0, self.size - 1)).unfold(-2, self.size, 1)  # (..., time, width, size)
        responses = self.responses(self.filters(windows.transpose(-1, -2).flatten(-2)))
        feature_map = self.feature_map(torch.relu(responses) * is_token[..., None])
        return feature_map.amax(dim=-2)


class ConvolutionalClassifier(nn.Module):
    """A linear classifier of the largest response of each filter, with filters of several widths."""

    def __init__(
        self, config: ConvolutionConfig, vocabulary: int, classes: int, padding: int, generator: Generator
    ) -> None:
        super().__init__()
        self.sizes = range(config.narrowest, config.widest + 1)
        self.padding = padding
        self.dropout = Dropout(getattr(config, "dropout", 0.0))
        self.embedding = Embedding(vocabulary, config.width, generator, getattr(config, "start", 1.0))
        self.convolutions = nn.ModuleList(
            Convolution(config.width, config.filters, size, generator) for size in self.sizes
        )
        self.readout = Linear(len(self.sizes) * config.filters, classes, generator)
        self.embedded, self.pooled = Tap(), Tap()

    def forward(self, ids: Ids) -> ClassLogits:
        is_token = ids != self.padding
        e = self.dropout(self.embedded(self.embedding(ids) * is_token[..., None]))
        pooled = torch.cat([convolution(e, is_token) for convolution in self.convolutions], dim=-1)
        return self.readout(self.dropout(self.pooled(pooled)[..., None, :]).squeeze(-2))
