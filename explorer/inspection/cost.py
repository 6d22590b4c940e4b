"""What a part of a network costs: formulas over length, width and layers, and what is read off measured lines.

One sequence of `length` vectors of `width` numbers goes through `layers` copies of one part: attention, which stores
every weight ("attention") or leaves them to a fused kernel ("fused"), the feedforward part of a Transformer's block,
or a recurrent cell. `cost_measuring.py` times and weighs them.

Formulas count multiplications of a forward, and the bytes of float32 that the way back needs of it. Sums, norms,
exponentials and the copying of memory are left out: they are what a measured line has beyond its formula. Needs no
torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

WIDER: Final = 4  # times the width: units of the feedforward part (Vaswani et al. 2017, section 3.3)
PARTS: Final = ("attention", "fused", "feedforward", "rnn", "gru", "lstm")


@dataclass(frozen=True)
class Size:
    """How much goes through how many parts of one kind."""

    length: int = 128
    width: int = 64
    layers: int = 1
    heads: int = 4


@dataclass(frozen=True, eq=False)
class Measured:
    """One kind of part over the sizes of a sweep; NaN where it was not measured."""

    forward: Float[ndarray, " sizes"]  # seconds, nothing kept for a way back
    both: Float[ndarray, " sizes"]  # seconds of a forward and the way back through it
    kept: Float[ndarray, " sizes"]  # bytes that the way back needs, parameters aside


# ---- formulas


def multiplications(name: str, size: Size) -> int:
    """Of a forward. Attention also computes the scores of later tokens and hides them; a fused kernel may leave out
    that half, which the formula does not."""
    t, d = size.length, size.width
    one = {
        "attention": 4 * t * d * d + 2 * t * t * d,  # queries, keys, values, output; scores and what they mix
        "fused": 4 * t * d * d + 2 * t * t * d,
        "feedforward": 2 * t * d * WIDER * d,
        "rnn": 2 * t * d * d,  # one product with what is read, one with the state
        "gru": 3 * 2 * t * d * d,
        "lstm": 4 * 2 * t * d * d,
    }[name]
    return one * size.layers


def weights_kept(name: str, size: Size) -> int:
    """Bytes of attention weights in one layer: a number for each pair of tokens in each head."""
    return 4 * size.heads * size.length**2 if name == "attention" else 0


# Vectors of `width` numbers kept for each token, by kind of part.
# Attention: x, q, k, v and what is mixed. Feedforward: x and the hidden units. RNN: x and h. GRU: x, h, r, z, n, what r
# gates, and two more that PyTorch's step keeps. LSTM: x, h, four gates, c and tanh c.
VECTORS: Final = {"attention": 5, "fused": 5, "feedforward": 1 + WIDER, "rnn": 2, "gru": 8, "lstm": 8}


def bytes_kept(name: str, size: Size) -> int:
    """What the way back needs: what goes into each product, and attention's weights. A fused kernel keeps one number
    for each token and head instead, from which it computes the weights again."""
    vectors = VECTORS[name] * size.length * size.width + (size.heads * size.length if name == "fused" else 0)
    return size.layers * (weights_kept(name, size) + 4 * vectors)


# ---- fits


def slope(x: Int[ndarray, " sizes"], y: Float[ndarray, " sizes"], start: int) -> float:
    """The power of x by which y grows from `start` on: the least squares line through the logarithms. NaN for fewer
    than two points."""
    there = np.isfinite(y) & (x >= start)
    if there.sum() < 2:
        return float("nan")
    return float(np.polyfit(np.log(x[there]), np.log(y[there]), 1)[0])


def scaled(formula: Float[ndarray, " sizes"], y: Float[ndarray, " sizes"]) -> Float[ndarray, " sizes"]:
    """The formula's line moved through the middle one of the measured points: as many are above it as below."""
    there = np.isfinite(y)
    return (
        formula * np.exp(np.median(np.log(y[there] / formula[there]))) if there.any() else np.full_like(formula, np.nan)
    )


def crossing(x: Int[ndarray, " sizes"], one: Float[ndarray, " sizes"], other: Float[ndarray, " sizes"]) -> float:
    """From which x on the first line stays above the second, between two points along straight lines of logarithms.

    0 where it is above from the first point on, infinity where it is not above at the last one that both have.
    """
    there = np.isfinite(one) & np.isfinite(other)
    log_x, above = np.log(x[there]), np.log(one[there] / other[there])
    if not len(above) or above[-1] <= 0:
        return float("inf")
    below = np.flatnonzero(above <= 0)
    if not len(below):
        return 0.0
    i = int(below[-1])
    share = above[i] / (above[i] - above[i + 1])
    return float(np.exp(log_x[i] + share * (log_x[i + 1] - log_x[i])))
