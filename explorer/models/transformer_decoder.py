"""The Transformer decoder, a causal language model: every token attends to itself and to all tokens before it.

    Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V                   (Vaswani et al. 2017, eq. 1)
    FFN(x) = max(0, x W_1 + b_1) W_2 + b_2                              (eq. 2)
    x <- LayerNorm(x + Attention(x)),   x <- LayerNorm(x + FFN(x))      (section 3.1, norm after: "post")
    x <- x + Attention(LayerNorm(x)),   x <- x + FFN(LayerNorm(x))      (Xiong et al. 2020, norm before: "pre")

This is the right half of figure 1 of the paper, without cross-attention. Scores of later tokens are set to -inf before
the softmax (section 3.2.3), so one forward pass predicts at every position. Differences from the paper: embeddings are
initialized from N(0, 1) and not multiplied by sqrt(width), dropout is applied only after each part of a block, and the
readout does not share the weights of the embedding.

With `biases` the norms, the feedforward layers and the readout have biases; the projections of the attention never do,
as in the paper (section 3.2.2). Without norm, with one head, learned positions, ReLU and biases this is the model of
the course assignment.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Generator, Tensor, nn
from torch.autograd.function import once_differentiable

from explorer.models.configs import TransformerTaggerConfig, TransformerTextConfig
from explorer.models.language import LanguageModel, State
from explorer.models.layers import Dropout, Embedding, LayerNorm, Linear, RMSNorm, child_generator
from explorer.models.shapes import Features, Ids, Rotation, Vectors
from explorer.models.taps import Tap, is_observed


def sinusoids(time: int, width: int) -> Float[Tensor, "time width"]:
    """PE(t, 2i) = sin(t / 10000^(2i / width)), PE(t, 2i + 1) = cos of the same (Vaswani et al. 2017, section 3.5)."""
    angles = torch.outer(torch.arange(time), 10_000 ** (-torch.arange(0, width, 2) / width))
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)[:, :width]


def rotations(time: int, width: int) -> Rotation:
    """Return the factors e^(i t theta_j) that rotate pair j of a query or key at position t.

    Su et al. 2021, eq. 12-15: theta_j = base^(-2j / width). The base is 1000 instead of 10000, because contexts are
    short here.
    """
    angles = torch.outer(torch.arange(time), 1_000 ** (-torch.arange(0, width, 2) / width))
    return torch.polar(torch.ones_like(angles), angles)[:, None]


def rotate(x: Float[Tensor, "*batch time heads width"], by: Rotation) -> Float[Tensor, "*batch time heads width"]:
    """Rotate each pair of numbers, read as a complex number, by a factor from `rotations` (Su et al. 2021, eq. 12)."""
    points = torch.view_as_complex(x.view(*x.shape[:-1], -1, 2))
    return torch.view_as_real(points * by).view(x.shape)


class SquaredReLU(torch.autograd.Function):
    """The squared ReLU, max(0, x)^2 (So et al. 2021). PyTorch's backward pass of the square is several times slower."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        positive = x.relu()
        ctx.save_for_backward(positive)
        return positive.square()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        positive: Tensor = ctx.saved_tensors[0]
        return (gradient * positive).mul_(2)


SHORT = 16  # tokens per row up to which plain products are faster than PyTorch's fused attention; in bfloat16 always
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu, "relu2": SquaredReLU.apply}


class Attention(nn.Module):
    """Causal multi-head self-attention (Vaswani et al. 2017, section 3.2)."""

    def __init__(self, config: TransformerTextConfig, generator: Generator) -> None:
        super().__init__()
        self.heads = config.heads
        self.project = Linear(config.width, 3 * config.width, generator, bias=False)  # queries, keys, values
        self.output = Linear(config.width, config.width, generator, bias=False)
        self.queries, self.keys, self.values = Tap(), Tap(), Tap()
        self.scores, self.mask, self.weights, self.mixed = Tap(), Tap(), Tap(), Tap()

    def forward(self, x: Vectors, rotation: Rotation | None) -> Vectors:
        """Return the attention output. `rotation` comes from `rotations`, for rotary positions; otherwise None."""
        by_head = (*x.shape[:-1], self.heads, -1)
        q, k, v = (part.view(by_head) for part in self.project(x).chunk(3, dim=-1))
        if rotation is not None:
            q, k = rotate(q, rotation), rotate(k, rotation)
        q, k, v = (part.transpose(-2, -3) for part in (q, k, v))  # each *batch heads time head_width
        q, k, v = self.queries(q), self.keys(k), self.values(v)
        if is_observed() or x.shape[-2] <= SHORT or torch.is_autocast_enabled("cpu"):
            scores = self.scores(q @ k.mT / math.sqrt(q.shape[-1]))
            mask = self.mask(scores.new_full(scores.shape[-2:], -math.inf).triu(1))  # 0 at visible tokens
            weights = self.weights((scores + mask).softmax(dim=-1))
            mixed = self.mixed(weights @ v)
        else:
            q, k, v = (part.flatten(0, -4) for part in (q, k, v))  # four axes: replicas join the rows
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.output(mixed.transpose(-2, -3).reshape(x.shape))


def init_to_zero(*layers: Linear) -> None:
    """Set parameters to zero; they are drawn before, so that no other initial weights change."""
    for layer in layers:
        for parameter in layer.parameters():
            nn.init.zeros_(parameter)


def build_norm(config: TransformerTextConfig | TransformerTaggerConfig) -> nn.Module:
    """Return the normalization layer that the configuration names; the identity for "none"."""
    if config.norm == "layer":
        return LayerNorm(config.width, getattr(config, "biases", True))
    return RMSNorm(config.width) if config.norm == "rms" else nn.Identity()


class Block(nn.Module):
    """A Transformer block: self-attention and a feedforward layer, each with a residual connection and a norm."""

    def __init__(self, config: TransformerTextConfig, generator: Generator) -> None:
        super().__init__()
        self.norm_first = config.norm_place == "pre"
        self.attention = Attention(config, generator)
        self.expand = Linear(config.width, config.hidden, generator, config.biases)
        self.contract = Linear(config.hidden, config.width, generator, config.biases)
        self.attention_norm, self.feedforward_norm = build_norm(config), build_norm(config)
        self.activation = ACTIVATIONS[config.activation]
        self.dropout = Dropout(config.dropout)
        self.hidden, self.output = Tap(), Tap()
        if config.start == "zero":  # a block is the identity at initialization
            init_to_zero(self.attention.output, self.contract)

    def feedforward(self, x: Vectors) -> Vectors:
        return self.contract(self.hidden(self.activation(self.expand(x))))

    def forward(self, x: Vectors, rotation: Rotation | None) -> Vectors:
        if self.norm_first:
            x = x + self.dropout(self.attention(self.attention_norm(x), rotation))
            x = x + self.dropout(self.feedforward(self.feedforward_norm(x)))
        else:
            x = self.attention_norm(x + self.dropout(self.attention(x, rotation)))
            x = self.feedforward_norm(x + self.dropout(self.feedforward(x)))
        return self.output(x)


def add_positions(x: Vectors, table: Embedding | None) -> Vectors:
    """Add learned positions, if there are any. Raises ValueError for more tokens than the table has."""
    if table is None:
        return x
    time, learned = x.shape[-2], table.weight
    if time > learned.shape[-2]:
        raise ValueError(f"{time} tokens, but only {learned.shape[-2]} learned positions: give no more than these")
    return x + learned.narrow(-2, 0, time).unsqueeze(-3)  # the same for every row


class TransformerDecoder(LanguageModel):
    """A causal Transformer language model: embeddings, positions, blocks and a readout at every token."""

    def __init__(self, config: TransformerTextConfig, vocabulary: int, context: int, generator: Generator) -> None:
        super().__init__()
        self.config = config
        self.embedding = Embedding(vocabulary, config.width, generator)
        # The readout is drawn first, and positions advance the generator even if they are not learned: so the initial
        # weights of the blocks depend neither on the kind of positions nor on the number of blocks.
        self.readout = Linear(config.width, vocabulary, generator, config.biases)
        for_positions = child_generator(generator)
        self.position = Embedding(context, config.width, for_positions) if config.positions == "learned" else None
        self.blocks = nn.ModuleList(Block(config, generator) for _ in range(config.layers))
        self.final_norm = build_norm(config) if config.norm_place == "pre" else nn.Identity()
        self.embedded = Tap()
        if config.start == "zero":  # at initialization all tokens are equally likely
            init_to_zero(self.readout)

    def add_positions(self, x: Vectors) -> Vectors:
        """Return the token vectors with position vectors, or unchanged for rotary or no positions."""
        if self.config.positions == "sinusoidal":
            return x + sinusoids(*x.shape[-2:]).to(x.device)
        return add_positions(x, self.position)

    def features(self, ids: Ids, state: State = ()) -> tuple[Features, State]:
        """Return the input of the readout, and `()`. Raises ValueError for more tokens than learned positions."""
        x = self.embedded(self.add_positions(self.embedding(ids)))
        rotation = None
        if self.config.positions == "rotary":
            rotation = rotations(ids.shape[-1], self.config.width // self.config.heads).to(x.device)
        for block in self.blocks:
            x = block(x, rotation)
        return self.final_norm(x), ()
