"""Two small attention layers for any words: each word has a vector of its own, drawn from its letters.

Nothing here is trained: masks act on scores, whatever these are. Needs no torch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.tasks.labelling import PAD

WIDTH = 8
LAYERS = 2


def vectors(words: Iterable[str]) -> dict[str, Float[ndarray, " width"]]:
    """A vector for each word, N(0, 1), and one for padding: the same word has the same wherever it stands."""
    return {word: _drawn(f"word/{word}", (WIDTH,)) for word in {*words, PAD}}


def layers() -> list[dict[str, Float[ndarray, "width width"]]]:
    """The matrices of each layer, for queries, keys and values; so scaled that scores are about N(0, 1)."""
    names = ("query", "key", "value")
    return [
        {name: _drawn(f"layer/{layer}/{name}", (WIDTH, WIDTH)) / np.sqrt(WIDTH) for name in names}
        for layer in range(LAYERS)
    ]


def _drawn(purpose: str, shape: tuple[int, ...]) -> Float[ndarray, "*shape"]:
    seed = int.from_bytes(hashlib.sha256(f"masks/{purpose}".encode()).digest()[:8], "big")
    return np.random.default_rng(seed).standard_normal(shape)
