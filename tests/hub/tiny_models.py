"""Small random models of every family that Lineage shows, and of some that it refuses, saved as folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

transformers = pytest.importorskip("transformers", reason="pip install -r requirements-models.txt")

WIDTH, LAYERS, HEADS, HIDDEN, VOCABULARY = 32, 3, 4, 48, 67
_COMMON = {
    "hidden_size": WIDTH,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": HIDDEN,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 40,
    "initializer_range": 0.4,
}
_GROUPED = {**_COMMON, "num_key_value_heads": 2}
_BART = {
    "d_model": WIDTH,
    "encoder_layers": LAYERS,
    "decoder_layers": 2,
    "encoder_attention_heads": HEADS,
    "decoder_attention_heads": HEADS,
    "encoder_ffn_dim": HIDDEN,
    "decoder_ffn_dim": HIDDEN,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 40,
    "init_std": 0.4,
    "pad_token_id": 1,
    "bos_token_id": 0,
    "eos_token_id": 2,
    "decoder_start_token_id": 2,
    "forced_eos_token_id": 2,
}
SHOWN: dict[str, tuple[str, str, dict[str, Any]]] = {  # configuration class, model class, settings
    "gpt2": (
        "GPT2Config",
        "GPT2LMHeadModel",
        {
            "n_embd": WIDTH,
            "n_layer": LAYERS,
            "n_head": HEADS,
            "n_positions": 40,
            "vocab_size": VOCABULARY,
            "initializer_range": 0.4,
            "bos_token_id": 0,
            "eos_token_id": 0,
        },
    ),
    "llama": ("LlamaConfig", "LlamaForCausalLM", {**_GROUPED, "bos_token_id": 0, "eos_token_id": 0}),
    "gpt_neox": ("GPTNeoXConfig", "GPTNeoXForCausalLM", {**_COMMON, "bos_token_id": 0, "eos_token_id": 0}),
    "qwen2": ("Qwen2Config", "Qwen2ForCausalLM", _GROUPED),
    "qwen3": ("Qwen3Config", "Qwen3ForCausalLM", {**_GROUPED, "head_dim": 8}),
    "mistral": ("MistralConfig", "MistralForCausalLM", {**_GROUPED, "sliding_window": 6}),
    "phi3": ("Phi3Config", "Phi3ForCausalLM", {**_GROUPED, "pad_token_id": 0, "bos_token_id": 0, "eos_token_id": 0}),
    "opt": (
        "OPTConfig",
        "OPTForCausalLM",
        {
            "hidden_size": WIDTH,
            "num_hidden_layers": LAYERS,
            "ffn_dim": HIDDEN,
            "num_attention_heads": HEADS,
            "vocab_size": VOCABULARY,
            "max_position_embeddings": 40,
            "word_embed_proj_dim": WIDTH,
            "init_std": 0.4,
        },
    ),
    "gemma3_text": (
        "Gemma3TextConfig",
        "Gemma3ForCausalLM",
        {**_GROUPED, "head_dim": 8, "sliding_window": 6, "query_pre_attn_scalar": 8},
    ),
    "bert": ("BertConfig", "BertForMaskedLM", _COMMON),
    "bert-vectors": ("BertConfig", "BertModel", _COMMON),
    "distilbert": (
        "DistilBertConfig",
        "DistilBertForMaskedLM",
        {
            "dim": WIDTH,
            "n_layers": LAYERS,
            "n_heads": HEADS,
            "hidden_dim": HIDDEN,
            "vocab_size": VOCABULARY,
            "max_position_embeddings": 40,
            "initializer_range": 0.4,
        },
    ),
    "roberta": ("RobertaConfig", "RobertaForMaskedLM", {**_COMMON, "pad_token_id": 1}),
    "electra": ("ElectraConfig", "ElectraForMaskedLM", {**_COMMON, "embedding_size": WIDTH}),
    "modernbert": (
        "ModernBertConfig",
        "ModernBertForMaskedLM",
        {
            **_COMMON,
            "pad_token_id": 0,
            "bos_token_id": 1,
            "eos_token_id": 2,
            "cls_token_id": 1,
            "sep_token_id": 2,
            "local_attention": 6,
            "initializer_cutoff_factor": 2.0,
        },
    ),
    "t5": (
        "T5Config",
        "T5ForConditionalGeneration",
        {
            "d_model": WIDTH,
            "d_kv": 8,
            "d_ff": HIDDEN,
            "num_layers": LAYERS,
            "num_decoder_layers": 2,
            "num_heads": HEADS,
            "vocab_size": VOCABULARY,
            "initializer_factor": 3.0,
            "decoder_start_token_id": 0,
        },
    ),
    "marian": ("MarianConfig", "MarianMTModel", _BART),
    "bart": ("BartConfig", "BartForConditionalGeneration", _BART),
}
REFUSED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "bloom": (
        "BloomConfig",
        "BloomForCausalLM",
        {"hidden_size": WIDTH, "n_layer": 2, "n_head": HEADS, "vocab_size": VOCABULARY},
    ),
    "gpt_neo": (
        "GPTNeoConfig",
        "GPTNeoForCausalLM",
        {
            "hidden_size": WIDTH,
            "num_layers": 2,
            "num_heads": HEADS,
            "attention_types": [[["global", "local"], 1]],
            "vocab_size": VOCABULARY,
        },
    ),
    "deberta-v2": ("DebertaV2Config", "DebertaV2ForMaskedLM", _COMMON),
    "xlnet": (
        "XLNetConfig",
        "XLNetLMHeadModel",
        {"d_model": WIDTH, "n_layer": 2, "n_head": HEADS, "d_inner": HIDDEN, "vocab_size": VOCABULARY},
    ),
    "mamba": (
        "MambaConfig",
        "MambaForCausalLM",
        {"hidden_size": WIDTH, "num_hidden_layers": 2, "vocab_size": VOCABULARY},
    ),
    "gemma2": ("Gemma2Config", "Gemma2ForCausalLM", {**_GROUPED, "head_dim": 8}),
    "albert": ("AlbertConfig", "AlbertForMaskedLM", {**_COMMON, "embedding_size": WIDTH}),
}


def random_model(name: str) -> Any:
    """Return a random model of a family, in evaluation mode; its weights depend on the name only."""
    import torch

    configuration, model, settings = (SHOWN | REFUSED)[name]
    with torch.random.fork_rng():
        torch.manual_seed(sum(map(ord, name)))
        config = getattr(transformers, configuration)(**settings)
        return getattr(transformers, model)(config).eval()


def save_random_model(name: str, folder: Path) -> Path:
    """Save a random model of a family to a folder."""
    transformers.logging.disable_progress_bar()
    random_model(name).save_pretrained(folder)
    return folder
