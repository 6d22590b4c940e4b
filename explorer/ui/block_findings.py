"""What is said of an opened block: how much each part adds, what a norm does, where the parameters stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.ui.findings import capital, listed

PARTS = {"attention": "the attention", "cross": "the look back at the source", "feedforward": "the feedforward layer"}


@dataclass(frozen=True, eq=False)
class Added:
    """One part of a block, for each token: what it gets, what it adds, what becomes of it."""

    part: str  # of PARTS
    half: str  # "encoder", "decoder", or "" where there is one half
    stream: Float[ndarray, " tokens"]  # lengths of the vectors
    added: Float[ndarray, " tokens"]
    total: Float[ndarray, " tokens"]

    @property
    def share(self) -> float:
        """How long what is added is, against what it is added to, in the mean over the tokens."""
        return float(np.mean(self.added / np.maximum(self.stream, 1e-12)))

    @property
    def words(self) -> str:
        return f"{PARTS[self.part]}{f' of the {self.half}' if self.half else ''}"


def finding(parts: list[Added], layer: int, layers: int, where_from: str) -> str:
    """The headline: what the block adds to the stream, and which part adds most. `where_from`: the run and its seed."""
    most = max(parts, key=lambda part: part.share)
    where = f"In block {layer} of {layers}" if layers > 1 else "In the only block"
    size = "more than was there" if most.share > 1 else "less than was there"
    return f"{where}, {most.words} adds most to the stream: {most.share:.2f} times its length, {size} ({where_from})."


def parts_words(parts: list[Added]) -> str:
    """How much each part adds, and what is left."""
    one, *others = parts
    told = [f"{one.words} adds {one.share:.2f} times the length of what it is added to"]
    told += [f"{part.words} {part.share:.2f} times" for part in others]
    first = capital(listed(told))
    return (
        f"{first}. At the first sum the vectors were {one.stream.mean():.2f} long, what came was {one.added.mean():.2f}"
        f", the sum is {one.total.mean():.2f}, in the mean over {_tokens(len(one.stream))}: "
        "the two need not point the same way."
    )


def norm_words(before: Float[ndarray, " tokens"], after: Float[ndarray, " tokens"], learned: bool) -> str:
    """The variance within each token's vector, before the first norm of the block and after it."""
    spread = f"{before.min():.2f} to {before.max():.2f}" if len(before) > 1 else f"{before[0]:.2f}"
    left = f"{after.min():.2f} to {after.max():.2f}" if len(after) > 1 else f"{after[0]:.2f}"
    why = " It would be 1 for all, but the learned gain multiplies each number." if learned else ""
    return f"Before the first norm the variance of a token’s numbers is {spread}; after it, {left}.{why}"


def parameter_words(counts: Mapping[str, int], total: int) -> str:
    """Which share of the model's parameters stands where. `counts`: of all blocks, by feedforward and attention."""
    shares = {name: 100 * count / total for name, count in counts.items()}
    told = listed([f"{share:.0f} % in the {name}" for name, share in shares.items()])
    return f"Where the model’s {total:,} parameters stand: {told}."


def _tokens(count: int) -> str:
    return "the one token" if count == 1 else f"{count:,} tokens"
