"""Tokenizers of single letters for the random models of `tiny_models.py`, and models that are open with them."""

from __future__ import annotations

import string
from pathlib import Path

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

from explorer.hub import opened
from tests.hub.tiny_models import save_random_model

LETTERS = string.ascii_lowercase


def pieces_of_letters(end: bool) -> tokenizers.Tokenizer:
    """A SentencePiece tokenizer of letters, with an end token after every text or without one."""
    names = ["<pad>", "</s>", "<unk>", "▁", *LETTERS]
    library = tokenizers.Tokenizer(models.Unigram([(name, -float(i)) for i, name in enumerate(names)], 2))
    library.pre_tokenizer = pre_tokenizers.Metaspace()
    library.decoder = decoders.Metaspace()
    library.add_special_tokens(["<pad>", "</s>", "<unk>"])
    if end:
        library.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return library


def wordpieces_of_letters() -> tokenizers.Tokenizer:
    """A WordPiece tokenizer of letters with [CLS] and [SEP] around every text."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    names = [*special, *LETTERS, *(f"##{letter}" for letter in LETTERS)]
    library = tokenizers.Tokenizer(models.WordPiece({name: i for i, name in enumerate(names)}, unk_token="[UNK]"))
    library.normalizer = normalizers.BertNormalizer()
    library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    library.decoder = decoders.WordPiece()
    library.add_special_tokens(special)
    library.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return library


def open_tiny(name: str, folder: Path) -> str:
    """Save a random model of a family with a tokenizer, open it, and return its name in a URL."""
    place = save_random_model(name, folder / f"tiny-{name}")
    kinds = {"bert": wordpieces_of_letters, "t5": lambda: pieces_of_letters(end=True)}
    kinds.get(name, lambda: pieces_of_letters(end=False))().save(str(place / "tokenizer.json"))
    return f"hub:{opened.open_model(str(place)).name}"
