"""Cost of a network part: formulas over length, width and layers, and fits to measured curves.

One sequence of `length` vectors of size `width` goes through `layers` copies of one part: attention that stores its
weights ("attention"), attention in a fused kernel ("fused"), the feedforward part of a Transformer block, or a
recurrent cell. `cost_measurement.py` measures their time and memory.

The formulas count multiplications of a forward pass, and the float32 bytes saved for the backward pass. Sums, norms,
exponentials and memory copies are not counted. Does not need torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

FEEDFORWARD_FACTOR: Final = 4  # hidden units per unit of width (Vaswani et al. 2017, section 3.3)
PARTS: Final = ("attention", "fused", "feedforward", "rnn", "gru", "lstm")


@dataclass(frozen=True)
class LayerSize:
    """Sequence length and sizes of a part."""

    length: int = 128
    width: int = 64
    layers: int = 1
    heads: int = 4


@dataclass(frozen=True, eq=False)
class MeasuredCosts:
    """Measured costs of one part over the sizes of a sweep; NaN where it was not measured."""

    forward: Float[ndarray, " sizes"]  # seconds, without gradients
    forward_backward: Float[ndarray, " sizes"]  # seconds of a forward and a backward pass
    saved_bytes: Float[ndarray, " sizes"]  # saved for the backward pass, without parameters


# ---- formulas


def multiplications(name: str, size: LayerSize) -> int:
    """Return the multiplications of a forward pass, with the scores of all pairs, also of those that a mask hides."""
    t, d = size.length, size.width
    per_layer = {
        "attention": 4 * t * d * d + 2 * t * t * d,  # queries, keys, values, output; scores and weighted sums
        "fused": 4 * t * d * d + 2 * t * t * d,
        "feedforward": 2 * t * d * FEEDFORWARD_FACTOR * d,
        "rnn": 2 * t * d * d,  # one product with the input, one with the state
        "gru": 3 * 2 * t * d * d,
        "lstm": 4 * 2 * t * d * d,
    }[name]
    return per_layer * size.layers


def attention_weight_bytes(name: str, size: LayerSize) -> int:
    """Return the bytes of the attention weights in one layer: one number per head and pair of tokens."""
    return 4 * size.heads * size.length**2 if name == "attention" else 0


# Vectors of size `width` saved per token, by part.
# Attention: x, q, k, v and the weighted sums. Feedforward: x and the hidden units. RNN: x and h. GRU: x, h, r, z, n,
# the product with r, and two more that PyTorch saves. LSTM: x, h, four gates, c and tanh c.
SAVED_VECTORS: Final = {
    "attention": 5,
    "fused": 5,
    "feedforward": 1 + FEEDFORWARD_FACTOR,
    "rnn": 2,
    "gru": 8,
    "lstm": 8,
}


def expected_saved_bytes(name: str, size: LayerSize) -> int:
    """Return the bytes saved for the backward pass; a fused kernel saves one number per token and head, not weights."""
    vectors = SAVED_VECTORS[name] * size.length * size.width + (size.heads * size.length if name == "fused" else 0)
    return size.layers * (attention_weight_bytes(name, size) + 4 * vectors)


# ---- fits


def scale_to_median(formula: Float[ndarray, " sizes"], y: Float[ndarray, " sizes"]) -> Float[ndarray, " sizes"]:
    """Return the formula scaled by the median ratio of measured to formula; NaN if nothing was measured."""
    measured = np.isfinite(y)
    scale = np.exp(np.median(np.log(y[measured] / formula[measured]))) if measured.any() else np.nan
    return formula * scale


def crossover(x: Int[ndarray, " sizes"], first: Float[ndarray, " sizes"], second: Float[ndarray, " sizes"]) -> float:
    """Return the x from which the first curve stays above the second; 0 if it always is, infinity if never."""
    common = np.isfinite(first) & np.isfinite(second)
    log_x, above = np.log(x[common]), np.log(first[common] / second[common])
    if not len(above) or above[-1] <= 0:
        return float("inf")
    below = np.flatnonzero(above <= 0)
    if not len(below):
        return 0.0
    i = int(below[-1])
    share = above[i] / (above[i] - above[i + 1])
    return float(np.exp(log_x[i] + share * (log_x[i + 1] - log_x[i])))
