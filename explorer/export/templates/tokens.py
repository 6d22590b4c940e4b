"""The tokenizers of an exported language model, one function for each kind: from text to ids and back."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TypeAlias

import tokenizers

Tokenizer: TypeAlias = tuple[Callable[[str], list[int]], Callable[[list[int]], str]]


def characters(stored: str) -> Tokenizer:
    """Return `encode` and `decode` of single characters; unknown ones are left out."""
    known: str = json.loads(stored)["characters"]
    return lambda text: [known.index(c) for c in text if c in known], lambda ids: "".join(known[id] for id in ids)


def subwords(stored: str) -> Tokenizer:
    """Return `encode` and `decode` of byte pair encoding."""
    library = tokenizers.Tokenizer.from_str(json.dumps(json.loads(stored)["tokenizer"]))
    padding = library.token_to_id("<pad>")
    return lambda text: library.encode(text).ids, lambda ids: library.decode([id for id in ids if id != padding])


def words(stored: str) -> Tokenizer:
    """Return `encode` and `decode` of words, of which all unknown ones are the token <unk>."""
    library = tokenizers.Tokenizer.from_str(json.dumps(json.loads(stored)["tokenizer"]))

    def decode(ids: list[int]) -> str:
        text = re.sub(r" ?([\n-]) ?", r"\1", " ".join(str(library.id_to_token(id)) for id in ids))
        text = re.sub(r" ([,.;:!?…)\]}”])", r"\1", text)
        return re.sub(r"([(\[{“]) ", r"\1", text)

    return lambda text: library.encode(text).ids, decode
