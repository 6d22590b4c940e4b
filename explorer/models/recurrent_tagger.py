"""Recurrent networks for sequence labelling: a label at every position, from the tokens up to it.

The cells are those of `rnn.py` (Elman 1990) and `gru.py` (Cho et al. 2014).
"""

from __future__ import annotations

from jaxtyping import Float
from torch import Generator, Tensor, nn

from explorer.models.configs import GRUTaggerConfig, RNNTaggerConfig
from explorer.models.gru import GRUCell
from explorer.models.layers import Embedding, Linear
from explorer.models.recurrence import Cell, unroll
from explorer.models.rnn import RNNCell
from explorer.models.shapes import Features, Ids
from explorer.models.taps import Tap


class RecurrentTagger(nn.Module):
    """A recurrent tagger: embedding, a cell over time, and a readout at every position; padding comes last."""

    cell_class: type[nn.Module]  # see `RecurrentClassifier`
    cell: Cell

    def __init__(
        self, config: RNNTaggerConfig | GRUTaggerConfig, vocabulary: int, labels: int, places: int, generator: Generator
    ) -> None:
        """There is no maximum length, so `places` has no effect."""
        super().__init__()
        cell = self.cell_class(config.width, config.hidden, generator)  # first, as in every released run
        self.embedding = Embedding(vocabulary, config.width, generator)
        self.readout = Linear(config.hidden, labels, generator)
        self.cell = cell  # type: ignore[assignment]  # a module that is a Cell
        self.embedded = Tap()

    def features(self, ids: Ids) -> Features:
        """Return the input of the readout at every position: the hidden states."""
        return unroll(self.cell, self.embedded(self.embedding(ids)))[0]

    def forward(self, ids: Ids) -> Float[Tensor, "*replicas batch time labels"]:
        return self.readout(self.features(ids))


class RNNTagger(RecurrentTagger):
    """A tagger with a plain recurrent cell."""

    cell_class = RNNCell


class GRUTagger(RecurrentTagger):
    """A tagger with a GRU cell."""

    cell_class = GRUCell
