"""Which architectures can be shown, and why others cannot. Everything is read from a model's config.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from explorer.errors import InvalidSetting, shorten

Kind: TypeAlias = Literal["decoder", "encoder", "encoder-decoder"]
Part: TypeAlias = Literal["", "encoder", "decoder", "cross"]  # of the attention of an encoder–decoder

_BY_KIND: dict[Kind, tuple[str, ...]] = {  # each was compared with the eager attention of transformers
    "decoder": ("gemma3_text", "gpt2", "gpt_neox", "llama", "mistral", "opt", "phi3", "qwen2", "qwen3"),
    "encoder": ("bert", "distilbert", "electra", "modernbert", "roberta"),
    "encoder-decoder": ("bart", "marian", "t5"),
}
KINDS = {model_type: kind for kind, model_types in _BY_KIND.items() for model_type in model_types}  # by `model_type`
REFUSED = {  # `model_type` and the reason, for the middle of a sentence
    "albert": "uses one block for all layers, so its layers cannot be told apart",
    "gemma2": "limits its attention scores (softcap), which Lineage does not compute",
    "gpt_oss": "has attention sinks outside of the text, which Lineage does not compute",
    **dict.fromkeys(("mamba", "mamba2"), "has no attention"),
    **dict.fromkeys(
        ("bloom", "deberta", "deberta-v2", "gpt_neo", "xlnet"),
        "computes its attention in a way of its own, which Lineage cannot record",
    ),
}


def check(config: Mapping[str, Any]) -> Kind:
    """Return the kind of a model from its config.json. Raises InvalidSetting with the reason if it cannot be shown."""
    model_type = config.get("model_type")
    if config.get("auto_map"):
        raise InvalidSetting(
            "This model brings Python code of its own (auto_map), which Lineage never runs. Open a model whose "
            "architecture is part of the transformers library."
        )
    if model_type in REFUSED:
        raise InvalidSetting(f"A model of the type {model_type} {REFUSED[model_type]}. Open another one.")
    if not isinstance(model_type, str) or model_type not in KINDS:
        raise InvalidSetting(
            f"Lineage does not know models of the type “{shorten(model_type)}”. It can show {', '.join(sorted(KINDS))}."
        )
    if config.get("quantization_config"):
        raise InvalidSetting(
            "The weights of this model are quantized in a format that Lineage does not read. Open a model with "
            "safetensors of 16 or 32 bits."
        )
    return KINDS[model_type]


def predicts_tokens(config: Mapping[str, Any]) -> bool:
    """Return whether a model has an output layer over its vocabulary; a sentence encoder has none, it gives vectors."""
    names = config.get("architectures") or [""]
    name = str(names[0])
    if name == "BertForPreTraining":
        return True
    return name.endswith(("ForCausalLM", "LMHeadModel", "ForMaskedLM", "MarianMTModel", "ForConditionalGeneration"))
