"""Softmax of dot products of random vectors by width d_k: entropy, largest weight and gradient, raw and scaled.

Queries and keys are drawn from N(0, 1), as Vaswani et al. 2017 assume in footnote 4: q · k then has variance d_k, and
divided by sqrt(d_k) variance 1. A smaller width uses the first dimensions of the same vectors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.lazy_libraries import special

KEYS = 64
DRAWS = 512
WIDTHS = tuple(sorted({round(2 ** (half / 2)) for half in range(21)}))  # 1 to 1,024 in half octaves
_AT_ONCE = 16  # draws: 16 x 64 x 1,024 numbers of four bytes


@dataclass(frozen=True, eq=False)
class SoftmaxStatistics:
    """Statistics of each draw at every width, for raw (0) and scaled (1) scores; `one`: weights of the first draw."""

    size: Float[ndarray, "kinds widths draws"]  # standard deviation of the scores over the keys
    entropy: Float[ndarray, "kinds widths draws"]  # nats
    largest: Float[ndarray, "kinds widths draws"]
    gradient: Float[ndarray, "kinds widths draws"]  # see `jacobian_norm`
    one: Float[ndarray, "kinds widths keys"]

    def percentiles(self, name: str) -> Float[ndarray, "kinds widths 3"]:
        """Return median, 10th and 90th percentile over the draws of one statistic."""
        return np.moveaxis(np.percentile(getattr(self, name), (50, 10, 90), axis=-1), 0, -1)


def measure_softmax(seed: int = 0, draws: int = DRAWS) -> SoftmaxStatistics:
    """Draw one query and KEYS keys `draws` times and return the statistics of their softmax."""
    random = np.random.default_rng(seed)
    parts = [draw_scores(random, min(_AT_ONCE, draws - start), KEYS) for start in range(0, draws, _AT_ONCE)]
    raw = np.concatenate(parts, axis=1)
    scaled_pair = np.stack([raw, raw / np.sqrt(WIDTHS)[:, None, None]])
    weights = softmax(scaled_pair)
    return SoftmaxStatistics(
        scaled_pair.std(axis=-1), entropy(weights), weights.max(axis=-1), jacobian_norm(weights), weights[:, :, 0]
    )


def draw_scores(random: np.random.Generator, draws: int, keys: int) -> Float[ndarray, "widths draws keys"]:
    """Return q · k over the first dimensions, for every width."""
    query = random.standard_normal((draws, 1, WIDTHS[-1]), dtype=np.float32)
    product = random.standard_normal((draws, keys, WIDTHS[-1]), dtype=np.float32)
    product *= query
    starts = np.array([0, *WIDTHS[:-1]])
    parts = np.add.reduceat(product, starts, axis=-1).astype(np.float64)
    return np.moveaxis(parts.cumsum(axis=-1), -1, 0)


def softmax(scores: Float[ndarray, "*batch keys"]) -> Float[ndarray, "*batch keys"]:
    """Return the softmax over the last axis."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def entropy(weights: Float[ndarray, "*batch keys"]) -> Float[ndarray, " *batch"]:
    """Return the entropy in nats; ln(keys) for uniform weights."""
    return special.entr(weights).sum(axis=-1)


def jacobian_norm(weights: Float[ndarray, "*batch keys"]) -> Float[ndarray, " *batch"]:
    """Return the Frobenius norm of softmax's Jacobian diag(a) - a aᵀ; 1 - max a is the sum of the others."""
    ordered = np.sort(weights, axis=-1)
    others, top = ordered[..., :-1], ordered[..., -1]
    squares = (others**2).sum(axis=-1)
    diagonal = (top * others.sum(axis=-1)) ** 2 + (others**2 * (1 - others) ** 2).sum(axis=-1)
    off_diagonal = 2 * top**2 * squares + np.maximum(squares**2 - (others**4).sum(axis=-1), 0)
    return np.sqrt(diagonal + off_diagonal)
