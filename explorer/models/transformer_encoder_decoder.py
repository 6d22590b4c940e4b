"""The original Transformer: an encoder of the source, and a decoder with cross-attention to it.

    Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V                     (Vaswani et al. 2017, eq. 1)
    encoder:  x <- x + Attention(x, x),  x <- x + FFN(x)                  source tokens attend to the whole source
    decoder:  y <- y + Attention(y, y up to itself),  y <- y + Attention(y, x),  y <- y + FFN(y)

These are the three kinds of attention of section 3.2.3. As in `transformer_decoder.py`, the norm is after each part
("post", as published) or before it ("pre", Xiong et al. 2020).
"""

from __future__ import annotations

import math
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Generator, Tensor, nn

from explorer.models.configs import TransformerEncoderDecoderConfig
from explorer.models.language import State
from explorer.models.layers import Embedding, LayerNorm, Linear
from explorer.models.shapes import Features, Ids, Source, Target, TargetLogits, Vectors
from explorer.models.taps import Tap
from explorer.models.transformer_decoder import ACTIVATIONS, add_positions, init_to_zero, sinusoids
from explorer.models.translation import Translator


class Attention(nn.Module):
    """Multi-head attention from one sequence to another, or to itself (Vaswani et al. 2017, section 3.2)."""

    def __init__(self, config: TransformerEncoderDecoderConfig, generator: Generator) -> None:
        super().__init__()
        self.heads = config.heads
        self.query = Linear(config.width, config.width, generator, bias=False)
        self.key = Linear(config.width, config.width, generator, bias=False)
        self.value = Linear(config.width, config.width, generator, bias=False)
        self.output = Linear(config.width, config.width, generator, bias=False)
        self.queries, self.keys, self.values = Tap(), Tap(), Tap()
        self.scores, self.weights, self.mixed = Tap(), Tap(), Tap()

    def forward(
        self,
        x: Float[Tensor, "*batch query width"],
        source: Float[Tensor, "*batch key width"],
        mask: Bool[Tensor, "*#batch #query key"],
    ) -> Float[Tensor, "*batch query width"]:
        """Return the attention output for queries from `x`, keys and values from `source`; `mask`: visible tokens."""
        q, k, v = (
            part.view(*part.shape[:-1], self.heads, -1).transpose(-2, -3)
            for part in (self.query(x), self.key(source), self.value(source))
        )  # each *batch heads time head_width
        q, k, v = self.queries(q), self.keys(k), self.values(v)
        scores = self.scores(q @ k.mT / math.sqrt(q.shape[-1]))
        weights = self.weights(scores.masked_fill(~mask[..., None, :, :], -math.inf).softmax(dim=-1))
        return self.output(self.mixed(weights @ v).transpose(-2, -3).flatten(-2))


class Block(nn.Module):
    """A block of the encoder or, with `cross_attention`, of the decoder."""

    def __init__(self, config: TransformerEncoderDecoderConfig, generator: Generator, cross_attention: bool) -> None:
        super().__init__()
        self.norm_first = config.norm_place == "pre"
        self.attention = Attention(config, generator)
        self.expand = Linear(config.width, config.hidden, generator)
        self.contract = Linear(config.hidden, config.width, generator)
        self.cross: nn.Module | None = Attention(config, generator) if cross_attention else None
        self.attention_norm, self.feedforward_norm = LayerNorm(config.width), LayerNorm(config.width)
        self.cross_norm = LayerNorm(config.width) if cross_attention else nn.Identity()
        self.activation = ACTIVATIONS[config.activation]
        self.output = Tap()
        if config.start == "zero":
            init_to_zero(self.attention.output, self.contract, *([self.cross.output] if self.cross else []))

    def forward(
        self,
        x: Vectors,
        mask: Bool[Tensor, "*#batch #time time"],
        annotations: Float[Tensor, "*batch source width"] | None = None,
        source_mask: Bool[Tensor, "*batch 1 source"] | None = None,
    ) -> Vectors:
        """Return the output; only the decoder has `annotations` (the encoder's output) and their `source_mask`."""
        if self.norm_first:
            normal = self.attention_norm(x)
            x = x + self.attention(normal, normal, mask)
            if self.cross is not None:
                x = x + self.cross(self.cross_norm(x), annotations, source_mask)
            x = x + self.contract(self.activation(self.expand(self.feedforward_norm(x))))
        else:
            x = self.attention_norm(x + self.attention(x, x, mask))
            if self.cross is not None:
                x = self.cross_norm(x + self.cross(x, annotations, source_mask))
            x = self.feedforward_norm(x + self.contract(self.activation(self.expand(x))))
        return self.output(x)


class TransformerEncoderDecoder(Translator):
    """A Transformer with an encoder and a decoder; each decoder block attends to the output of the encoder."""

    def __init__(
        self, config: TransformerEncoderDecoderConfig, sources: int, targets: int, padding: int, generator: Generator
    ) -> None:
        super().__init__()
        self.config, self.padding, self.targets = config, padding, targets
        width, learned = config.width, config.positions == "learned"
        self.embedding = nn.ModuleDict(
            {"source": Embedding(sources, width, generator), "target": Embedding(targets, width, generator)}
        )
        self.readout = Linear(config.width, targets, generator)
        # Drawn even if unused, so that the initial weights of the blocks do not depend on the kind of positions.
        learned_positions = {side: Embedding(config.places, width, generator) for side in ("source", "target")}
        self.position = nn.ModuleDict(learned_positions) if learned else None
        self.encoder = nn.ModuleList(Block(config, generator, cross_attention=False) for _ in range(config.layers))
        self.decoder = nn.ModuleList(Block(config, generator, cross_attention=True) for _ in range(config.layers))
        pre = config.norm_place == "pre"
        self.encoder_norm = LayerNorm(config.width) if pre else nn.Identity()
        self.decoder_norm = LayerNorm(config.width) if pre else nn.Identity()
        self.embedded_source, self.embedded_target, self.annotations = Tap(), Tap(), Tap()
        if config.start == "zero":
            init_to_zero(self.readout)

    def _add_positions(self, ids: Ids, side: str) -> Features:
        """Return the embedded tokens with position vectors, if there are any. `side`: "source" or "target"."""
        x = self.embedding[side](ids)
        if self.config.positions == "sinusoidal":
            return x + sinusoids(*x.shape[-2:]).to(x.device)
        table: Any = None if self.position is None else self.position[side]
        return add_positions(x, table)

    def encode(self, source: Source) -> State:
        """Return the output of the encoder for every token of the source, and the mask, which is false at padding."""
        mask = (source != self.padding)[..., None, :]
        x = self.embedded_source(self._add_positions(source, "source"))
        for block in self.encoder:
            x = block(x, mask)
        return self.annotations(self.encoder_norm(x)), mask

    def decode(self, read: State, ids: Target, state: State = ()) -> tuple[TargetLogits, State]:
        """Return the logits and the state. The state is the target so far, which every call processes again."""
        new = ids.shape[-1]
        ids = torch.cat((*state, ids), dim=-1)
        annotations, source_mask = read
        time = ids.shape[-1]
        mask = torch.ones(time, time, dtype=torch.bool, device=ids.device).tril()
        y = self.embedded_target(self._add_positions(ids, "target"))
        for block in self.decoder:
            y = block(y, mask, annotations, source_mask)
        return self.readout(self.decoder_norm(y.narrow(-2, time - new, new))), (ids,)
