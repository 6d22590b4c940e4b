"""The Transformer encoder: every token asks every other one, in one step and at any distance.

    Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V           (Vaswani et al. 2017, eq. 1)
    x <- LayerNorm(x + Attention(x)),   x <- LayerNorm(x + FFN(x))   (section 3.1: the norm comes after)

Positions are learned vectors, added to the embeddings. The sentence is read off at its first token,
<BOS>. Where we differ: embeddings start small (`start`) and are not multiplied by sqrt(width); the
projections have no biases; there is no dropout.
"""

from __future__ import annotations

import math

import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor, nn

from explorer.models.configs import TransformerEncoderConfig, TransformerRecallConfig
from explorer.models.layers import Embedding, LayerNorm, Linear
from explorer.models.taps import Tap, watched
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
        self, x: Float[Tensor, "*batch time width"], mask: Bool[Tensor, "*batch 1 1 time"], asking: int
    ) -> Float[Tensor, "*batch query width"]:
        """The first `asking` places want an answer. `mask` is true where one may look; each row needs one
        true, or softmax gives NaN."""
        apart = self.project(x).view(*x.shape[:-1], 3, self.heads, -1)
        q, k, v = apart.transpose(-2, -4).unbind(-3)  # each *batch heads time head_width
        q, k, v = self.queries(q.narrow(-2, 0, asking)), self.keys(k), self.values(v)
        if watched():
            scores = self.scores(q @ k.mT / math.sqrt(q.shape[-1]))
            weights = self.weights(scores.masked_fill(~mask, -math.inf).softmax(dim=-1))
            mixed = self.mixed(weights @ v)
        else:
            mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.output(mixed.transpose(-2, -3).flatten(-2))


class Block(nn.Module):
    """Attention between tokens, then a feedforward layer on each; a residual and a norm around both."""

    def __init__(self, config: TransformerEncoderConfig, generator: Generator) -> None:
        super().__init__()
        self.attention = Attention(config.width, config.heads, generator)
        self.expand = Linear(config.width, config.hidden, generator)
        self.contract = Linear(config.hidden, config.width, generator)
        self.attention_norm = LayerNorm(config.width)
        self.feedforward_norm = LayerNorm(config.width)
        self.output = Tap()

    def forward(
        self, x: Float[Tensor, "*batch time width"], mask: Bool[Tensor, "*batch 1 1 time"], asking: int
    ) -> Float[Tensor, "*batch query width"]:
        """The answer of the first `asking` places is needed."""
        x = self.attention_norm(x.narrow(-2, 0, asking) + self.attention(x, mask, asking))
        x = self.feedforward_norm(x + self.contract(F.relu(self.expand(x))))
        return self.output(x)


class TransformerEncoder(nn.Module):
    """Embeddings and positions, a few blocks, an answer from the first token."""

    def __init__(
        self, config: TransformerEncoderConfig, vocabulary: int, classes: int, padding: int, generator: Generator
    ) -> None:
        super().__init__()
        self.window = config.window
        self.padding = padding
        self.embedding = Embedding(vocabulary, config.width, generator, config.start)
        self.position = Embedding(config.window, config.width, generator, config.start)
        self.readout = Linear(config.width, classes, generator)  # before the blocks: it starts alike under any number
        self.blocks = nn.ModuleList(Block(config, generator) for _ in range(config.layers))
        self.embedded = Tap()

    def placed(self, x: Float[Tensor, "*batch time width"]) -> Float[Tensor, "*batch time width"]:
        """The tokens' vectors, each with that of its place added; the same for every sentence."""
        return x + self.position.weight.narrow(-2, 0, x.shape[-2]).unsqueeze(-3)

    def forward(self, ids: Int[Tensor, "*replicas batch time"]) -> Float[Tensor, "*replicas batch classes"]:
        ids = ids[..., : self.window]
        mask = (ids != self.padding)[..., None, None, :]
        time = ids.shape[-1]
        x = self.embedded(self.placed(self.embedding(ids)))
        for block in self.blocks[:-1]:
            x = block(x, mask, asking=time)
        # Only <BOS> is read, so in the last block only <BOS> need ask, unless somebody wants to see all.
        x = self.blocks[-1](x, mask, asking=time if watched() else 1)
        return self.readout(x.select(-2, 0))


class TransformerRecall(TransformerEncoder):
    """Reads a sequence and names its first symbol. A token of its own, before the first symbol, asks."""

    def __init__(self, config: TransformerRecallConfig, symbols: int, length: int, generator: Generator) -> None:
        super().__init__(config, symbols + 1, symbols, -1, generator)
        self.asks, self.positions, self.small = symbols, config.positions, config.start
        if config.positions != "learned":
            self.position = None  # type: ignore[assignment]  # nothing to learn

    def placed(self, x: Float[Tensor, "*batch time width"]) -> Float[Tensor, "*batch time width"]:
        if self.positions == "sinusoidal":
            return x + self.small * sinusoids(*x.shape[-2:])
        return super().placed(x) if self.positions == "learned" else x

    def forward(self, ids: Int[Tensor, "*replicas batch time"]) -> Float[Tensor, "*replicas batch classes"]:
        return super().forward(F.pad(ids, (1, 0), value=self.asks))
