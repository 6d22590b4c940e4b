"""Two small untrained attention layers with random word vectors, for demonstrations of masks. Does not need torch."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.tasks.sequence_labelling.config import PAD

WIDTH = 8
LAYERS = 2


def word_vectors(words: Iterable[str]) -> dict[str, Float[ndarray, " width"]]:
    """Return a vector from N(0, 1) for each word and for padding; it depends on the word alone."""
    return {word: _random_normal(f"word/{word}", (WIDTH,)) for word in {*words, PAD}}


def layer_matrices() -> list[dict[str, Float[ndarray, "width width"]]]:
    """Return the query, key and value matrices of each layer, scaled so that scores are about N(0, 1)."""
    names = ("query", "key", "value")
    return [
        {name: _random_normal(f"layer/{layer}/{name}", (WIDTH, WIDTH)) / np.sqrt(WIDTH) for name in names}
        for layer in range(LAYERS)
    ]


def _random_normal(purpose: str, shape: tuple[int, ...]) -> Float[ndarray, "*shape"]:
    seed = int.from_bytes(hashlib.sha256(f"masks/{purpose}".encode()).digest()[:8], "big")
    return np.random.default_rng(seed).standard_normal(shape)
