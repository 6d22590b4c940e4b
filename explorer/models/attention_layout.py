"""What attention a Transformer has: its layers and heads, and which parts of it can be ablated."""

from __future__ import annotations

from dataclasses import dataclass


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
