"""One view of every Transformer whose attention is inspected: taps, logits, readout, visible tokens and positions.

`attention_model` wraps the models of this project. A module from elsewhere implements `AttentionModel` itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol, TypeAlias, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from explorer.errors import InvalidSetting
from explorer.hub.pretrained import PretrainedModule
from explorer.models.layers import LayerNorm, Linear, RMSNorm
from explorer.models.shapes import Vectors
from explorer.models.structure import AttentionLayout
from explorer.models.taps import Intervention, Trace
from explorer.models.transformer_decoder import TransformerDecoder, rotate, rotations
from explorer.models.transformer_encoder import TransformerEncoder
from explorer.models.transformer_tagger import TransformerTagger

Ids: TypeAlias = Sequence[int]
BlockFunction: TypeAlias = Callable[[Tensor], Tensor]  # "rows time width" -> the same
Rows: TypeAlias = Int[Tensor, "rows time"]  # ids of several texts
Answers: TypeAlias = Float[Tensor, "*batch answers outcomes"]  # logits
OneVector: TypeAlias = Float[Tensor, " width"]
PartVectors: TypeAlias = Float[Tensor, "parts width"]
PartLogits: TypeAlias = Float[Tensor, "parts outcomes"]


@runtime_checkable
class AttentionModel(Protocol):
    """A single Transformer (not a stack of replicas) as inspection sees it."""

    @property
    def module(self) -> nn.Module:
        """The module that `models.taps.record` and `intervene` observe."""

    @property
    def layout(self) -> AttentionLayout:
        """Its layers and heads, and which parts can be ablated."""

    @property
    def depth_taps(self) -> tuple[str, ...]:
        """The taps of the residual stream: after the embedding, then after every block."""

    def tap(self, layer: int, name: str) -> str:
        """Return the name of a tap of one layer's attention.

        `name`: queries, keys, values, scores, mask (only with a causal mask that can be removed), weights or mixed.
        """

    def logits(self, ids: Ids) -> Float[Tensor, "answers outcomes"]:
        """Run the model on one text."""

    def readout(self, vectors: Vectors) -> Answers:
        """Return the logits for the output of any block, through the final norm and the output layer."""

    def visible_pairs(self, trace: Trace, ids: Ids) -> Bool[Tensor, "query key"]:
        """Return which query sees which key in a recorded forward pass; masked padding is neither."""

    def position_interventions(self) -> dict[str, Intervention]:
        """Return the interventions that remove the positions, by tap."""

    def embed_and_blocks(self, ids: Rows) -> tuple[Tensor, list[BlockFunction]]:
        """Return the first block's input, and the blocks as functions; those of one row take any number of rows."""

    @property
    def adds_up(self) -> bool:
        """Whether the last state of the residual stream is the sum of the embedding and of what all parts add."""

    def head_outputs(
        self, layer: int, mixed: Float[Tensor, "heads time head_width"]
    ) -> Float[Tensor, "heads time width"]:
        """Return what each head of a layer adds to the residual stream, from the value of its tap `mixed`."""

    def attention_bias(self, layer: int) -> OneVector:
        """Return what the attention of a layer adds besides its heads: the bias of the output projection."""

    def direct_logits(self, parts: PartVectors, final: OneVector, outcomes: Sequence[int]) -> PartLogits:
        """Return what parts of the last state `final` add to logits, with the scale of the final norm that of `final`.

        It is linear in `parts`. The logits are those of all parts of `final` together plus `logit_offset`.
        """

    def logit_offset(self, outcomes: Sequence[int]) -> Float[Tensor, " outcomes"]:
        """Return what the biases of the final norm and of the output layer add to logits."""


def attention_model(module: nn.Module | AttentionModel) -> AttentionModel:
    """Return what inspection needs of a Transformer. Raises InvalidSetting for a model without attention."""
    if isinstance(module, PretrainedModule):
        return module.part()
    if isinstance(module, AttentionModel):
        return module
    if isinstance(module, TransformerDecoder):
        return _OwnTransformer(module)
    if isinstance(module, TransformerEncoder):
        return _OwnEncoder(module)
    if isinstance(module, TransformerTagger) and module.config.attention:
        return _OwnTagger(module)
    raise InvalidSetting(f"{type(module).__name__} has no attention to look at. Choose a Transformer.")


class _OwnTransformer:
    """A decoder of this project, and what the other Transformers have in common with it."""

    def __init__(self, module: Any) -> None:
        self.module: nn.Module = module
        self._own, self._config = module, getattr(module, "config", None)  # a classifier has one design only
        self._positions: str = getattr(self._config, "positions", "learned")
        self._final_norm: nn.Module = getattr(module, "final_norm", nn.Identity())
        layers, heads = len(module.blocks), module.blocks[0].attention.heads
        has_mask, is_classifier = isinstance(module, TransformerDecoder), isinstance(module, TransformerEncoder)
        self.layout = AttentionLayout(layers, heads, has_mask, self._positions != "none", not is_classifier)
        self.depth_taps = ("embedded", *(f"blocks.{layer}.output" for layer in range(layers)))

    @property
    def adds_up(self) -> bool:
        config = self._config
        if config is None:  # a norm comes after each part
            return False
        return (config.norm_place == "pre" or config.norm == "none") and getattr(config, "residual", True)

    def tap(self, layer: int, name: str) -> str:
        return f"blocks.{layer}.attention.{name}"

    def logits(self, ids: Ids) -> Float[Tensor, "answers outcomes"]:
        logits: Tensor = self.module(torch.tensor([tuple(ids)], dtype=torch.int64))
        return logits.view(-1, logits.shape[-1])

    def readout(self, vectors: Vectors) -> Answers:
        seen = vectors if self.layout.answers_every_token else vectors[..., :1, :]
        return self._own.readout(self._final_norm(seen))

    def visible_pairs(self, trace: Trace, ids: Ids) -> Bool[Tensor, "query key"]:
        return trace[self.tap(0, "mask")] == 0

    def position_interventions(self) -> dict[str, Intervention]:
        if self._positions != "rotary":
            return {"embedded": lambda value, step: value - self._own.add_positions(torch.zeros_like(value))}
        taps = (self.tap(layer, name) for layer in range(self.layout.layers) for name in ("queries", "keys"))
        return dict.fromkeys(taps, _undo_rotation)

    def embed_and_blocks(self, ids: Rows) -> tuple[Tensor, list[BlockFunction]]:
        ids = ids[:, : getattr(self._own, "window", None)]
        x = self._own.add_positions(self._own.embedding(ids))
        return x, [partial(_call_block, block, self._block_arguments(ids)) for block in self._own.blocks]

    def _block_arguments(self, ids: Rows) -> dict[str, Any]:
        """Return what a block takes besides its input."""
        is_rotary = self._positions == "rotary"
        return {
            "rotation": rotations(ids.shape[-1], self._own.config.width // self.layout.heads) if is_rotary else None
        }

    def head_outputs(
        self, layer: int, mixed: Float[Tensor, "heads time head_width"]
    ) -> Float[Tensor, "heads time width"]:
        weight = self._own.blocks[layer].attention.output.weight
        return torch.einsum("htd,whd->htw", mixed, weight.unflatten(-1, (self.layout.heads, -1)))

    def attention_bias(self, layer: int) -> OneVector:
        return torch.zeros(self._own.readout.weight.shape[-1])  # the projection has none

    def direct_logits(self, parts: PartVectors, final: OneVector, outcomes: Sequence[int]) -> PartLogits:
        return normalize_linearly(self._final_norm, parts, final) @ self._own.readout.weight[list(outcomes)].T

    def logit_offset(self, outcomes: Sequence[int]) -> Float[Tensor, " outcomes"]:
        bias = getattr(self._final_norm, "bias", None)
        readout: Linear = self._own.readout
        return readout(torch.zeros(readout.weight.shape[-1]) if bias is None else bias)[list(outcomes)]


class _OwnTagger(_OwnTransformer):
    def visible_pairs(self, trace: Trace, ids: Ids) -> Bool[Tensor, "query key"]:
        return self._own.mask(torch.tensor([tuple(ids)]))[0, 0].expand(len(ids), -1)

    def _block_arguments(self, ids: Rows) -> dict[str, Any]:
        return {"mask": self._own.mask(ids), **super()._block_arguments(ids)}


class _OwnEncoder(_OwnTransformer):
    """A classifier: it answers at its first token."""

    def visible_pairs(self, trace: Trace, ids: Ids) -> Bool[Tensor, "query key"]:
        real = torch.tensor(tuple(ids)) != self._own.padding
        return real & real[:, None]

    def _block_arguments(self, ids: Rows) -> dict[str, Any]:
        return {"mask": (ids != self._own.padding)[:, None, None], "queries": ids.shape[-1]}


def _call_block(block: nn.Module, arguments: dict[str, Any], x: Vectors) -> Vectors:
    """Return the output of a block; the mask of a single row is that of every row."""
    if "mask" in arguments:
        arguments = {**arguments, "mask": arguments["mask"].expand(len(x), -1, -1, -1)}
    return block(x, **arguments)


def normalize_linearly(norm: nn.Module, parts: PartVectors, final: OneVector) -> PartVectors:
    """Return parts of the vector `final` as its norm passes them on, with the scale of `final` and without the bias."""
    if isinstance(norm, nn.Identity):
        return parts
    if isinstance(norm, LayerNorm):
        scale = (final.var(correction=0) + 1e-5).rsqrt()
        return (parts - parts.mean(dim=-1, keepdim=True)) * scale * norm.weight
    if isinstance(norm, RMSNorm):
        return parts * (final.square().mean() + 1e-5).rsqrt() * norm.weight
    raise TypeError(f"{type(norm).__name__} is no norm of a Transformer")


def _undo_rotation(
    value: Float[Tensor, "*batch heads time width"], step: int
) -> Float[Tensor, "*batch heads time width"]:
    """Return queries or keys as they were before the rotation by rotary positions."""
    time, width = value.shape[-2:]
    return rotate(value.transpose(-2, -3).contiguous(), rotations(time, width).conj()).transpose(-2, -3)
