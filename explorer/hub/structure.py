"""What a pretrained model is made of, from its modules, its config.json and the forward pass that loading made."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from torch import nn

from explorer.hub.pretrained import BlockDesign, PretrainedModule, is_norm
from explorer.models.structure import ModelStructure, NormPlace, Part, StackStructure

_ACTIVATIONS = {  # names of `transformers`, by what they compute
    **{"gelu": "GELU", "relu": "ReLU", "silu": "SiLU", "swish": "SiLU"},
    **dict.fromkeys(("gelu_fast", "gelu_new", "gelu_pytorch_tanh"), "GELU (tanh)"),
}
_ACTIVATION_FIELDS = ("hidden_act", "hidden_activation", "activation_function", "activation", "dense_act_fn")
_ATTENTION = re.compile(r"attn|attention", re.IGNORECASE)  # in the name of a module, in every family that is shown


def measure_structure(module: PretrainedModule) -> ModelStructure:
    """Return the structure of a loaded model."""
    model: Any = module.model
    embedding, output = model.get_input_embeddings().weight, model.get_output_embeddings()
    tied = output is not None and output.weight is embedding
    parameters, multiplied = _count_parts(module)
    return ModelStructure(
        width=int(model.config.hidden_size),
        vocabulary=len(embedding),
        positions=_positions(model),
        stacks=tuple(_stack(module, name) for name in module.stacks),
        outcomes=module.vocabulary if module.predicts else 0,
        tied=tied,
        parameters=parameters,
        multiplied=multiplied + (embedding.numel() if tied else 0),
    )


def _count_parts(module: PretrainedModule) -> tuple[dict[Part, int], int]:
    """Return the parameters of each part, and how many of them the vector of every token is multiplied by."""
    model: Any = module.model
    modules = dict(model.named_modules())
    in_blocks = {id(each) for block in module.all_blocks for each in block.parameters()}
    in_body = {id(each) for each in model.base_model.parameters()}  # all but the output layer
    counts: Counter[Part] = Counter()
    multiplied = 0
    for name, weight in model.named_parameters():
        owner = modules[name.rpartition(".")[0]]
        part: Part = "output"
        if weight is model.get_input_embeddings().weight:
            part = "embedding"
        elif isinstance(owner, nn.Embedding):
            part = "positions"
        elif is_norm(owner) and id(weight) in in_body:
            part = "norms"
        elif id(weight) in in_blocks:
            part = "attention" if _ATTENTION.search(name) else "feedforward"
        counts[part] += weight.numel()
        # Without an output layer, the rest pools the vectors of a text, which is done once and not for every token.
        for_every_token = part in ("attention", "feedforward") or (part == "output" and module.predicts)
        multiplied += weight.numel() * (for_every_token and weight.ndim == 2)
    return dict(counts), multiplied


def _stack(module: PretrainedModule, name: str) -> StackStructure:
    model: Any = module.model
    config, design = model.config, module.block_designs[name]
    layers, heads = len(module.stacks[name]), module.heads[name]
    mixed_width = module.output_projection(name, 0)[0].shape[1]
    return StackStructure(
        name=name if name != "blocks" else module.kind,
        layers=layers,
        heads=heads,
        key_heads=int(getattr(config, "num_key_value_heads", None) or heads),
        head_width=mixed_width // heads,
        hidden=design.hidden,
        norm="none" if design.norm is None else "LayerNorm" if isinstance(design.norm, nn.LayerNorm) else "RMSNorm",
        norm_place=_norm_place(design),
        activation=_activation(config),
        gated=design.gated,
        parallel=design.parallel,
        causal=name == "decoder" or module.kind == "decoder",
        cross=name == "decoder",
        windows=_windows(config, layers),
    )


def _norm_place(design: BlockDesign) -> NormPlace:
    if design.norm is None:
        return "none"
    if design.norm_first:
        return "before and after" if design.norm_last else "before"
    return "after"


def _activation(config: Any) -> str:
    name = next((value for field in _ACTIVATION_FIELDS if isinstance(value := getattr(config, field, None), str)), "")
    return _ACTIVATIONS.get(name, name)


def _windows(config: Any, layers: int) -> tuple[int, ...]:
    """Return for each layer how many tokens its attention sees at most; 0: all."""
    window = int(getattr(config, "local_attention", None) or getattr(config, "sliding_window", None) or 0)
    kinds = getattr(config, "layer_types", None) or ["sliding_attention" if window else "full_attention"] * layers
    return tuple(window if kind == "sliding_attention" else 0 for kind in kinds)


def _positions(model: Any) -> str:
    kinds = {type(each).__name__.lower() for each in model.modules()}
    if any("rotary" in kind for kind in kinds):
        return "rotary"
    if any("sinusoidal" in kind for kind in kinds):
        return "sinusoidal"
    names = " ".join(name for name, _ in model.named_modules())
    if "relative_attention_bias" in names:
        return "relative"
    return "learned" if re.search(r"position|wpe", names) else "none"
