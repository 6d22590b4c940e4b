"""Settings of the word vectors task: the corpus, the window, and which words are drawn how often.

They need no torch, because forms, URLs and run keys use them before any text is read: `word_vectors_rows.py` draws the
batches and `word_vectors_grammar.py` makes the text of the grammar.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from explorer.models.settings import setting
from explorer.tasks.text.config import SHA256_PATTERN

VERSION = 1


@dataclass(frozen=True)
class WordVectorsConfig:
    """Which words of which text are predicted from which neighbours.

    The text is read in small letters; only words count, not punctuation. A window never crosses an empty line.
    """

    corpus: Literal["grammar", "tinyshakespeare", "own"] = setting(
        "grammar", "The text: sentences of a grammar with planted analogies, Tiny Shakespeare, or your own."
    )
    text: str = setting("", "SHA-256 of your own text; empty for every other corpus.", pattern=f"({SHA256_PATTERN})?")
    sentences: int = setting(
        10_000, "Sentences that the grammar makes.", 100, 100_000, label="Sentences of the grammar"
    )
    corpus_seed: int = setting(
        0, "Seed of the sentences that the grammar makes.", 0, 2**31 - 1, label="Seed of the sentences"
    )
    min_count: int = setting(
        1, "Words that occur less often are left out.", 1, 1_000, label="Least occurrences of a word"
    )
    vocabulary: int = setting(
        5_000,
        "Words that get a vector, at most: the most frequent ones.",
        10,
        20_000,
        label="Size of the vocabulary, at most",
    )
    window: int = setting(
        5,
        "Neighbours on each side, at most: each time a distance up to this is drawn.",
        1,
        20,
        label="Window, in words on each side",
    )
    subsampling: float = setting(
        0.01,
        "Share of the text above which a word is skipped at random (threshold t). 0: no word is skipped.",
        0,
        1,
        label="Subsampling threshold",
    )
    negatives: int = setting(5, "Noise words for each true neighbour.", 1, 50, label="Noise words")

    def __post_init__(self) -> None:
        if self.corpus == "own" and not re.fullmatch(SHA256_PATTERN, self.text):
            raise ValueError("corpus = own needs text, the SHA-256 of your text (64 digits from 0 to f)")
        if self.corpus != "own" and self.text:
            raise ValueError(f"text goes with corpus = own only, not with corpus = {self.corpus}")
