"""One view of every Transformer whose attention is inspected: taps, logits, readout, visible tokens and positions.

`attention_model` wraps the models of this project. A module from elsewhere implements `AttentionModel` itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol, TypeAlias, runtime_checkable

import torch
from jaxtyping import Bool, Complex, Float, Int
from torch import Tensor, nn

from explorer.errors import InvalidSetting
from explorer.hub.pretrained import PretrainedModule
from explorer.models.layers import LayerNorm, Linear, RMSNorm
from explorer.models.structure import AttentionLayout
from explorer.models.taps import Intervention, Trace
from explorer.models.transformer_decoder import TransformerDecoder, rotate, rotations
from explorer.models.transformer_encoder import TransformerEncoder
from explorer.models.transformer_tagger import TransformerTagger

Ids: TypeAlias = Sequence[int]
BlockFunction: TypeAlias = Callable[[Tensor], Tensor]  # "rows time width" -> the same


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

    def readout(self, vectors: Float[Tensor, "*batch time width"]) -> Float[Tensor, "*batch answers outcomes"]:
        """Return the logits for the output of any block, through the final norm and the output layer."""

    def visible_pairs(self, trace: Trace, ids: Ids) -> Bool[Tensor, "query key"]:
        """Return which query sees which key in a recorded forward pass; masked padding is neither."""

    def position_interventions(self) -> dict[str, Intervention]:
        """Return the interventions that remove the positions, by tap."""

    def embed_and_blocks(
        self, ids: Int[Tensor, "rows time"]
    ) -> tuple[Float[Tensor, "rows seen width"], list[BlockFunction]]:
        """Return the input of the first block, and the blocks as functions of their input alone.

        For a single row of ids the functions take any number of rows.
        """

    @property
    def adds_up(self) -> bool:
        """Whether the last state of the residual stream is the sum of the embedding and of what all parts add."""

    def head_outputs(
        self, layer: int, mixed: Float[Tensor, "heads time head_width"]
    ) -> Float[Tensor, "heads time width"]:
        """Return what each head of a layer adds to the residual stream, from the value of its tap `mixed`."""

    def attention_bias(self, layer: int) -> Float[Tensor, " width"]:
        """Return what the attention of a layer adds besides its heads: the bias of the output projection."""

    def direct_logits(
        self, parts: Float[Tensor, "parts width"], final: Float[Tensor, " width"], outcomes: Sequence[int]
    ) -> Float[Tensor, "parts outcomes"]:
        """Return what parts of the last state `final` add to logits, with the scale of the final norm that of `final`.

        It is linear in `parts`. The logits are those of all parts of `final` together plus `logit_offset`.
        """

    def logit_offset(self, outcomes: Sequence[int]) -> Float[Tensor, " outcomes"]:
        """Return what the biases of the final norm and of the output layer add to logits."""


def attention_model(module: nn.Module | AttentionModel) -> AttentionModel:
    """Return what inspection needs of a Transformer; one that has it already is returned as it is.

    Raises InvalidSetting for a model without attention.
    """
    if isinstance(module, PretrainedModule):
        return module.part()
    if isinstance(module, AttentionModel):
        return module
    if isinstance(module, TransformerDecoder):
        return _OwnDecoder(module)
    if isinstance(module, TransformerEncoder):
        return _OwnEncoder(module)
    if isinstance(module, TransformerTagger) and module.config.attention:
        return _OwnTagger(module)
    raise InvalidSetting(f"{type(module).__name__} has no attention to look at. Choose a Transformer.")


class _OwnTransformer(ABC):
    """What the Transformers of this project have in common."""

    def __init__(
        self, module: nn.Module, causal: bool = False, positions: bool = True, answers_every_token: bool = True
    ) -> None:
        layers, heads = len(module.blocks), module.blocks[0].attention.heads  # type: ignore[arg-type,index,union-attr]
        self._module = module
        self._readout: Linear = module.readout  # type: ignore[assignment]
        self._final_norm: nn.Module = getattr(module, "final_norm", nn.Identity())
        self.layout = AttentionLayout(layers, heads, causal, positions, answers_every_token)
        self.depth_taps = ("embedded", *(f"blocks.{layer}.output" for layer in range(layers)))

    @property
    def module(self) -> nn.Module:
        return self._module

    def tap(self, layer: int, name: str) -> str:
        return f"blocks.{layer}.attention.{name}"

    def logits(self, ids: Ids) -> Float[Tensor, "answers outcomes"]:
        logits: Tensor = self._module(torch.tensor([tuple(ids)], dtype=torch.int64))
        return logits.view(-1, logits.shape[-1])

    def position_interventions(self) -> dict[str, Intervention]:
        return {"embedded": self._subtract_positions}

    @property
    def adds_up(self) -> bool:
        return False  # a norm comes after each part

    def head_outputs(
        self, layer: int, mixed: Float[Tensor, "heads time head_width"]
    ) -> Float[Tensor, "heads time width"]:
        weight = self._module.blocks[layer].attention.output.weight  # type: ignore[index,union-attr]
        by_head = weight.unflatten(-1, (self.layout.heads, -1))
        return torch.einsum("htd,whd->htw", mixed, by_head)

    def attention_bias(self, layer: int) -> Float[Tensor, " width"]:
        return torch.zeros(self._readout.weight.shape[-1])  # the projection has none

    def direct_logits(
        self, parts: Float[Tensor, "parts width"], final: Float[Tensor, " width"], outcomes: Sequence[int]
    ) -> Float[Tensor, "parts outcomes"]:
        return normalize_linearly(self._final_norm, parts, final) @ self._readout.weight[list(outcomes)].T

    def logit_offset(self, outcomes: Sequence[int]) -> Float[Tensor, " outcomes"]:
        bias = getattr(self._final_norm, "bias", None)
        logits: Tensor = self._readout(torch.zeros(self._readout.weight.shape[-1]) if bias is None else bias)
        return logits[list(outcomes)]

    @abstractmethod
    def _subtract_positions(
        self, value: Float[Tensor, "*batch time width"], step: int
    ) -> Float[Tensor, "*batch time width"]:
        """Return embeddings without their position vectors."""


class _OwnReader(_OwnTransformer):
    """A decoder or a tagger: it answers at every token, and its positions are any of four kinds."""

    def __init__(self, module: TransformerDecoder | TransformerTagger) -> None:
        positions = module.config.positions != "none"
        super().__init__(module, causal=isinstance(module, TransformerDecoder), positions=positions)
        self._reader = module

    @property
    def adds_up(self) -> bool:
        config = self._reader.config
        return (config.norm_place == "pre" or config.norm == "none") and getattr(config, "residual", True)

    def readout(self, vectors: Float[Tensor, "*batch time width"]) -> Float[Tensor, "*batch answers outcomes"]:
        return self._reader.readout(self._reader.final_norm(vectors))

    def position_interventions(self) -> dict[str, Intervention]:
        if self._reader.config.positions != "rotary":
            return super().position_interventions()
        taps = (self.tap(layer, name) for layer in range(self.layout.layers) for name in ("queries", "keys"))
        return dict.fromkeys(taps, _undo_rotation)

    def _subtract_positions(
        self, value: Float[Tensor, "*batch time width"], step: int
    ) -> Float[Tensor, "*batch time width"]:
        return value - self._reader.add_positions(torch.zeros_like(value))

    def _embed(self, ids: Int[Tensor, "rows time"]) -> Float[Tensor, "rows time width"]:
        return self._reader.add_positions(self._reader.embedding(ids))

    def _rotation(self, time: int) -> Complex[Tensor, "time 1 pairs"] | None:
        config = self._reader.config
        return rotations(time, config.width // config.heads) if config.positions == "rotary" else None


class _OwnDecoder(_OwnReader):
    def visible_pairs(self, trace: Trace, ids: Ids) -> Bool[Tensor, "query key"]:
        return trace[self.tap(0, "mask")] == 0

    def embed_and_blocks(
        self, ids: Int[Tensor, "rows time"]
    ) -> tuple[Float[Tensor, "rows seen width"], list[BlockFunction]]:
        rotation = self._rotation(ids.shape[-1])
        return self._embed(ids), [partial(block, rotation=rotation) for block in self._reader.blocks]


class _OwnTagger(_OwnReader):
    _reader: TransformerTagger

    def visible_pairs(self, trace: Trace, ids: Ids) -> Bool[Tensor, "query key"]:
        return self._reader.mask(torch.tensor([tuple(ids)]))[0, 0].expand(len(ids), -1)

    def embed_and_blocks(
        self, ids: Int[Tensor, "rows time"]
    ) -> tuple[Float[Tensor, "rows seen width"], list[BlockFunction]]:
        mask, rotation = self._reader.mask(ids), self._rotation(ids.shape[-1])
        return self._embed(ids), [
            partial(_call_masked, block, mask, rotation=rotation) for block in self._reader.blocks
        ]


class _OwnEncoder(_OwnTransformer):
    """A classifier: it answers at its first token."""

    def __init__(self, module: TransformerEncoder) -> None:
        super().__init__(module, answers_every_token=False)
        self._encoder = module

    def readout(self, vectors: Float[Tensor, "*batch time width"]) -> Float[Tensor, "*batch answers outcomes"]:
        return self._encoder.readout(vectors[..., :1, :])

    def visible_pairs(self, trace: Trace, ids: Ids) -> Bool[Tensor, "query key"]:
        real = torch.tensor(tuple(ids)) != self._encoder.padding
        return real & real[:, None]

    def embed_and_blocks(
        self, ids: Int[Tensor, "rows time"]
    ) -> tuple[Float[Tensor, "rows seen width"], list[BlockFunction]]:
        ids = ids[:, : self._encoder.window]
        time, mask = ids.shape[-1], (ids != self._encoder.padding)[:, None, None]
        x = self._encoder.add_positions(self._encoder.embedding(ids))
        return x, [partial(_call_masked, block, mask, queries=time) for block in self._encoder.blocks]

    def _subtract_positions(
        self, value: Float[Tensor, "*batch time width"], step: int
    ) -> Float[Tensor, "*batch time width"]:
        return value - self._encoder.position.weight.narrow(-2, 0, value.shape[-2]).unsqueeze(-3)


def _call_masked(
    block: nn.Module, mask: Bool[Tensor, "rows 1 query time"], x: Float[Tensor, "*rows time width"], **more: Any
) -> Float[Tensor, "*rows time width"]:
    """Return the output of a block; the mask of a single row is that of every row."""
    return block(x, mask=mask.expand(len(x), -1, -1, -1), **more)


def normalize_linearly(
    norm: nn.Module, parts: Float[Tensor, "parts width"], final: Float[Tensor, " width"]
) -> Float[Tensor, "parts width"]:
    """Return parts of the vector `final` as its norm passes them on, with the scale of `final` and without the bias.

    Raises TypeError for a norm that is not a LayerNorm, an RMSNorm or the identity.
    """
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
