"""The Transformer decoder: every token asks all tokens before it, in one step and at any distance.

    Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V                   (Vaswani et al. 2017, eq. 1)
    FFN(x) = max(0, x W_1 + b_1) W_2 + b_2                              (eq. 2)
    x <- LayerNorm(x + Attention(x)),   x <- LayerNorm(x + FFN(x))      (section 3.1, norm after: "post")
    x <- x + Attention(LayerNorm(x)),   x <- x + FFN(LayerNorm(x))      (Xiong et al. 2020, norm before: "pre")

The stack on the right of their figure 1, without the attention to an encoder. It is causal: scores of
later tokens are set to -inf before the softmax (section 3.2.3), so one forward answers at every position.
Where we differ: embeddings start at N(0, 1) and are not multiplied by sqrt(width), dropout comes after each
part of a block only, and the readout has weights of its own.

Biases, where wanted, stand in the norms, the feedforward layers and the readout; the projections of the
attention never have any, as in the paper (section 3.2.2). So without norm, with one head, learned positions,
ReLU and biases it is the model of the course assignment.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Complex, Float, Int
from torch import Generator, Tensor, nn
from torch.autograd.function import once_differentiable

from explorer.models.configs import TransformerTextConfig
from explorer.models.language import LanguageModel, State
from explorer.models.layers import Dropout, Embedding, LayerNorm, Linear, RMSNorm, own
from explorer.models.taps import Tap, watched


def sinusoids(time: int, width: int) -> Float[Tensor, "time width"]:
    """PE(t, 2i) = sin(t / 10000^(2i / width)), PE(t, 2i + 1) = cos of the same (Vaswani et al. 2017, section 3.5)."""
    angles = torch.outer(torch.arange(time), 10_000 ** (-torch.arange(0, width, 2) / width))
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)[:, :width]


def turns(time: int, width: int) -> Complex[Tensor, "time 1 pairs"]:
    """e^(i t theta): how far the pair j of a query or key at place t is turned, theta_j = base^(-2j / width).

    Su et al. 2021, eq. 12-15; their base is 10000, ours 1000, as our texts are short.
    """
    angles = torch.outer(torch.arange(time), 1_000 ** (-torch.arange(0, width, 2) / width))
    return torch.polar(torch.ones_like(angles), angles)[:, None]


def turned(
    x: Float[Tensor, "*batch time heads width"], by: Complex[Tensor, "time 1 pairs"]
) -> Float[Tensor, "*batch time heads width"]:
    """Each pair of numbers, read as a point of the plane, turned: a product of complex numbers (Su et al., eq. 12)."""
    points = torch.view_as_complex(x.view(*x.shape[:-1], -1, 2))
    return torch.view_as_real(points * by).view(x.shape)


class SquaredReLU(torch.autograd.Function):
    """max(0, x)^2 (So et al. 2021). PyTorch's own backward of the square is several times dearer."""

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


SHORT = 16  # tokens in a row: up to here plain products are quicker than PyTorch's fused attention
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu, "relu2": SquaredReLU.apply}


class Attention(nn.Module):
    """Multi-head attention to the tokens up to one's own (Vaswani et al. 2017, section 3.2)."""

    def __init__(self, config: TransformerTextConfig, generator: Generator) -> None:
        super().__init__()
        self.heads = config.heads
        self.project = Linear(config.width, 3 * config.width, generator, bias=False)  # queries, keys, values
        self.output = Linear(config.width, config.width, generator, bias=False)
        self.queries, self.keys, self.values = Tap(), Tap(), Tap()
        self.scores, self.mask, self.weights, self.mixed = Tap(), Tap(), Tap(), Tap()

    def forward(
        self, x: Float[Tensor, "*batch time width"], turn: Complex[Tensor, "time 1 pairs"] | None
    ) -> Float[Tensor, "*batch time width"]:
        """`turn` tells queries and keys where they stand, for rotary positions."""
        apart = (*x.shape[:-1], self.heads, -1)
        q, k, v = (part.view(apart) for part in self.project(x).chunk(3, dim=-1))
        if turn is not None:
            q, k = turned(q, turn), turned(k, turn)
        q, k, v = (part.transpose(-2, -3) for part in (q, k, v))  # each *batch heads time head_width
        q, k, v = self.queries(q), self.keys(k), self.values(v)
        if watched() or x.shape[-2] <= SHORT:
            scores = self.scores(q @ k.mT / math.sqrt(q.shape[-1]))
            mask = self.mask(x.new_full(scores.shape[-2:], -math.inf).triu(1))  # 0 where one may look
            weights = self.weights((scores + mask).softmax(dim=-1))
            mixed = self.mixed(weights @ v)
        else:
            q, k, v = (part.flatten(0, -4) for part in (q, k, v))  # the kernel takes four axes: replicas among rows
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.output(mixed.transpose(-2, -3).reshape(x.shape))


def start_at_zero(*layers: Linear) -> None:
    """What was drawn is thrown away, not left undrawn: so all other layers start the same without this."""
    for layer in layers:
        for parameter in layer.parameters():
            nn.init.zeros_(parameter)


def made_norm(config: TransformerTextConfig) -> nn.Module:
    if config.norm == "layer":
        return LayerNorm(config.width, config.biases)
    return RMSNorm(config.width) if config.norm == "rms" else nn.Identity()


class Block(nn.Module):
    """Attention between tokens, then a feedforward layer on each; a residual and a norm around both."""

    def __init__(self, config: TransformerTextConfig, generator: Generator) -> None:
        super().__init__()
        self.norm_first = config.norm_place == "pre"
        self.attention = Attention(config, generator)
        self.expand = Linear(config.width, config.hidden, generator, config.biases)
        self.contract = Linear(config.hidden, config.width, generator, config.biases)
        self.attention_norm, self.feedforward_norm = made_norm(config), made_norm(config)
        self.activation = ACTIVATIONS[config.activation]
        self.dropout = Dropout(config.dropout)
        self.hidden, self.output = Tap(), Tap()
        if config.start == "zero":  # a block first hands on what it gets
            start_at_zero(self.attention.output, self.contract)

    def feedforward(self, x: Float[Tensor, "*batch time width"]) -> Float[Tensor, "*batch time width"]:
        return self.contract(self.hidden(self.activation(self.expand(x))))

    def forward(
        self, x: Float[Tensor, "*batch time width"], turn: Complex[Tensor, "time 1 pairs"] | None
    ) -> Float[Tensor, "*batch time width"]:
        if self.norm_first:
            x = x + self.dropout(self.attention(self.attention_norm(x), turn))
            x = x + self.dropout(self.feedforward(self.feedforward_norm(x)))
        else:
            x = self.attention_norm(x + self.dropout(self.attention(x, turn)))
            x = self.feedforward_norm(x + self.dropout(self.feedforward(x)))
        return self.output(x)


class TransformerDecoder(LanguageModel):
    """Embeddings and positions, a few blocks, an answer at every token."""

    def __init__(self, config: TransformerTextConfig, vocabulary: int, context: int, generator: Generator) -> None:
        super().__init__()
        self.config = config
        self.embedding = Embedding(vocabulary, config.width, generator)
        # What every configuration has comes first, and positions take their number even where none are learned:
        # so the blocks start alike under any positions and in any number.
        self.readout = Linear(config.width, vocabulary, generator, config.biases)
        places = own(generator)
        self.position = Embedding(context, config.width, places) if config.positions == "learned" else None
        self.blocks = nn.ModuleList(Block(config, generator) for _ in range(config.layers))
        self.final_norm = made_norm(config) if config.norm_place == "pre" else nn.Identity()
        self.embedded = Tap()
        if config.start == "zero":  # at first every token is equally likely
            start_at_zero(self.readout)

    def placed(self, x: Float[Tensor, "*batch time width"]) -> Float[Tensor, "*batch time width"]:
        """The tokens' vectors, each with that of its place added, if places have vectors."""
        time, width = x.shape[-2:]
        if self.config.positions == "sinusoidal":
            return x + sinusoids(time, width)
        if self.position is None:
            return x
        learned = self.position.weight
        if time > learned.shape[-2]:
            raise ValueError(f"{time} tokens, but only {learned.shape[-2]} learned positions: give no more than these")
        return x + learned.narrow(-2, 0, time).unsqueeze(-3)  # the same for every row

    def features(
        self, ids: Int[Tensor, "*replicas batch time"], state: State = ()
    ) -> tuple[Float[Tensor, "*replicas batch time width"], State]:
        """What the readout reads at every position. Nothing is carried over: `state` is `()`.

        Raises ValueError for more tokens than there are learned positions; other positions have no end.
        """
        x = self.embedded(self.placed(self.embedding(ids)))
        turn = None
        if self.config.positions == "rotary":
            turn = turns(ids.shape[-1], self.config.width // self.config.heads)
        for block in self.blocks:
            x = block(x, turn)
        return self.final_norm(x), ()
