"""What a Transformer is made of: its sizes, the design of its blocks, its parameters, and what a token costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Part: TypeAlias = Literal["embedding", "positions", "attention", "feedforward", "norms", "output"]
PARTS: tuple[Part, ...] = ("embedding", "positions", "attention", "feedforward", "norms", "output")
NormPlace: TypeAlias = Literal["none", "before", "after", "before and after"]  # of each part of a block
BYTES = 4  # of a number in 32 bits


@dataclass(frozen=True)
class AttentionLayout:
    """What attention a model has, and which parts of it can be ablated."""

    layers: int
    heads: int  # in each layer
    causal: bool  # whether it has a causal mask that can be removed; that of a tagger cannot
    positions: bool  # whether it has positions, which can be removed
    answers_every_token: bool = True  # a classifier answers at its first token only
    answers: bool = True  # a sentence encoder answers nothing, it only gives vectors

    @property
    def size(self) -> str:
        """Its layers and heads in words."""
        layers, heads = (f"{n} {word}{'s' * (n != 1)}" for n, word in ((self.layers, "layer"), (self.heads, "head")))
        return f"{layers} × {heads}"


@dataclass(frozen=True)
class StackStructure:
    """The blocks of an encoder or of a decoder; all have the same design."""

    name: str  # "encoder" or "decoder"
    layers: int
    heads: int  # of the queries, in one layer
    key_heads: int  # of keys and values; fewer than `heads` with grouped queries (Ainslie et al. 2023)
    head_width: int
    hidden: int  # numbers between the two layers of the feedforward part
    norm: str  # "LayerNorm", "RMSNorm" or "none"
    norm_place: NormPlace
    activation: str
    gated: bool  # whether the feedforward part multiplies two projections of its input (Shazeer 2020)
    parallel: bool  # whether attention and feedforward part read the same vector
    causal: bool
    cross: bool  # whether each block also attends to the output of an encoder
    windows: tuple[int, ...]  # by layer: how many tokens its attention sees at most; 0: all

    def pair_multiplications(self, tokens: int) -> int:
        """Return a token's multiplications with others; cross-attention has a source of as many tokens."""
        seen = sum(min(tokens, window or tokens) for window in self.windows) + self.cross * self.layers * tokens
        return 2 * self.heads * self.head_width * seen

    def cache_bytes(self, tokens: int) -> int:
        """Return the memory of keys and values, also of a source of as many tokens; 0 for an encoder."""
        if not self.causal:
            return 0
        kept = sum(min(tokens, window or tokens) for window in self.windows) + self.cross * self.layers * tokens
        return 2 * self.key_heads * self.head_width * kept * BYTES


@dataclass(frozen=True)
class ModelStructure:
    """A whole model: its stacks, and the parts in which its parameters are."""

    width: int
    vocabulary: int  # tokens that it can read
    positions: str  # how it knows the order of the tokens: "learned", "sinusoidal", "rotary", "relative" or "none"
    stacks: tuple[StackStructure, ...]
    outcomes: int  # that its output layer predicts; 0: it has none, and gives vectors
    tied: bool  # whether the output layer is the token embedding
    parameters: Mapping[Part, int]  # a tied output layer has none of its own
    multiplied: int  # weights by which the vector of a token is multiplied, the output layer included

    @property
    def total(self) -> int:
        """The number of parameters."""
        return sum(self.parameters.values())

    def multiplications(self, tokens: int) -> int:
        """Return the multiplications of the last of so many tokens; with an encoder, of one on each side."""
        return self.multiplied + sum(stack.pair_multiplications(tokens) for stack in self.stacks)

    def cache_bytes(self, tokens: int) -> int:
        """Return the memory of the keys and values of so many tokens, in 32 bits."""
        return sum(stack.cache_bytes(tokens) for stack in self.stacks)
