"""Tokenizers trained on a text, at every vocabulary size.

Each kind is trained once, at the largest size. The merges of a smaller vocabulary are the first ones of a larger one,
and its words the most frequent ones, so smaller tokenizers are truncated from the large one instead of trained.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Literal, TypeAlias

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.token_arrays import load_tokens
from explorer.tokenization.subwords import BPE, ByteLevelBPE
from explorer.tokenization.text import RoundTrip, Tokenizer, from_json, round_trip, unknown_rate

Kind: TypeAlias = Literal["char", "word", "bpe", "bytes"]
KINDS: Final[tuple[Kind, ...]] = ("char", "word", "bpe", "bytes")
MAX_VOCABULARY: Final = 2_000  # largest vocabulary
EXCERPT_LENGTH: Final = 4_000  # characters of a text used for the round trip
_MIN_WORD_VOCABULARY = 2  # "<unk>" and one word


@dataclass(frozen=True)
class TrainedTokenizer:
    """A tokenizer with statistics of the text it was trained on."""

    tokenizer: Tokenizer
    characters: int  # of the text
    counts: Int[ndarray, " vocabulary"]  # occurrences of each token in the text

    @property
    def kind(self) -> str:
        return self.tokenizer.kind

    @property
    def min_vocabulary(self) -> int:
        """The smallest vocabulary: all characters (or bytes) and no merge; of words, one word."""
        if self.kind == "word":
            return min(_MIN_WORD_VOCABULARY, self.max_vocabulary)
        return merge_ids(self.tokenizer)[0][2] if self.tokenizer.merges else self.max_vocabulary

    @property
    def max_vocabulary(self) -> int:
        """The largest vocabulary that the text yields."""
        return len(self.tokenizer.tokens)

    def nearest_vocabulary(self, wished: int) -> int:
        """Return the possible vocabulary size nearest to `wished`."""
        return min(max(wished, self.min_vocabulary), self.max_vocabulary)

    @cached_property
    def merge_uses(self) -> Int[ndarray, " merges"]:
        """How often each merge is applied to the text.

        Computed from the final token counts by undoing the merges from the last to the first. If two merges produce
        the same token, all uses count for the earlier one.
        """
        merges = merge_ids(self.tokenizer)
        there = self.counts.astype(np.int64)
        first = {merged: rank for rank, (_, _, merged) in reversed([*enumerate(merges)])}
        used = np.zeros(len(merges), np.int64)
        for rank in reversed(range(len(merges))):
            left, right, merged = merges[rank]
            if first[merged] == rank:
                used[rank] = there[merged]
                there[left] += used[rank]
                there[right] += used[rank]
        return used

    @cached_property
    def lengths(self) -> Int[ndarray, " sizes"]:
        """Tokens of the text for each vocabulary from `min_vocabulary` to `max_vocabulary`."""
        sizes = self.max_vocabulary - self.min_vocabulary + 1
        if not self.tokenizer.merges:
            return np.full(sizes, int(self.counts.sum()))
        saved = np.zeros(sizes, np.int64)
        for (_, _, merged), used in zip(merge_ids(self.tokenizer), self.merge_uses.tolist(), strict=True):
            saved[merged + 1 - self.min_vocabulary] += used
        longest = int(self.counts.sum()) + int(saved.sum())
        return longest - saved.cumsum()

    @cached_property
    def characters_per_token(self) -> Float[ndarray, " sizes"]:
        """Characters per token for each vocabulary from `min_vocabulary` to `max_vocabulary`; NaN without tokens."""
        lengths = self.lengths
        each: Float[ndarray, " sizes"] = np.full(len(lengths), np.nan)
        np.divide(self.characters, lengths, out=each, where=lengths > 0)
        return each

    @cached_property
    def unknown_rates(self) -> Float[ndarray, " sizes"]:
        """Share of unknown tokens in the text for each vocabulary from `min_vocabulary` to `max_vocabulary`."""
        sizes, total = np.arange(self.min_vocabulary, self.max_vocabulary + 1), int(self.counts.sum())
        if self.tokenizer.unknown is None or not total:
            return np.zeros(len(sizes))
        if self.kind != "word":
            return np.full(len(sizes), self.counts[self.tokenizer.unknown] / total)
        known = self.counts.copy()
        known[self.tokenizer.unknown] = 0
        return 1 - known.cumsum()[sizes - 1] / total


def train_tokenizers(config: TextConfig) -> dict[Kind, TrainedTokenizer]:
    """Train all four tokenizers on the text of a configuration. Raises TextError."""
    text = corpora.load_text(config)
    # The whole text as one stream, without held-out part; for splits see `split_leakage.py`.
    stream = replace(config, vocabulary=MAX_VOCABULARY, rows="blocks", split="windows", batches="random")
    trained = {}
    for kind in KINDS:
        tokens = load_tokens(replace(stream, tokenizer=kind), text)
        counts = np.bincount(tokens.arrays["training"], minlength=len(tokens.tokenizer.tokens))
        trained[kind] = TrainedTokenizer(tokens.tokenizer, len(text), counts)
    return trained


def merge_ids(tokenizer: Tokenizer) -> tuple[tuple[int, int, int], ...]:
    """Return the ids (left, right, merged) of each merge in the order of training."""
    return tokenizer.merge_ids if isinstance(tokenizer, BPE | ByteLevelBPE) else ()


def truncate_tokenizer(tokenizer: Tokenizer, vocabulary: int) -> Tokenizer:
    """Return what training with a smaller vocabulary, of at least all characters, would give."""
    if tokenizer.kind == "char" or vocabulary >= len(tokenizer.tokens):
        return tokenizer
    document = json.loads(tokenizer.to_json())
    model = document["tokenizer"]["model"]
    model["vocab"] = {token: id for token, id in model["vocab"].items() if id < vocabulary}
    if merges := merge_ids(tokenizer):
        model["merges"] = model["merges"][: merge_count(merges, vocabulary)]
    return from_json(json.dumps(document))


def merge_count(merges: Sequence[tuple[int, int, int]], vocabulary: int) -> int:
    """Return the number of merges in a vocabulary of this size."""
    last = next((rank for rank, (_, _, merged) in enumerate(merges) if merged == vocabulary - 1), None)
    if last is not None:
        return last + 1
    return 0 if merges and vocabulary <= merges[0][2] else len(merges)


def initial_symbols(tokenizer: Tokenizer, text: str) -> list[list[tuple[int, int, int]]]:
    """Return (id, start, end) of every symbol before the first merge, word by word. Raises TextError."""
    if isinstance(tokenizer, BPE | ByteLevelBPE):
        return tokenizer.symbols(text)
    return [tokenizer.spans(text)]


@dataclass(frozen=True)
class Tokenization:
    """The tokens of one text and its round trip."""

    ids: Int[ndarray, " tokens"]
    characters: int
    unknown: float  # share of unknown tokens (for kind "char": characters)
    round_trip: RoundTrip

    @property
    def characters_per_token(self) -> float:
        """NaN without tokens."""
        return self.characters / len(self.ids) if len(self.ids) else float("nan")


def tokenize(tokenizer: Tokenizer, text: str) -> Tokenization:
    """Tokenize a text and decode it again. Raises TextError."""
    return Tokenization(tokenizer.encode(text), len(text), unknown_rate(tokenizer, text), round_trip(tokenizer, text))
