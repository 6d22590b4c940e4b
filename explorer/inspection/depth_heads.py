"""One attention layer, its matrices cut into more or fewer heads: where each head looks, and how much that differs.

    head_i = softmax(Q_i K_i^T / sqrt(d / h) + mask) V_i,   Q_i, K_i, V_i: the i-th of h slices of width d / h
                                                            (Vaswani et al. 2017, section 3.2.2)

Whatever h is, W_Q, W_K, W_V and W_O are the same d x d matrices: 4 d^2 parameters. What changes is where queries and
keys are cut, so that a head's scores are a matrix of rank d / h at most (Bhojanapalli et al. 2020).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import torch
from jaxtyping import Float, Float64, Int
from numpy import ndarray
from torch import Tensor

from explorer.models.taps import record
from explorer.models.transformer_decoder import Attention, TransformerDecoder, turns

CUTS = (1, 2, 4, 8)
_NOTHING = 1e-5  # of the largest singular value: smaller ones are rounding


@dataclass(frozen=True, eq=False)
class Cut:
    """One model's layer over one text, cut into so many heads."""

    weights: Float[ndarray, "heads query key"]  # rows sum to 1; 0 where one may not look
    rank: Int[ndarray, " heads"]  # of the scores before the mask
    parameters: int  # of the layer

    @property
    def difference(self) -> float:
        return difference(self.weights)

    @property
    def evenness(self) -> float:
        return evenness(self.weights)


def cuts(model: TransformerDecoder, ids: Sequence[int], layer: int) -> dict[int, Cut]:
    """The attention of a layer (from 0) over a text, cut into 1, 2, 4 and 8 heads. It reads what the model hands it,
    whose layers before it have the heads that they have."""
    with torch.no_grad():
        x = _read_by(model, torch.tensor([list(ids)]), layer)
        return {heads: _cut(model, x, layer, heads) for heads in CUTS}


def _read_by(model: TransformerDecoder, ids: Int[Tensor, "1 time"], layer: int) -> Float[Tensor, "1 time width"]:
    """What the attention of a layer reads."""
    x = model.placed(model.embedding(ids))
    turn = turns(ids.shape[-1], model.config.width // model.config.heads)
    rotary = model.config.positions == "rotary"
    for block in model.blocks[:layer]:
        x = block(x, turn if rotary else None)
    block = model.blocks[layer]
    return block.attention_norm(x) if block.norm_first else x  # type: ignore[operator]


def _cut(model: TransformerDecoder, x: Float[Tensor, "1 time width"], layer: int, heads: int) -> Cut:
    attention = copy.copy(model.blocks[layer].attention)  # the same matrices and taps
    assert isinstance(attention, Attention)
    attention.heads = heads
    width = model.config.width // heads
    with record(attention) as trace:
        attention(x, turns(x.shape[-2], width) if model.config.positions == "rotary" else None)
    scores = trace["scores"][0].double()
    return Cut(
        trace["weights"][0].double().numpy(),
        torch.linalg.matrix_rank(scores, rtol=_NOTHING).numpy(),
        sum(parameter.numel() for parameter in attention.parameters()),
    )


def difference(weights: Float[ndarray, "heads query key"]) -> float:
    """How differently the heads look: the Jensen-Shannon divergence of two heads in bits (Lin 1991), 0 where they look
    alike and 1 where they have no token in common; a mean over all pairs of heads and all tokens that have a choice.
    NaN with a single head."""
    shares = weights[:, 1:].astype(np.float64)  # the first token can look only at itself
    pairs = [
        _entropy((one + other) / 2) - (_entropy(one) + _entropy(other)) / 2 for one, other in combinations(shares, 2)
    ]
    return float(np.mean(pairs)) if pairs else float("nan")


def evenness(weights: Float[ndarray, "heads query key"]) -> float:
    """How evenly the heads look: the entropy over that of looking everywhere alike, 1 where they do; a mean over all
    heads and all tokens that have a choice."""
    queries = weights.shape[1]
    most = np.log2(np.arange(2, queries + 1))
    return float((_entropy(weights[:, 1:].astype(np.float64)) / most).mean())


def _entropy(shares: Float64[ndarray, "*rows key"]) -> Float64[ndarray, "*rows"]:
    """In bits; 0 log 0 = 0."""
    bits: ndarray = -(shares * np.log2(np.where(shares > 0, shares, 1.0))).sum(axis=-1)
    return bits
