"""The Transformer encoder, a classifier: every token attends to all tokens.

    Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V           (Vaswani et al. 2017, eq. 1)
    x <- LayerNorm(x + Attention(x)),   x <- LayerNorm(x + FFN(x))   (section 3.1: the norm comes after)

Positions are learned vectors, added to the embeddings. The class is predicted at the first token, <BOS>.
Differences from the paper: embeddings have a small initial standard deviation (`start`) and are not multiplied by
sqrt(width); the projections have no biases; there is no dropout.
"""

from __future__ import annotations

import math

import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Generator, Tensor, nn

from explorer.models.configs import TransformerEncoderConfig, TransformerRecallConfig
from explorer.models.layers import Dropout, Embedding, LayerNorm, Linear
from explorer.models.shapes import ClassLogits, Ids, Vectors
from explorer.models.taps import Tap, is_observed
from explorer.models.transformer_decoder import sinusoids


class Attention(nn.Module):
    """Multi-head scaled dot-product attention (Vaswani et al. 2017, eq. 1 and section 3.2.2)."""

    def __init__(self, width: int, heads: int, generator: Generator) -> None:
        super().__init__()
        self.heads = heads
        self.project = Linear(width, 3 * width, generator, bias=False)  # queries, keys, values: one product
        self.output = Linear(width, width, generator, bias=False)
        self.queries, self.keys, self.values = Tap(), Tap(), Tap()
        self.scores, self.weights, self.mixed = Tap(), Tap(), Tap()

    def forward(
        self, x: Vectors, mask: Bool[Tensor, "*batch 1 1 time"], queries: int
    ) -> Float[Tensor, "*batch query width"]:
        """Return the output at the first `queries` positions. Rows of `mask` without a visible token give NaN."""
        by_head = self.project(x).view(*x.shape[:-1], 3, self.heads, -1)
        q, k, v = by_head.transpose(-2, -4).unbind(-3)  # each *batch heads time head_width
        q, k, v = self.queries(q.narrow(-2, 0, queries)), self.keys(k), self.values(v)
        if is_observed():
            scores = self.scores(q @ k.mT / math.sqrt(q.shape[-1]))
            weights = self.weights(scores.masked_fill(~mask, -math.inf).softmax(dim=-1))
            mixed = self.mixed(weights @ v)
        else:
            mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.output(mixed.transpose(-2, -3).flatten(-2))


class Block(nn.Module):
    """A Transformer block: self-attention and a feedforward layer, each with a residual connection and a norm."""

    def __init__(self, config: TransformerEncoderConfig, generator: Generator) -> None:
        super().__init__()
        self.attention = Attention(config.width, config.heads, generator)
        self.expand = Linear(config.width, config.hidden, generator)
        self.contract = Linear(config.hidden, config.width, generator)
        self.attention_norm = LayerNorm(config.width)
        self.feedforward_norm = LayerNorm(config.width)
        self.output = Tap()

    def forward(
        self, x: Vectors, mask: Bool[Tensor, "*batch 1 1 time"], queries: int
    ) -> Float[Tensor, "*batch query width"]:
        """Return the output at the first `queries` positions. `mask` is true at visible tokens."""
        x = self.attention_norm(x.narrow(-2, 0, queries) + self.attention(x, mask, queries))
        x = self.feedforward_norm(x + self.contract(F.relu(self.expand(x))))
        return self.output(x)


class TransformerEncoder(nn.Module):
    """A Transformer classifier: embeddings, positions, blocks and a readout at the first token."""

    def __init__(
        self, config: TransformerEncoderConfig, vocabulary: int, classes: int, padding: int, generator: Generator
    ) -> None:
        super().__init__()
        self.window, self.padding = config.window, padding
        self.dropout = Dropout(getattr(config, "dropout", 0.0))
        self.embedding = Embedding(vocabulary, config.width, generator, config.start)
        self.position = Embedding(config.window, config.width, generator, config.start)
        self.readout = Linear(config.width, classes, generator)  # drawn before the blocks: independent of `layers`
        self.blocks = nn.ModuleList(Block(config, generator) for _ in range(config.layers))
        self.embedded = Tap()

    def add_positions(self, x: Vectors) -> Vectors:
        """Return the token vectors with position vectors added."""
        return x + self.position.weight.narrow(-2, 0, x.shape[-2]).unsqueeze(-3)

    def forward(self, ids: Ids) -> ClassLogits:
        ids = ids[..., : self.window]
        mask = (ids != self.padding)[..., None, None, :]
        time = ids.shape[-1]
        x = self.dropout(self.embedded(self.add_positions(self.embedding(ids))))
        for block in self.blocks[:-1]:
            x = block(x, mask, queries=time)
        # The readout uses only <BOS>, so <BOS> is the only query of the last block, unless taps are recorded.
        x = self.blocks[-1](x, mask, queries=time if is_observed() else 1)
        return self.readout(self.dropout(x.narrow(-2, 0, 1)).squeeze(-2))


class TransformerRecall(TransformerEncoder):
    """A Transformer that reads a sequence and predicts its first symbol, at a query token that it prepends."""

    def __init__(self, config: TransformerRecallConfig, symbols: int, length: int, generator: Generator) -> None:
        super().__init__(config, symbols + 1, symbols, -1, generator)
        self.asks, self.positions, self.small = symbols, config.positions, config.start
        if config.positions != "learned":
            self.position = None  # type: ignore[assignment]  # no learned positions

    def add_positions(self, x: Vectors) -> Vectors:
        if self.positions == "sinusoidal":
            return x + self.small * sinusoids(*x.shape[-2:]).to(x.device)
        return super().add_positions(x) if self.positions == "learned" else x

    def forward(self, ids: Ids) -> ClassLogits:
        return super().forward(F.pad(ids, (1, 0), value=self.asks))
