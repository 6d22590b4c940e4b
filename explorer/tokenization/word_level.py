"""A tokenizer of whole words: the most frequent ones, and one unknown token for all others."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import tokenizers
from numpy import ndarray
from tokenizers import Regex, models, normalizers, pre_tokenizers, trainers

from explorer.array_types import Int
from explorer.tokenization.pipeline import MAX_TOKEN_LENGTH, Pipeline
from explorer.tokenization.words import APOSTROPHES, DOTTED_I, HYPHENS, INVISIBLE, QUOTES, fold_variants

# An apostrophe before a letter belongs to the word: we'll, 'tis. A line end is a token, which preserves verse.
WORD = rf"(?:\w|['’](?=\w)){{1,{MAX_TOKEN_LENGTH}}}|[^\w\s]|\n"
_FOLDED = ((f"[{APOSTROPHES}]", "'"), (f"[{QUOTES}]", '"'), (f"[{HYPHENS}]", "-"))


def _folding() -> normalizers.Normalizer:
    """Return `fold_variants` as a normalizer of the library, which keeps where each token stands in the text."""
    replaced = [normalizers.Replace(Regex(variants), usual) for variants, usual in _FOLDED]
    dropped = normalizers.Replace(Regex(f"[{INVISIBLE}]"), "")
    return normalizers.Sequence([*replaced, normalizers.NFKC(), dropped, normalizers.Replace(DOTTED_I, "i")])


class WordLevel(Pipeline):
    """A tokenizer of words, single punctuation marks and line ends. `decode` inserts spaces where they are usual.

    Typographic variants are folded (`words.fold_variants`), unless the vocabulary of an older run has them.
    """

    kind = "word"
    special_tokens = ("<unk>",)
    min_vocabulary = 2
    unknown = 0

    @classmethod
    def _build_library(cls, ids: Mapping[str, int], merges: Sequence[tuple[str, str]]) -> tokenizers.Tokenizer:
        library = tokenizers.Tokenizer(models.WordLevel(dict(ids), unk_token="<unk>"))
        if all(fold_variants(token) == token for token in ids):
            library.normalizer = _folding()
        library.pre_tokenizer = pre_tokenizers.Split(Regex(WORD), "removed", invert=True)
        return library

    def fold(self, text: str) -> str:
        """Return a text with its variants folded, as the tokenizer reads it."""
        return str(self._library.normalizer.normalize_str(text)) if self._library.normalizer else text

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
        text = re.sub(r'(?m)(^| )" ([^"\n]*?) ?"', r'\1"\2"', text)  # a pair of quotes on one line
        return re.sub(r"([(\[{“]) ", r"\1", text)
