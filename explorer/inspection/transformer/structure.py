"""What a Transformer is made of, for the models of this project and for pretrained ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from torch import nn

from explorer.errors import InvalidSetting
from explorer.hub.pretrained import PretrainedModule
from explorer.hub.structure import measure_structure
from explorer.models.structure import ModelStructure, NormPlace, Part, StackStructure
from explorer.models.transformer_decoder import TransformerDecoder
from explorer.models.transformer_encoder import TransformerEncoder
from explorer.models.transformer_encoder_decoder import TransformerEncoderDecoder

_NORMS = {"layer": "LayerNorm", "rms": "RMSNorm", "none": "none"}
_ACTIVATIONS = {"relu": "ReLU", "gelu": "GELU", "relu2": "ReLU squared"}
_PARTS: dict[str, Part] = {  # by a part of the name of a parameter; the first that fits
    "norm": "norms",
    "attention": "attention",
    "cross": "attention",
    "expand": "feedforward",
    "contract": "feedforward",
    "position": "positions",
    "embedding": "embedding",
    "readout": "output",
}


def model_structure(module: nn.Module) -> ModelStructure:
    """Return the structure of a Transformer (not of a stack of replicas). Raises InvalidSetting for another model."""
    if isinstance(module, PretrainedModule):
        return measure_structure(module)
    if isinstance(module, TransformerDecoder):
        return _own_structure(module, {"decoder": module.blocks}, module.config)
    if isinstance(module, TransformerEncoderDecoder):
        return _own_structure(module, {"encoder": module.encoder, "decoder": module.decoder}, module.config)
    if isinstance(module, TransformerEncoder):
        return _own_structure(module, {"encoder": module.blocks}, None)
    raise InvalidSetting("This model is no Transformer, so it has no blocks to compare. Choose one.")


def _own_structure(module: Any, stacks: Mapping[str, nn.ModuleList], config: Any) -> ModelStructure:
    """Return the structure of a model of this project. `config`: its design; None for that of Vaswani et al. 2017."""
    counts: Counter[Part] = Counter()
    multiplied = 0
    sizes: dict[Part, int] = {}  # the first axis of the first parameter of a part
    for name, weight in module.named_parameters():
        part = next(part for mark, part in _PARTS.items() if mark in name)
        counts[part] += weight.numel()
        sizes.setdefault(part, len(weight))
        multiplied += weight.numel() * (part in ("attention", "feedforward", "output") and weight.ndim == 2)
    norm = _NORMS[getattr(config, "norm", "layer")]
    place: NormPlace = "before" if getattr(config, "norm_place", "post") == "pre" else "after"
    first: Any = next(iter(stacks.values()))[0]
    width, hidden = first.contract.weight.shape
    return ModelStructure(
        width=width,
        vocabulary=sizes["embedding"],
        positions=getattr(config, "positions", "learned"),
        stacks=tuple(
            StackStructure(
                name=name,
                layers=len(blocks),
                heads=first.attention.heads,
                key_heads=first.attention.heads,
                head_width=width // first.attention.heads,
                hidden=hidden,
                norm=norm,
                norm_place="none" if norm == "none" else place,
                activation=_ACTIVATIONS[getattr(config, "activation", "relu")],
                gated=False,
                parallel=False,
                causal=name == "decoder",
                cross=name == "decoder" and len(stacks) > 1,
                windows=(0,) * len(blocks),
            )
            for name, blocks in stacks.items()
        ),
        outcomes=sizes["output"],
        tied=False,
        parameters=dict(counts),
        multiplied=multiplied,
    )
