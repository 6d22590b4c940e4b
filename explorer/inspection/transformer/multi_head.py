"""One attention layer with its matrices split into more or fewer heads: attention, rank and diversity of the heads.

    head_i = softmax(Q_i K_i^T / sqrt(d / h) + mask) V_i,   Q_i, K_i, V_i: the i-th of h slices of width d / h
                                                            (Vaswani et al. 2017, section 3.2.2)

W_Q, W_K, W_V and W_O are the same d x d matrices for every h: 4 d^2 parameters. The scores of a head have rank d / h at
most (Bhojanapalli et al. 2020).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from explorer.lazy_libraries import special
from explorer.models.taps import record
from explorer.models.transformer_decoder import Attention, TransformerDecoder, rotations

HEAD_COUNTS = (1, 2, 4, 8)
_RANK_TOLERANCE = 1e-5  # relative to the largest singular value; smaller ones are rounding errors


@dataclass(frozen=True, eq=False)
class HeadSplit:
    """One layer over one text, split into a number of heads."""

    weights: Float[ndarray, "heads query key"]  # rows sum to 1; 0 where masked
    rank: Int[ndarray, " heads"]  # of the scores before the mask
    parameters: int  # of the layer

    @property
    def difference(self) -> float:
        return head_divergence(self.weights)

    @property
    def evenness(self) -> float:
        return attention_evenness(self.weights)


def split_heads(model: TransformerDecoder, ids: Sequence[int], layer: int) -> dict[int, HeadSplit]:
    """Return the attention of a layer with 1, 2, 4 and 8 heads; the layers before it keep their number."""
    with torch.no_grad():
        x = _attention_input(model, torch.tensor([list(ids)]), layer)
        return {heads: _split_layer(model, x, layer, heads) for heads in HEAD_COUNTS}


def _attention_input(
    model: TransformerDecoder, ids: Int[Tensor, "1 time"], layer: int
) -> Float[Tensor, "1 time width"]:
    """Return the input of a layer's attention."""
    x = model.add_positions(model.embedding(ids))
    turn = rotations(ids.shape[-1], model.config.width // model.config.heads)
    rotary = model.config.positions == "rotary"
    for block in model.blocks[:layer]:
        x = block(x, turn if rotary else None)
    block = model.blocks[layer]
    return block.attention_norm(x) if block.norm_first else x  # type: ignore[operator]


def _split_layer(model: TransformerDecoder, x: Float[Tensor, "1 time width"], layer: int, heads: int) -> HeadSplit:
    attention = copy.copy(model.blocks[layer].attention)  # the same matrices and taps
    assert isinstance(attention, Attention)
    attention.heads = heads
    width = model.config.width // heads
    with record(attention) as trace:
        attention(x, rotations(x.shape[-2], width) if model.config.positions == "rotary" else None)
    scores = trace["scores"][0].double()
    return HeadSplit(
        trace["weights"][0].double().numpy(),
        torch.linalg.matrix_rank(scores, rtol=_RANK_TOLERANCE).numpy(),
        sum(parameter.numel() for parameter in attention.parameters()),
    )


def head_divergence(weights: Float[ndarray, "heads query key"]) -> float:
    """Return the mean Jensen-Shannon divergence (bits, Lin 1991) of pairs of heads, without the first token; or NaN."""
    shares = weights[:, 1:].astype(np.float64)  # the first token attends only to itself
    pairs = [
        special.entr((first + second) / 2) - (special.entr(first) + special.entr(second)) / 2
        for first, second in combinations(shares, 2)
    ]
    return float(np.mean(np.sum(pairs, axis=-1)) / np.log(2)) if pairs else float("nan")


def attention_evenness(weights: Float[ndarray, "heads query key"]) -> float:
    """Return the entropy of attention divided by that of uniform attention, averaged over heads and all tokens but
    the first; 1 for uniform attention."""
    queries = weights.shape[1]
    maximum = np.log(np.arange(2, queries + 1))
    return float((special.entr(weights[:, 1:].astype(np.float64)).sum(axis=-1) / maximum).mean())
