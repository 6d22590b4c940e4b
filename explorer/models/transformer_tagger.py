"""A Transformer that answers at every place, with each of its parts to be taken out.

    Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V                   (Vaswani et al. 2017, eq. 1)
    FFN(x) = max(0, x W_1 + b_1) W_2 + b_2                              (eq. 2)
    x <- Norm(x + Attention(x)),   x <- Norm(x + FFN(x))                (section 3.1, norm after: "post")
    x <- x + Attention(Norm(x)),   x <- x + FFN(Norm(x))                (Xiong et al. 2020, norm before: "pre")

With `causal` it is the paper's decoder without the attention to an encoder, otherwise its encoder. Without `attention`
no token learns of any other; without `scaled` the scores are not divided by sqrt(d_k); without `residual` a part hands
on only what it makes; without positions it knows order by the causal mask alone. Where we differ: embeddings start at
N(0, 1) and are not multiplied by sqrt(width), the projections have no biases, and there is no dropout.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Complex, Float, Int
from torch import Generator, Tensor, nn

from explorer.models.configs import TransformerTaggerConfig
from explorer.models.layers import Embedding, LayerNorm, Linear, RMSNorm, own
from explorer.models.taps import Tap
from explorer.models.transformer_decoder import sinusoids, turned, turns


class Attention(nn.Module):
    """Multi-head attention (Vaswani et al. 2017, section 3.2)."""

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

    def forward(
        self,
        x: Float[Tensor, "*batch time width"],
        mask: Bool[Tensor, "*batch 1 query time"],
        turn: Complex[Tensor, "time 1 pairs"] | None,
    ) -> Float[Tensor, "*batch time width"]:
        """`mask` is true where one may look; `turn` tells queries and keys where they stand, for rotary positions."""
        apart = (*x.shape[:-1], self.heads, -1)
        q, k, v = (part.reshape(apart) for part in self.project(x).chunk(3, dim=-1))
        if turn is not None:
            q, k = turned(q, turn), turned(k, turn)
        q, k, v = (part.transpose(-2, -3) for part in (q, k, v))  # each *batch heads time head_width
        q, k, v = self.queries(q), self.keys(k), self.values(v)
        scores = self.scores(q @ k.mT * self.scale)
        weights = self.weights(scores.masked_fill(~mask, -math.inf).softmax(dim=-1))
        mixed = self.mixed(weights @ v)
        return self.output(mixed.transpose(-2, -3).flatten(-2))


def norm_of(config: TransformerTaggerConfig) -> nn.Module:
    if config.norm == "layer":
        return LayerNorm(config.width)
    return RMSNorm(config.width) if config.norm == "rms" else nn.Identity()


class Block(nn.Module):
    """Attention between tokens, then a feedforward layer on each; a residual and a norm around both."""

    def __init__(self, config: TransformerTaggerConfig, generator: Generator) -> None:
        super().__init__()
        self.norm_first, self.residual = config.norm_place == "pre", config.residual
        attention = Attention(config, generator)  # drawn in any case: so the rest starts the same without it
        self.attention = attention if config.attention else None
        self.expand = Linear(config.width, config.hidden, generator)
        self.contract = Linear(config.hidden, config.width, generator)
        self.attention_norm, self.feedforward_norm = norm_of(config), norm_of(config)
        self.output = Tap()

    def feedforward(self, x: Float[Tensor, "*batch time width"]) -> Float[Tensor, "*batch time width"]:
        return self.contract(F.relu(self.expand(x)))

    def added(
        self, x: Float[Tensor, "*batch time width"], made: Float[Tensor, "*batch time width"]
    ) -> Float[Tensor, "*batch time width"]:
        """What a part made of x, on top of it."""
        return x + made if self.residual else made

    def forward(
        self,
        x: Float[Tensor, "*batch time width"],
        mask: Bool[Tensor, "*batch 1 query time"],
        turn: Complex[Tensor, "time 1 pairs"] | None,
    ) -> Float[Tensor, "*batch time width"]:
        attend = self.attention or (lambda x, mask, turn: torch.zeros_like(x))
        if self.norm_first:
            x = self.added(x, attend(self.attention_norm(x), mask, turn))
            x = self.added(x, self.feedforward(self.feedforward_norm(x)))
        else:
            x = self.attention_norm(self.added(x, attend(x, mask, turn)))
            x = self.feedforward_norm(self.added(x, self.feedforward(x)))
        return self.output(x)


class TransformerTagger(nn.Module):
    """Embeddings and positions, a few blocks, an answer at every place."""

    def __init__(
        self, config: TransformerTaggerConfig, vocabulary: int, labels: int, places: int, generator: Generator
    ) -> None:
        """`places`: how many places learned positions know. The last token of the vocabulary is the padding."""
        super().__init__()
        self.config, self.padding = config, vocabulary - 1
        self.embedding = Embedding(vocabulary, config.width, generator)
        # What every configuration has comes first, and positions take their number even where none are learned: so the
        # blocks start alike under any positions and in any number.
        self.readout = Linear(config.width, labels, generator)
        drawn = own(generator)
        self.position = Embedding(places, config.width, drawn) if config.positions == "learned" else None
        self.blocks = nn.ModuleList(Block(config, generator) for _ in range(config.layers))
        self.final_norm = norm_of(config) if config.norm_place == "pre" else nn.Identity()
        self.embedded = Tap()

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

    def mask(self, ids: Int[Tensor, "*replicas batch time"]) -> Bool[Tensor, "*replicas batch 1 query time"]:
        """Who may look at whom: not at padding, and with `causal` not at what comes later."""
        looked_at = (ids != self.padding)[..., None, None, :]
        if not self.config.causal:
            return looked_at
        return looked_at & torch.ones(ids.shape[-1], ids.shape[-1], dtype=torch.bool).tril()

    def features(self, ids: Int[Tensor, "*replicas batch time"]) -> Float[Tensor, "*replicas batch time width"]:
        """What the readout reads at every place. Raises ValueError for more tokens than there are learned positions."""
        x = self.embedded(self.placed(self.embedding(ids)))
        head = self.config.width // self.config.heads
        turn = turns(ids.shape[-1], head) if self.config.positions == "rotary" else None
        mask = self.mask(ids)
        for block in self.blocks:
            x = block(x, mask, turn)
        features: Tensor = self.final_norm(x)
        return features

    def forward(self, ids: Int[Tensor, "*replicas batch time"]) -> Float[Tensor, "*replicas batch time labels"]:
        return self.readout(self.features(ids))
