"""Changes to the attention of a Transformer: heads without output, uniform attention, no causal mask, no positions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int
from numpy import ndarray
from torch import Tensor, nn

from explorer.errors import InvalidSetting
from explorer.inspection.attention.attention_model import AttentionModel, attention_model
from explorer.models.structure import AttentionLayout
from explorer.models.taps import Intervention, intervene

Head: TypeAlias = tuple[int, int]  # layer and head, from 0 on, as in the names of the taps


@dataclass(frozen=True)
class Ablation:
    """Changes to the attention of a model during a forward pass."""

    zero_ablated: frozenset[Head] = frozenset()  # heads whose output is zero
    uniform_attention: frozenset[Head] = frozenset()  # heads with equal weights on all visible tokens
    no_causal_mask: bool = False  # whether queries also see later tokens
    no_positions: bool = False  # whether the model gets no positions


NO_ABLATION = Ablation()


def interventions(
    model: nn.Module | AttentionModel, ablation: Ablation, visible: Bool[Tensor, "rows time"] | None = None
) -> dict[str, Intervention]:
    """Return the interventions of an ablation by tap, for `models.taps.intervene`.

    A zero-ablated head passes zeros to the output matrix (the gates of Michel et al. 2019, eq. 1). Uniform attention
    sets all scores of a head to 0, so that the softmax is uniform over what the mask allows. With `visible`, a
    zero-ablated head passes its mean over these tokens instead of zeros. Raises InvalidSetting for a head, a mask or
    positions that the model does not have.
    """
    transformer = attention_model(model)
    layout = transformer.layout
    _check_ablation(ablation, layout)
    changes: dict[str, Intervention] = transformer.position_interventions() if ablation.no_positions else {}
    for layer in range(layout.layers):
        zeroed, uniform = (
            [head for at, head in heads if at == layer] for heads in (ablation.zero_ablated, ablation.uniform_attention)
        )
        if zeroed:
            changes[transformer.tap(layer, "mixed")] = partial(_replace_heads, zeroed, visible)
        if uniform:
            changes[transformer.tap(layer, "scores")] = partial(_replace_heads, uniform, None)
        if ablation.no_causal_mask:
            changes[transformer.tap(layer, "mask")] = lambda mask, step: torch.zeros_like(mask)
    return changes


def check_head(layout: AttentionLayout, layer: int, head: int) -> None:
    """Raise InvalidSetting for a head that a model does not have."""
    if not (0 <= layer < layout.layers and 0 <= head < layout.heads):
        raise InvalidSetting(
            f"There is no head {head} in layer {layer}. Give a layer from 0 to {layout.layers - 1} and a head from 0 "
            f"to {layout.heads - 1}."
        )


def _check_ablation(ablation: Ablation, layout: AttentionLayout) -> None:
    for layer, head in sorted(ablation.zero_ablated | ablation.uniform_attention):
        check_head(layout, layer, head)
    if ablation.no_causal_mask and not layout.causal:
        raise InvalidSetting("This model has no causal mask that can be removed. Leave the mask out.")
    if ablation.no_positions and not layout.positions:
        raise InvalidSetting("This model knows no positions that could be taken away. Leave them out.")


def _replace_heads(
    heads: list[int],
    visible: Bool[Tensor, "rows time"] | None,
    value: Float[Tensor, "*batch heads query width"],
    step: int,
) -> Float[Tensor, "*batch heads query width"]:
    changed = value.clone()
    changed[..., heads, :, :] = 0 if visible is None else value.transpose(-2, -3)[visible].mean(dim=0)[heads, None]
    return changed


def measure_without_heads(
    model: AttentionModel,
    ids: Int[Tensor, "rows time"],
    groups: Sequence[Collection[Head]],
    measure: Callable[[Tensor], Tensor],
    visible: Bool[Tensor, "rows time"] | None = None,
) -> Float64[ndarray, "groups ..."]:
    """Return what `measure` finds in the output of the last block without the heads of each group (none: with all).

    The layers below the lowest removed head are computed once. `visible`: see `interventions`. Raises InvalidSetting.
    """
    x, blocks = model.embed_and_blocks(ids)
    inputs, found = [x], []
    for block in blocks[:-1]:
        inputs.append(block(inputs[-1]))
    for heads in groups:
        lowest = min((layer for layer, _ in heads), default=len(blocks) - 1)
        y = inputs[lowest]
        with intervene(model.module, interventions(model, Ablation(frozenset(heads)), visible)):
            for block in blocks[lowest:]:
                y = block(y)
        found.append(measure(y).double().numpy())
    return np.stack(found)


def single_heads(layout: AttentionLayout) -> list[tuple[Head]]:
    """Return a group of one head for every head of a model, layer by layer."""
    return [((layer, head),) for layer in range(layout.layers) for head in range(layout.heads)]
