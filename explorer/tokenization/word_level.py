"""A tokenizer of whole words: the most frequent ones, and one unknown token for all others."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import tokenizers
from jaxtyping import Int
from numpy import ndarray
from tokenizers import Regex, models, pre_tokenizers, trainers

from explorer.tokenization.pipeline import MAX_TOKEN_LENGTH, Pipeline

# An apostrophe before a letter belongs to the word: we'll, 'tis. A line end is a token, which preserves verse.
WORD = rf"(?:\w|['’](?=\w)){{1,{MAX_TOKEN_LENGTH}}}|[^\w\s]|\n"


class WordLevel(Pipeline):
    """A tokenizer of words, single punctuation marks and line ends. `decode` inserts spaces where they are usual."""

    kind = "word"
    special_tokens = ("<unk>",)
    min_vocabulary = 2
    unknown = 0

    @classmethod
    def _build_library(cls, ids: Mapping[str, int], merges: Sequence[tuple[str, str]]) -> tokenizers.Tokenizer:
        library = tokenizers.Tokenizer(models.WordLevel(dict(ids), unk_token="<unk>"))
        library.pre_tokenizer = pre_tokenizers.Split(Regex(WORD), "removed", invert=True)
        return library

    @classmethod
    def _trainer(cls, texts: Sequence[str], vocabulary: int) -> trainers.Trainer:
        # Equally frequent words are sorted alphabetically.
        return trainers.WordLevelTrainer(
            vocab_size=vocabulary, special_tokens=list(cls.special_tokens), show_progress=False
        )

    def _join(self, ids: Int[ndarray, " tokens"]) -> str:
        """Join tokens with spaces, except around line ends and hyphens, and where punctuation has none."""
        text = " ".join(self.tokens[id] for id in ids.tolist())
        text = re.sub(r" ?([\n-]) ?", r"\1", text)
        text = re.sub(r" ([,.;:!?…)\]}”])", r"\1", text)
        return re.sub(r"([(\[{“]) ", r"\1", text)
