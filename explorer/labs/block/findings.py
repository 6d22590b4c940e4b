"""Sentences on a Transformer block: what each part adds, what a norm does, where the parameters are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.models.structure import ModelStructure
from explorer.number_format import format_approximate, format_range, format_units
from explorer.ui.wording import capitalize, join_words

PART_NAMES = {
    "attention": "the attention",
    "cross": "the cross-attention",
    "feedforward": "the feedforward layer",
}


@dataclass(frozen=True, eq=False)
class Contribution:
    """Vector norms around one part of a block, per token: of its input stream, of what it adds, and of the sum."""

    part: str  # a key of PART_NAMES
    half: str  # "encoder", "decoder", or "" for a model with one of them
    input_norm: Float[ndarray, " tokens"]  # Euclidean norms
    added_norm: Float[ndarray, " tokens"]
    output_norm: Float[ndarray, " tokens"]

    @property
    def relative_norm(self) -> float:
        """Return the mean over tokens of |added| / |stream|."""
        return float(np.mean(self.added_norm / np.maximum(self.input_norm, 1e-12)))

    @property
    def name(self) -> str:
        """Return what the part is called in a sentence."""
        return f"{PART_NAMES[self.part]}{f' of the {self.half}' if self.half else ''}"


def largest_contribution_finding(parts: list[Contribution], layer: int, layers: int) -> str:
    """Say which part changes the residual stream most."""
    largest = max(parts, key=lambda part: part.relative_norm)
    where = f"In block {layer}" if layers > 1 else "In the only block"
    return (
        f"{where}, {largest.name} changes the residual stream most: its output is {largest.relative_norm:.2f} times "
        "as long as the stream."
    )


def contributions_text(parts: list[Contribution]) -> str:
    """Say how much each part adds, with the vector norms at the first sum."""
    first_part, *others = parts
    sentences = [f"{first_part.name} adds a vector {first_part.relative_norm:.2f} times as long as the residual stream"]
    sentences += [f"{part.name} {part.relative_norm:.2f} times" for part in others]
    first = capitalize(join_words(sentences))
    return (
        f"{first}. At the first sum a vector of length {first_part.added_norm.mean():.2f} is added to one of length "
        f"{first_part.input_norm.mean():.2f}; the sum has length {first_part.output_norm.mean():.2f} (means over "
        f"{format_units(len(first_part.input_norm), 'token')}), because the two have different directions."
    )


def norm_text(before: Float[ndarray, " tokens"], after: Float[ndarray, " tokens"], learned: bool) -> str:
    """Say how the variance of each token's vector changes at the norm. `learned`: whether the gain was trained."""
    range_before = format_range(before.min(), before.max())
    range_after = format_range(after.min(), after.max())
    explanation = " It is not exactly 1, because the learned gain multiplies each number." if learned else ""
    return (
        f"The variance of a token’s numbers is {range_before} before the first norm and {range_after} after it."
        f"{explanation}"
    )


def parameter_share_text(counts: Mapping[str, int], total: int) -> str:
    """Say which share of the model's parameters is where. `counts`: of all blocks, by feedforward and attention."""
    shares = {name: 100 * count / total for name, count in counts.items()}
    parts = join_words([f"{share:.0f} % are in the {name}" for name, share in shares.items()])
    return f"Of the model’s {total:,} parameters, {parts}."


def size_finding(title: str, real: ModelStructure, own: ModelStructure) -> str:
    """Say how much larger a real model is than one that is trained here."""
    ratio = format_approximate(real.total / own.total)
    real_blocks, own_blocks = (" + ".join(str(stack.layers) for stack in each.stacks) for each in (real, own))
    return (
        f"{title} has {real_blocks} blocks of width {real.width:,}, and {ratio} times as many parameters as the "
        f"Transformer that is trained here, which has {own_blocks} of width {own.width:,}."
    )


def design_finding(title: str, real: ModelStructure, own: ModelStructure) -> str:
    """Say in what the design of a real model differs from that of one that is trained here."""
    one, other, windows = real.stacks[-1], own.stacks[-1], [each for each in real.stacks[-1].windows if each]
    differences = {
        f"{one.norm} instead of {other.norm}": one.norm != other.norm,
        f"norms {one.norm_place} each part instead of {other.norm_place} it": one.norm_place != other.norm_place,
        f"{one.heads} heads of queries that share {one.key_heads} of keys and values (grouped queries)": (
            one.key_heads < one.heads
        ),
        "a gate in the feedforward part: one projection multiplies another": one.gated,
        f"{one.activation} instead of {other.activation}": one.activation != other.activation,
        "attention and feedforward part that read the same vector, in parallel": one.parallel,
        f"{real.positions} positions instead of {own.positions} ones": real.positions != own.positions,
        "an output layer that has the weights of the embedding": real.tied,
        "no output layer: it gives vectors": not real.outcomes,
        f"attention to the last {max(windows, default=0):,} tokens only in {len(windows)} of {one.layers} layers": (
            bool(windows)
        ),
    }
    found = "; ".join(text for text, differs in differences.items() if differs)
    if not found:
        return f"The blocks of {title} and of our Transformer have the same design."
    return f"Both have the same parts. {title} differs in its design: {found}."
