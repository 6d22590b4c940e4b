"""Intermediate values of one forward pass: one head's activations, the logit lens, and every tap by name."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Float32, Int
from numpy import ndarray
from torch import nn

from explorer.inspection.attention.attend import forward_with_taps
from explorer.inspection.attention.attention_model import AttentionModel, Ids, attention_model
from explorer.inspection.attention.head_ablation import NO_ABLATION, Ablation, check_head
from explorer.inspection.load_model import to_array


@dataclass(frozen=True, eq=False)
class HeadActivations:
    """What one head computes with. Rows of `mask` and `weights` are queries, columns keys."""

    queries: Float32[ndarray, "time width"]  # after rotary positions, if the model has them
    keys: Float32[ndarray, "time width"]
    values: Float32[ndarray, "time width"]
    mask: Float32[ndarray, "query key"]  # added to the scores: 0 where the key is visible, -inf where not
    weights: Float32[ndarray, "query key"]  # softmax; NaN where the key is hidden, and for padding queries


@torch.inference_mode()
def head_activations(model: nn.Module | AttentionModel, ids: Ids, layer: int, head: int) -> HeadActivations:
    """Return the parts of softmax(Q K^T / sqrt(d)) V of a head (Vaswani et al. 2017, eq. 1). Raises InvalidSetting."""
    transformer = attention_model(model)
    check_head(transformer.layout, layer, head)
    _, trace = forward_with_taps(transformer, ids)
    names = ("queries", "keys", "values", "weights")
    q, k, v, weights = (trace[transformer.tap(layer, name)][0, head] for name in names)
    hidden = ~transformer.visible_pairs(trace, ids)
    mask = torch.zeros_like(weights).masked_fill(hidden, -torch.inf)
    return HeadActivations(*(to_array(value) for value in (q, k, v, mask, weights.masked_fill(hidden, torch.nan))))


@torch.inference_mode()
def most_probable_by_depth(
    model: nn.Module | AttentionModel, ids: Ids, ablation: Ablation = NO_ABLATION
) -> tuple[Int[ndarray, "depths answers"], Float32[ndarray, "depths answers"]]:
    """Return the most probable outcome after the embedding and after every block, and its probability: the logit lens
    (nostalgebraist 2020, "interpreting GPT: the logit lens").

    Each residual vector goes through the model's own final norm and readout. A language model predicts at every token,
    a classifier at its first one. One depth is read at a time, because a real model has tens of thousands of outcomes
    after every token. Raises InvalidSetting.
    """
    transformer = attention_model(model)
    _, trace = forward_with_taps(transformer, ids, ablation)
    best = [transformer.readout(trace[tap])[0].softmax(dim=-1).max(dim=-1) for tap in transformer.depth_taps]
    probabilities, outcomes = (torch.stack(values) for values in zip(*best, strict=True))
    return outcomes.numpy(), to_array(probabilities)


@torch.inference_mode()
def tap_arrays(
    model: nn.Module | AttentionModel, ids: Ids, ablation: Ablation = NO_ABLATION
) -> dict[str, Float[ndarray, " *shape"]]:
    """Return every tapped value of one forward pass by tap name, exactly as the model computed it.

    `blocks.0.attention.queries`, `keys`, `values` and `mixed` are "heads time width", `scores` and `weights` "heads
    query key", a decoder's `mask` is "query key". Weights are 0 where the mask hides a token. Raises InvalidSetting.
    """
    _, trace = forward_with_taps(model, ids, ablation)
    return {name: to_array(value if name.endswith(".mask") else value[0]) for name, value in trace.items()}
