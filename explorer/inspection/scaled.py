"""What dot products of random vectors do to softmax as they get wider: entropy, largest weight and gradient by d_k.

Queries and keys are drawn from N(0, 1), as Vaswani et al. 2017 assume in their footnote 4: then q · k has a variance of
d_k, and divided by sqrt(d_k) one of 1. The dimensions of a draw are added one after the other, so what is read at a
width is the beginning of the very same vectors that are read at the next.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

KEYS = 64
DRAWS = 512
WIDTHS = tuple(sorted({round(2 ** (half / 2)) for half in range(21)}))  # 1 to 1,024 in half octaves
_AT_ONCE = 16  # draws: 16 x 64 x 1,024 numbers of four bytes


@dataclass(frozen=True, eq=False)
class Softmaxes:
    """Of each draw: at every width, as it is (0) and divided by the root (1). `one` is the weights of the first."""

    size: Float[ndarray, "kinds widths draws"]  # standard deviation of the scores over the keys
    entropy: Float[ndarray, "kinds widths draws"]  # nats
    largest: Float[ndarray, "kinds widths draws"]
    gradient: Float[ndarray, "kinds widths draws"]  # see `jacobian_norm`
    one: Float[ndarray, "kinds widths keys"]

    def over_draws(self, name: str) -> Float[ndarray, "kinds widths 3"]:
        """Median, 10th and 90th percentile."""
        found: ndarray = np.moveaxis(np.percentile(getattr(self, name), (50, 10, 90), axis=-1), 0, -1)
        return found


def softmaxes(seed: int = 0, draws: int = DRAWS, keys: int = KEYS) -> Softmaxes:
    """One query and `keys` keys a draw."""
    random = np.random.default_rng(seed)
    parts = [scores(random, min(_AT_ONCE, draws - start), keys) for start in range(0, draws, _AT_ONCE)]
    raw = np.concatenate(parts, axis=1)
    given = np.stack([raw, raw / np.sqrt(WIDTHS)[:, None, None]])
    weights = softmax(given)
    return Softmaxes(
        given.std(axis=-1), entropy(weights), weights.max(axis=-1), jacobian_norm(weights), weights[:, :, 0]
    )


def scores(random: np.random.Generator, draws: int, keys: int) -> Float[ndarray, "widths draws keys"]:
    """q · k over the first dimensions, as many as each width has."""
    query = random.standard_normal((draws, 1, WIDTHS[-1]), dtype=np.float32)
    product = random.standard_normal((draws, keys, WIDTHS[-1]), dtype=np.float32)
    product *= query
    starts = np.array([0, *WIDTHS[:-1]])
    parts = np.add.reduceat(product, starts, axis=-1).astype(np.float64)
    return np.moveaxis(parts.cumsum(axis=-1), -1, 0)


def softmax(given: Float[ndarray, "*batch keys"]) -> Float[ndarray, "*batch keys"]:
    """Over the last axis."""
    powers = np.exp(given - given.max(axis=-1, keepdims=True))
    shares: ndarray = powers / powers.sum(axis=-1, keepdims=True)
    return shares


def entropy(weights: Float[ndarray, "*batch keys"]) -> Float[ndarray, " *batch"]:
    """In nats; ln(keys) where all weights are alike."""
    found: ndarray = -(weights * np.log(np.where(weights > 0, weights, 1))).sum(axis=-1)
    return found


def jacobian_norm(weights: Float[ndarray, "*batch keys"]) -> Float[ndarray, " *batch"]:
    """The Frobenius norm of the derivatives of all weights a by all of softmax's inputs, J = diag(a) - a aᵀ.

    Written so that nothing cancels where one weight is nearly 1: 1 - a of the largest is the sum of the others.
    """
    ordered = np.sort(weights, axis=-1)
    others, top = ordered[..., :-1], ordered[..., -1]
    squares = (others**2).sum(axis=-1)
    diagonal = (top * others.sum(axis=-1)) ** 2 + (others**2 * (1 - others) ** 2).sum(axis=-1)
    beside = 2 * top**2 * squares + np.maximum(squares**2 - (others**4).sum(axis=-1), 0)
    found: ndarray = np.sqrt(diagonal + beside)
    return found
