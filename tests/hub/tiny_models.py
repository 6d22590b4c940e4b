"""Small random models of every family that Lineage shows, and of some that it refuses, saved as folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

transformers = pytest.importorskip("transformers", reason="pip install -r requirements-models.txt")

WIDTH, LAYERS, HEADS, HIDDEN, VOCABULARY = 32, 3, 4, 48, 67


def _sizes(names: str, **more: Any) -> dict[str, Any]:
    """Return settings: width, layers, heads, tokens and hidden units by their names in a family, and others."""
    return dict(zip(names.split(), (WIDTH, LAYERS, HEADS, VOCABULARY, HIDDEN), strict=False)) | more


_NAMES = "hidden_size num_hidden_layers num_attention_heads vocab_size intermediate_size"
_COMMON = _sizes(_NAMES, max_position_embeddings=40, initializer_range=0.4)
_GROUPED = {**_COMMON, "num_key_value_heads": 2}
_ENDS = {"bos_token_id": 0, "eos_token_id": 0}
_BART = _sizes(
    "d_model encoder_layers encoder_attention_heads vocab_size encoder_ffn_dim",
    **{"decoder_layers": 2, "decoder_attention_heads": HEADS, "decoder_ffn_dim": HIDDEN, "init_std": 0.4},
    **{"max_position_embeddings": 40, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2},
    **{"decoder_start_token_id": 2, "forced_eos_token_id": 2},
)
_GPT2 = _sizes("n_embd n_layer n_head vocab_size", n_positions=40, initializer_range=0.4, **_ENDS)
_DISTILBERT = _sizes("dim n_layers n_heads vocab_size hidden_dim", max_position_embeddings=40, initializer_range=0.4)
_OPT = {"ffn_dim": HIDDEN, "max_position_embeddings": 40, "word_embed_proj_dim": WIDTH, "init_std": 0.4}
_GEMMA3 = {"head_dim": 8, "sliding_window": 6, "query_pre_attn_scalar": 8}
_MODERN = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1, "sep_token_id": 2}
_MODERN |= {"local_attention": 6, "initializer_cutoff_factor": 2.0}
_T5 = _sizes("d_model num_layers num_heads vocab_size d_ff", d_kv=8, num_decoder_layers=2, initializer_factor=3.0)
SHOWN: dict[str, tuple[str, str, dict[str, Any]]] = {  # configuration class, model class, settings
    "gpt2": ("GPT2Config", "GPT2LMHeadModel", _GPT2),
    "llama": ("LlamaConfig", "LlamaForCausalLM", {**_GROUPED, **_ENDS}),
    "gpt_neox": ("GPTNeoXConfig", "GPTNeoXForCausalLM", {**_COMMON, **_ENDS}),
    "qwen2": ("Qwen2Config", "Qwen2ForCausalLM", _GROUPED),
    "qwen3": ("Qwen3Config", "Qwen3ForCausalLM", {**_GROUPED, "head_dim": 8}),
    "mistral": ("MistralConfig", "MistralForCausalLM", {**_GROUPED, "sliding_window": 6}),
    "phi3": ("Phi3Config", "Phi3ForCausalLM", {**_GROUPED, **_ENDS, "pad_token_id": 0}),
    "opt": ("OPTConfig", "OPTForCausalLM", _sizes(" ".join(_NAMES.split()[:4]), **_OPT)),
    "gemma3_text": ("Gemma3TextConfig", "Gemma3ForCausalLM", {**_GROUPED, **_GEMMA3}),
    "bert": ("BertConfig", "BertForMaskedLM", _COMMON),
    "bert-vectors": ("BertConfig", "BertModel", _COMMON),
    "distilbert": ("DistilBertConfig", "DistilBertForMaskedLM", _DISTILBERT),
    "roberta": ("RobertaConfig", "RobertaForMaskedLM", {**_COMMON, "pad_token_id": 1}),
    "electra": ("ElectraConfig", "ElectraForMaskedLM", {**_COMMON, "embedding_size": WIDTH}),
    "modernbert": ("ModernBertConfig", "ModernBertForMaskedLM", {**_COMMON, **_MODERN}),
    "t5": ("T5Config", "T5ForConditionalGeneration", {**_T5, "decoder_start_token_id": 0}),
    "marian": ("MarianConfig", "MarianMTModel", _BART),
    "bart": ("BartConfig", "BartForConditionalGeneration", _BART),
}
_NEO = _sizes("hidden_size num_layers num_heads vocab_size", attention_types=[[["global", "local", "local"], 1]])
REFUSED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "gpt_neo": ("GPTNeoConfig", "GPTNeoForCausalLM", _NEO),
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
