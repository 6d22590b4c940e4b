"""Tokenizers: characters, words, byte pair encoding and WordPiece, each with a lossless JSON form.

Start at `text.py`, which trains a tokenizer on a text and reads it back from JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from explorer.lazy_exports import export_lazily

if TYPE_CHECKING:
    from explorer.tokenization.characters import Characters as Characters
    from explorer.tokenization.subwords import BPE as BPE
    from explorer.tokenization.subwords import ByteLevelBPE as ByteLevelBPE
    from explorer.tokenization.text import Tokenizer as Tokenizer
    from explorer.tokenization.text import from_json as from_json
    from explorer.tokenization.text import pieces as pieces
    from explorer.tokenization.text import train as train
    from explorer.tokenization.words import Words as Words
else:
    __getattr__, __dir__, __all__ = export_lazily(__name__, __file__)
