"""A Transformer for sequence labelling: a label at every position. Each of its parts can be ablated.

    Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V                   (Vaswani et al. 2017, eq. 1)
    FFN(x) = max(0, x W_1 + b_1) W_2 + b_2                              (eq. 2)
    x <- Norm(x + Attention(x)),   x <- Norm(x + FFN(x))                (section 3.1, norm after: "post")
    x <- x + Attention(Norm(x)),   x <- x + FFN(Norm(x))                (Xiong et al. 2020, norm before: "pre")

With `causal` this is the paper's decoder without cross-attention, otherwise its encoder. Without `attention` tokens do
not exchange information; without `feedforward` a block is attention alone; without `scaled` the scores are not divided
by sqrt(d_k); without `residual` there are no residual connections; without positions only the causal mask gives
information about order. Differences from the paper: embeddings are initialized from N(0, 1) and not multiplied by
sqrt(width), the projections have no biases, and there is no dropout.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Generator, Tensor, nn

from explorer.models.configs import TransformerTaggerConfig
from explorer.models.layers import Embedding, Linear, child_generator
from explorer.models.shapes import Features, Ids, Rotation, Vectors
from explorer.models.taps import Tap
from explorer.models.transformer_decoder import add_positions, build_norm, rotate, rotations, sinusoids


class Attention(nn.Module):
    """Multi-head self-attention (Vaswani et al. 2017, section 3.2)."""

    def __init__(self, config: TransformerTaggerConfig, generator: Generator) -> None:
        super().__init__()
        width, self.heads = config.width, config.heads
        self.scale = 1 / math.sqrt(width // self.heads) if config.scaled else 1.0
        self.project = Linear(width, 3 * width, generator, bias=False)  # queries, keys, values: one product
        self.output = Linear(width, width, generator, bias=False)
        with torch.no_grad():
            self.project.weight[: 2 * width] *= config.spread
        self.queries, self.keys, self.values = Tap(), Tap(), Tap()
        self.scores, self.weights, self.mixed = Tap(), Tap(), Tap()

    def forward(self, x: Vectors, mask: Bool[Tensor, "*batch 1 query time"], rotation: Rotation | None) -> Vectors:
        """Return the attention output. `mask` is true at visible tokens; `rotation` is for rotary positions."""
        by_head = (*x.shape[:-1], self.heads, -1)
        q, k, v = (part.reshape(by_head) for part in self.project(x).chunk(3, dim=-1))
        if rotation is not None:
            q, k = rotate(q, rotation), rotate(k, rotation)
        q, k, v = (part.transpose(-2, -3) for part in (q, k, v))  # each *batch heads time head_width
        q, k, v = self.queries(q), self.keys(k), self.values(v)
        scores = self.scores(q @ k.mT * self.scale)
        weights = self.weights(scores.masked_fill(~mask, -math.inf).softmax(dim=-1))
        mixed = self.mixed(weights @ v)
        return self.output(mixed.transpose(-2, -3).flatten(-2))


class Block(nn.Module):
    """A Transformer block: self-attention and a feedforward layer, each with a residual connection and a norm."""

    def __init__(self, config: TransformerTaggerConfig, generator: Generator) -> None:
        super().__init__()
        self.norm_first, self.residual = config.norm_place == "pre", config.residual
        attention = Attention(config, generator)  # always drawn, so that other initial weights do not change
        self.attention = attention if config.attention else None
        expand = Linear(config.width, config.hidden, generator)  # always drawn, too
        contract = Linear(config.hidden, config.width, generator)
        self.attention_norm = build_norm(config)
        self.has_feedforward = config.feedforward
        if config.feedforward:
            self.expand, self.contract = expand, contract
            self.feedforward_norm = build_norm(config)
        self.output = Tap()

    def feedforward(self, x: Vectors) -> Vectors:
        return self.contract(F.relu(self.expand(x)))

    def add_residual(self, x: Vectors, output: Vectors) -> Vectors:
        """Return x + output, or the output alone without residual connections."""
        return x + output if self.residual else output

    def forward(self, x: Vectors, mask: Bool[Tensor, "*batch 1 query time"], rotation: Rotation | None) -> Vectors:
        attend = self.attention or (lambda x, mask, rotation: torch.zeros_like(x))
        if self.norm_first:
            x = self.add_residual(x, attend(self.attention_norm(x), mask, rotation))
            if self.has_feedforward:
                x = self.add_residual(x, self.feedforward(self.feedforward_norm(x)))
        else:
            x = self.attention_norm(self.add_residual(x, attend(x, mask, rotation)))
            if self.has_feedforward:
                x = self.feedforward_norm(self.add_residual(x, self.feedforward(x)))
        return self.output(x)


class TransformerTagger(nn.Module):
    """A Transformer tagger: embeddings, positions, blocks and a readout at every position."""

    def __init__(
        self, config: TransformerTaggerConfig, vocabulary: int, labels: int, places: int, generator: Generator
    ) -> None:
        """`places`: the number of learned positions. The last token of the vocabulary is the padding."""
        super().__init__()
        self.config, self.padding = config, vocabulary - 1
        self.embedding = Embedding(vocabulary, config.width, generator)
        # The readout is drawn first, and positions advance the generator even if they are not learned: so the initial
        # weights of the blocks depend neither on the kind of positions nor on the number of blocks.
        self.readout = Linear(config.width, labels, generator)
        for_positions = child_generator(generator)
        self.position = Embedding(places, config.width, for_positions) if config.positions == "learned" else None
        self.blocks = nn.ModuleList(Block(config, generator) for _ in range(config.layers))
        self.final_norm = build_norm(config) if config.norm_place == "pre" else nn.Identity()
        self.embedded = Tap()

    def add_positions(self, x: Vectors) -> Vectors:
        """Return the token vectors with position vectors, or unchanged for rotary or no positions."""
        if self.config.positions == "sinusoidal":
            return x + sinusoids(*x.shape[-2:]).to(x.device)
        return add_positions(x, self.position)

    def mask(self, ids: Ids) -> Bool[Tensor, "*replicas batch 1 query time"]:
        """Return the mask, true at visible tokens: padding is hidden, and with `causal` later tokens are."""
        visible = (ids != self.padding)[..., None, None, :]
        if not self.config.causal:
            return visible
        return visible & torch.ones(ids.shape[-1], ids.shape[-1], dtype=torch.bool, device=ids.device).tril()

    def features(self, ids: Ids) -> Features:
        """Return the input of the readout. Raises ValueError for more tokens than learned positions."""
        x = self.embedded(self.add_positions(self.embedding(ids)))
        head = self.config.width // self.config.heads
        rotation = rotations(ids.shape[-1], head).to(x.device) if self.config.positions == "rotary" else None
        mask = self.mask(ids)
        for block in self.blocks:
            x = block(x, mask, rotation)
        return self.final_norm(x)

    def forward(self, ids: Ids) -> Float[Tensor, "*replicas batch time labels"]:
        return self.readout(self.features(ids))
