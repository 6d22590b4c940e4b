"""Inside one forward: a head's numbers from query to answer, what each layer would answer, and every tap by name."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Float32
from numpy import ndarray
from torch import Tensor, nn

from explorer.inspection.attention import UNTOUCHED, Ids, Touch, allowed, anatomy, check_head, forward, known, read_off
from explorer.inspection.opening import to_array
from explorer.models.transformer_decoder import TransformerDecoder


@dataclass(frozen=True, eq=False)
class Inside:
    """One head at work. Rows of `raw`, `scaled`, `mask` and `weights` ask, their columns answer."""

    queries: Float32[ndarray, "time width"]  # after rotary positions, where there are such
    keys: Float32[ndarray, "time width"]
    values: Float32[ndarray, "time width"]
    raw: Float32[ndarray, "query key"]  # Q K^T
    scaled: Float32[ndarray, "query key"]  # divided by the square root of the head's width
    mask: Float32[ndarray, "query key"]  # added to these: 0 where one may look, -inf where not
    weights: Float32[ndarray, "query key"]  # the softmax; NaN where nobody may look, and where padding asks
    mixed: Float32[ndarray, "query width"]  # the weighted sum of the values; zeros where the head is off


@torch.inference_mode()
def inside(model: nn.Module, ids: Ids, layer: int, head: int, touch: Touch = UNTOUCHED) -> Inside:
    """Attention(Q, K, V) = softmax(Q K^T / sqrt(d)) V of one head, step by step (Vaswani et al. 2017, eq. 1).

    A flat head's raw and scaled scores are what they would be; its weights are what they were made.
    Raises InvalidSetting.
    """
    check_head(anatomy(model), layer, head)
    _, trace = forward(model, ids, touch)
    q, k, v, weights, mixed = (
        trace[f"blocks.{layer}.attention.{name}"][0, head] for name in ("queries", "keys", "values", "weights", "mixed")
    )
    may = allowed(model, trace, ids)
    raw = q @ k.mT
    scaled = raw / q.shape[-1] ** 0.5
    mask = torch.zeros_like(raw).masked_fill(~may, -torch.inf)
    shown = weights.masked_fill(~may, torch.nan)
    return Inside(*(to_array(value) for value in (q, k, v, raw, scaled, mask, shown, mixed)))


@torch.inference_mode()
def lens(
    model: nn.Module, ids: Ids, touch: Touch = UNTOUCHED, asked: int | None = None
) -> Float32[ndarray, "depths answers outcomes"]:
    """What each layer would answer: log-probabilities after the embedding and after every block (nostalgebraist 2020,
    "interpreting GPT: the logit lens").

    The vector that stands there goes through the model's own final norm and readout. A language model has an answer at
    every token, or at the one that is `asked` alone; a classifier has one, at its first token. Raises InvalidSetting.
    """
    found = known(model)
    _, trace = forward(model, ids, touch)
    depths = torch.cat([trace["embedded"], *(trace[f"blocks.{i}.output"] for i in range(len(found.blocks)))])
    if asked is not None and isinstance(found, TransformerDecoder):
        depths = depths[:, [asked]]
    return to_array(read_off(model, depths).log_softmax(dim=-1))


@torch.inference_mode()
def named_arrays(model: nn.Module, ids: Ids, touch: Touch = UNTOUCHED) -> dict[str, Float[ndarray, " *shape"]]:
    """Every tapped value of one forward by its tap's name, exactly as the model computed it.

    `blocks.0.attention.queries`, `keys`, `values` and `mixed` are "heads time width", `scores` and `weights` "heads
    query key", a decoder's `mask` is "query key". Weights are 0 where the mask hides a token. Raises InvalidSetting.
    """
    _, trace = forward(model, ids, touch)
    return {name: _alone(name, value) for name, value in trace.items()}


def _alone(name: str, value: Tensor) -> ndarray:
    """Without the axis of the one row; a mask has none: it is the same for all rows."""
    return to_array(value if name.endswith(".mask") else value[0])
