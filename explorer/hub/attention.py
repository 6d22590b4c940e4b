"""Attention of a `transformers` model through taps: the function that all attention modules of such a model call.

`transformers` looks the function up in a registry by name (`AttentionInterface`). While nobody records or intervenes,
it is PyTorch's fused attention; otherwise it computes softmax(Q K^T * scale + bias + mask) V (Vaswani et al. 2017,
eq. 1) step by step through taps with the names of our own models.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeVar

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from explorer.errors import InvalidSetting
from explorer.models.taps import Tap, is_observed

_T = TypeVar("_T")
NAME = "lineage"  # of the function in the registry
_TAPS = "attention_taps"  # where an attention module has its taps; no submodule, so that weights keep their names
# Arguments that change nothing here: dropout is off, and the mask contains causality and sliding windows.
_WITHOUT_EFFECT = {
    "cache_position",
    "cu_seq_lens_k",
    "cu_seq_lens_q",
    "deterministic",
    "is_causal",
    "max_length_k",
    "max_length_q",
    "output_attentions",
    "output_hidden_states",
    "position_ids",
    "return_dict",
    "sliding_window",
    "use_cache",
}


class Call(NamedTuple):
    """One call of the function."""

    module: nn.Module
    output: Float[Tensor, "batch query heads value_width"]


_calls: ContextVar[list[Call] | None] = ContextVar("calls", default=None)


class AttentionTaps(nn.Module):
    """The taps of one attention module."""

    def __init__(self) -> None:
        super().__init__()
        self.queries, self.keys, self.values = Tap(), Tap(), Tap()  # each "batch heads time head_width"
        self.scores, self.weights = Tap(), Tap()  # "batch heads query key"
        self.mask = Tap()  # "query key": 0 where the key is visible, the lowest number of the type elsewhere
        self.mixed = Tap()  # "batch heads query head_width"


def register() -> None:
    """Make the function known to `transformers`. Requires the optional dependency."""
    from transformers.masking_utils import AttentionMaskInterface, eager_mask
    from transformers.modeling_utils import AttentionInterface

    AttentionInterface.register(NAME, attention)
    AttentionMaskInterface.register(NAME, eager_mask)


def attach_taps(module: nn.Module, taps: AttentionTaps) -> None:
    """Give an attention module of `transformers` its taps."""
    module.__dict__[_TAPS] = taps


@contextmanager
def value_inside(variable: ContextVar[_T | None], value: _T) -> Iterator[_T]:
    """Give a variable a value inside the block."""
    token = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(token)


def recorded_calls() -> AbstractContextManager[list[Call]]:
    """Record the calls of the function inside the block, in order."""
    return value_inside(_calls, [])


def attention(
    module: nn.Module,
    query: Float[Tensor, "batch heads query width"],
    key: Float[Tensor, "batch key_heads key width"],
    value: Float[Tensor, "batch key_heads key value_width"],
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    position_bias: Tensor | None = None,
    **others: Any,
) -> tuple[Float[Tensor, "batch query heads value_width"], None]:
    """Return the attention output of one module, before its output projection.

    `attention_mask` is added to the scores, and equal for all rows, because texts are never padded here.
    `position_bias` is added to the scores, too (T5). With fewer key heads than heads, each one serves several (grouped
    queries, Ainslie et al. 2023). Raises InvalidSetting for an argument that this computation does not know: without
    it, the weights would be wrong.
    """
    unknown = sorted(name for name, given in others.items() if given is not None and name not in _WITHOUT_EFFECT)
    if unknown:
        raise InvalidSetting(
            f"The attention of this model uses {', '.join(unknown)}, which Lineage does not compute. "
            "Open another model."
        )
    groups = query.shape[1] // key.shape[1]
    if groups > 1:
        key, value = key.repeat_interleave(groups, dim=1), value.repeat_interleave(groups, dim=1)
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    taps = module.__dict__.get(_TAPS)
    if taps is None or not is_observed():
        bias = attention_mask if position_bias is None else position_bias
        if position_bias is not None and attention_mask is not None:
            bias = position_bias + attention_mask
        mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=bias, scale=scaling)
        return _output(module, mixed), None
    query, key, value = taps.queries(query), taps.keys(key), taps.values(value)
    scores = query @ key.mT * scaling
    scores = taps.scores(scores if position_bias is None else scores + position_bias)
    pairs = scores.shape[-2:]
    mask = scores.new_zeros(pairs) if attention_mask is None else attention_mask[0, 0].expand(pairs)
    weights = taps.weights((scores + taps.mask(mask)).softmax(dim=-1))
    return _output(module, taps.mixed(weights @ value)), None


def _output(
    module: nn.Module, mixed: Float[Tensor, "batch heads query width"]
) -> Float[Tensor, "batch query heads width"]:
    output = mixed.transpose(1, 2)
    if (calls := _calls.get()) is not None:
        calls.append(Call(module, output))
    return output
