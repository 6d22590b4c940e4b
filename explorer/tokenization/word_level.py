"""Whole words as tokens: the most frequent ones, and one token for all others."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import tokenizers
from jaxtyping import Int
from numpy import ndarray
from tokenizers import Regex, models, pre_tokenizers, trainers

from explorer.tokenization.pipeline import LONGEST, Pipeline

# An apostrophe before a letter belongs to the word: we'll, 'tis. A line end is a token, so that verse stays verse.
WORD = rf"(?:\w|['’](?=\w)){{1,{LONGEST}}}|[^\w\s]|\n"


class WordLevel(Pipeline):
    """Words, single punctuation marks and line ends. Spaces are lost; `decode` puts them where they usually are."""

    kind = "word"
    special = ("<unk>",)
    fewest = 2
    unknown = 0

    @classmethod
    def _assembled(cls, ids: Mapping[str, int], merges: Sequence[tuple[str, str]]) -> tokenizers.Tokenizer:
        library = tokenizers.Tokenizer(models.WordLevel(dict(ids), unk_token="<unk>"))
        library.pre_tokenizer = pre_tokenizers.Split(Regex(WORD), "removed", invert=True)
        return library

    @classmethod
    def _trainer(cls, texts: Sequence[str], vocabulary: int) -> trainers.Trainer:
        # Equally frequent words are taken in the order of their letters.
        return trainers.WordLevelTrainer(vocab_size=vocabulary, special_tokens=list(cls.special), show_progress=False)

    def _joined(self, ids: Int[ndarray, " tokens"]) -> str:
        """A space between tokens, but none around line ends and hyphens, before what closes, and after what opens."""
        text = " ".join(self.tokens[id] for id in ids.tolist())
        text = re.sub(r" ?([\n-]) ?", r"\1", text)
        text = re.sub(r" ([,.;:!?…)\]}”])", r"\1", text)
        return re.sub(r"([(\[{“]) ", r"\1", text)
