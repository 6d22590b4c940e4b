"""Recurrent networks that answer at every place, from what they have read up to it.

The cells are those of `rnn.py` (Elman 1990) and `gru.py` (Cho et al. 2014); here stands what is around them.
"""

from __future__ import annotations

from jaxtyping import Float, Int
from torch import Generator, Tensor, nn

from explorer.models.configs import GRUTaggerConfig, RNNTaggerConfig
from explorer.models.gru import GRUCell
from explorer.models.layers import Embedding, Linear
from explorer.models.recurrence import Cell, unroll
from explorer.models.rnn import RNNCell
from explorer.models.taps import Tap


class RecurrentTagger(nn.Module):
    """Embedding, a cell looped over time, and a readout of its every state. Padding stands at the end of a row, so
    whatever the cell does there comes after all that counts."""

    cell: Cell

    def __init__(
        self,
        cell: nn.Module,
        config: RNNTaggerConfig | GRUTaggerConfig,
        vocabulary: int,
        labels: int,
        generator: Generator,
    ) -> None:
        super().__init__()
        self.embedding = Embedding(vocabulary, config.width, generator)
        self.readout = Linear(config.hidden, labels, generator)
        self.cell = cell  # type: ignore[assignment]  # a module that is a Cell
        self.embedded = Tap()

    def features(self, ids: Int[Tensor, "*replicas batch time"]) -> Float[Tensor, "*replicas batch time hidden"]:
        """What the readout reads at every place."""
        return unroll(self.cell, self.embedded(self.embedding(ids)))[0]

    def forward(self, ids: Int[Tensor, "*replicas batch time"]) -> Float[Tensor, "*replicas batch time labels"]:
        return self.readout(self.features(ids))


class RNNTagger(RecurrentTagger):
    """Reads with the plain recurrent cell. It knows any number of `places`."""

    def __init__(
        self, config: RNNTaggerConfig, vocabulary: int, labels: int, places: int, generator: Generator
    ) -> None:
        cell = RNNCell(config.width, config.hidden, generator)
        super().__init__(cell, config, vocabulary, labels, generator)


class GRUTagger(RecurrentTagger):
    """Reads with the gated recurrent unit. It knows any number of `places`."""

    def __init__(
        self, config: GRUTaggerConfig, vocabulary: int, labels: int, places: int, generator: Generator
    ) -> None:
        cell = GRUCell(config.width, config.hidden, generator)
        super().__init__(cell, config, vocabulary, labels, generator)
