"""The neural n-gram of Bengio et al. 2003: a feedforward network predicts the next token from the last L tokens.

    x = [C(w_{t-L+1}); ...; C(w_t)],   h = tanh(d + H x),   y = b + U h        (eq. 1; y: logits of w_{t+1})

C is the embedding. Unlike an n-gram of counts, it generalizes from one token to others with similar vectors. Each
position of the window has its own weights.

Differences from the paper: there are no direct connections W x, which are optional there; positions before the row have
zero vectors; batch normalization before the tanh and dropout after it are optional.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Generator

from explorer.models.configs import FeedforwardTextConfig
from explorer.models.language import LanguageModel, State
from explorer.models.layers import BatchNorm, Dropout, Embedding, Linear
from explorer.models.shapes import Features, Ids
from explorer.models.taps import Tap, is_observed


class NeuralNgram(LanguageModel):
    """A feedforward language model over a sliding window of embeddings, with one hidden layer."""

    def __init__(self, config: FeedforwardTextConfig, vocabulary: int, context: int, generator: Generator) -> None:
        """`context` has no effect; all language models have this signature."""
        super().__init__()
        self.window = config.window
        self.embedding = Embedding(vocabulary, config.width, generator)
        self.inner = Linear(config.window * config.width, config.hidden, generator, bias=not config.batch_norm)
        self.readout = Linear(config.hidden, vocabulary, generator)
        self.norm = BatchNorm(config.hidden) if config.batch_norm else None
        self.dropout = Dropout(config.dropout)
        self.embedded, self.preactivation, self.hidden = Tap(), Tap(), Tap()

    def features(self, ids: Ids, state: State = ()) -> tuple[Features, State]:
        """Return the hidden units after dropout. There is no state."""
        tokens = self.embedding.weight.shape[-2]
        few = 8 * tokens <= ids.shape[-2] * ids.shape[-1]  # measured: twice as fast then, slower from a quarter on
        x = self._table_lookup(ids) if few and not is_observed() else self._window_product(ids)
        x = self.preactivation(x if self.norm is None else self.norm(x))
        return self.dropout(self.hidden(torch.tanh(x))), ()

    def _window_product(self, ids: Ids) -> Features:
        """Return d + H x, computed as in the equation."""
        e = F.pad(self.embedded(self.embedding(ids)), (0, 0, self.window - 1, 0))
        return self.inner(e.unfold(-2, self.window, 1).mT.flatten(-2))

    def _table_lookup(self, ids: Ids) -> Features:
        """The same, faster for few tokens: H_k C(w) is computed for each token and position, then summed."""
        c = F.pad(self.embedding.weight, (0, 0, 0, 1)).unsqueeze(-3)  # the last row stands for positions before the row
        h = self.inner.weight.view(*self.inner.weight.shape[:-1], self.window, -1)  # (*replicas, hidden, window, width)
        table = c @ h.movedim(-3, -1)  # (*replicas, window, tokens + 1, hidden)
        tokens = table.shape[-2]
        first_row = torch.arange(0, table[..., 0].numel(), tokens, device=ids.device)
        first_row = first_row.view(*table.shape[:-3], *[1] * 2, self.window)
        indices = F.pad(ids, (self.window - 1, 0), value=tokens - 1).unfold(-1, self.window, 1) + first_row
        summed = F.embedding_bag(indices.flatten(0, -2), table.flatten(0, -2), mode="sum")
        return self.inner.add_bias(summed.view(*ids.shape, -1))
