"""A text and the tokenizers trained on it: what is worth showing of them at every size of the vocabulary.

Each kind is trained once, at the largest size. The merges of a smaller vocabulary are the first ones of a larger one,
and its words the most frequent ones, so every smaller tokenizer is cut out of the large one and not trained again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Literal, TypeAlias

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from explorer.tasks import corpora
from explorer.tasks.text import TextConfig
from explorer.tasks.tokens import tokens_of
from explorer.tokenization.subwords import BPE, ByteLevelBPE
from explorer.tokenization.text import RoundTrip, Tokenizer, from_json, round_trip, unknown_rate

Kind: TypeAlias = Literal["char", "word", "bpe", "bytes"]
ALL: Final[tuple[Kind, ...]] = ("char", "word", "bpe", "bytes")
MOST: Final = 2_000  # tokens that a slider reaches
EXCERPT: Final = 4_000  # characters of a text that go through a tokenizer and back
_SPECIAL = 2  # tokens before the first word: "<unk>", and one word


@dataclass(frozen=True)
class Fitted:
    """A tokenizer on the text it was trained on."""

    tokenizer: Tokenizer
    characters: int  # of the text
    counts: Int[ndarray, " vocabulary"]  # how often each token stands in it

    @property
    def kind(self) -> str:
        return self.tokenizer.kind

    @property
    def least(self) -> int:
        """The smallest vocabulary that the slider shows: all characters (or bytes), no merge yet."""
        if self.kind == "word":
            return min(_SPECIAL, self.most)
        return merge_ids(self.tokenizer)[0][2] if self.tokenizer.merges else self.most

    @property
    def most(self) -> int:
        """The largest one that this text gives."""
        return len(self.tokenizer.tokens)

    def size(self, wished: int) -> int:
        """The vocabulary that comes nearest to a wish."""
        return min(max(wished, self.least), self.most)

    @cached_property
    def uses(self) -> Int[ndarray, " merges"]:
        """How often each merge joins a pair of this text.

        Read off the tokens at the end: each is undone into the two it was made of, from the last merge to the first.
        Where two merges make the same token, the earlier one is taken for all.
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
        """How many tokens the text has with each vocabulary from `least` to `most`."""
        sizes = self.most - self.least + 1
        if not self.tokenizer.merges:
            return np.full(sizes, int(self.counts.sum()))
        saved = np.zeros(sizes, np.int64)
        for (_, _, merged), used in zip(merge_ids(self.tokenizer), self.uses.tolist(), strict=True):
            saved[merged + 1 - self.least] += used
        longest = int(self.counts.sum()) + int(saved.sum())
        lengths: Int[ndarray, " sizes"] = longest - saved.cumsum()
        return lengths

    @cached_property
    def characters_per_token(self) -> Float[ndarray, " sizes"]:
        """With each vocabulary from `least` to `most`; NaN if the text gives no token."""
        lengths = self.lengths
        each: Float[ndarray, " sizes"] = np.full(len(lengths), np.nan)
        np.divide(self.characters, lengths, out=each, where=lengths > 0)
        return each

    @cached_property
    def unknown_rates(self) -> Float[ndarray, " sizes"]:
        """Share of the text's tokens that are unknown, with each vocabulary from `least` to `most`."""
        sizes, total = np.arange(self.least, self.most + 1), int(self.counts.sum())
        if self.tokenizer.unknown is None or not total:
            return np.zeros(len(sizes))
        if self.kind != "word":
            return np.full(len(sizes), self.counts[self.tokenizer.unknown] / total)
        known = self.counts.copy()
        known[self.tokenizer.unknown] = 0
        rates: Float[ndarray, " sizes"] = 1 - known.cumsum()[sizes - 1] / total
        return rates


def fitted(config: TextConfig) -> dict[Kind, Fitted]:
    """All four tokenizers on the text that a configuration names. Raises TextError."""
    text = corpora.text_of(config)
    # The whole text as one stream: what is held out is another matter, see `leaks.py`.
    stream = replace(config, vocabulary=MOST, rows="blocks", split="windows", batches="random")
    found = {}
    for kind in ALL:
        made = tokens_of(replace(stream, tokenizer=kind), text)
        counts = np.bincount(made.arrays["training"], minlength=len(made.tokenizer.tokens))
        found[kind] = Fitted(made.tokenizer, len(text), counts)
    return found


def merge_ids(tokenizer: Tokenizer) -> tuple[tuple[int, int, int], ...]:
    """(left, right, merged) of each merge, in the order they were learned."""
    return tokenizer.merge_ids if isinstance(tokenizer, BPE | ByteLevelBPE) else ()


def smaller(tokenizer: Tokenizer, vocabulary: int) -> Tokenizer:
    """The tokenizer that training with a smaller vocabulary would have given.

    Not for fewer tokens than there are characters: then training leaves out the rarest of them.
    """
    if tokenizer.kind == "char" or vocabulary >= len(tokenizer.tokens):
        return tokenizer
    file = json.loads(tokenizer.to_json())
    model = file["tokenizer"]["model"]
    model["vocab"] = {token: id for token, id in model["vocab"].items() if id < vocabulary}
    if merges := merge_ids(tokenizer):
        model["merges"] = model["merges"][: learned(merges, vocabulary)]
    return from_json(json.dumps(file))


def learned(merges: Sequence[tuple[int, int, int]], vocabulary: int) -> int:
    """How many merges are learned when the vocabulary has so many tokens."""
    last = next((rank for rank, (_, _, merged) in enumerate(merges) if merged == vocabulary - 1), None)
    if last is not None:
        return last + 1
    return 0 if merges and vocabulary <= merges[0][2] else len(merges)


def words(tokenizer: Tokenizer, text: str) -> list[list[tuple[int, int, int]]]:
    """What a browser needs to cut a text by itself: (id, start, end) of every symbol before the first merge, word by
    word; of kinds without merges, of every token. Raises TextError."""
    if isinstance(tokenizer, BPE | ByteLevelBPE):
        return tokenizer.symbols(text)
    return [tokenizer.spans(text)]


@dataclass(frozen=True)
class Reading:
    """One text through one tokenizer."""

    ids: Int[ndarray, " tokens"]
    characters: int
    unknown: float  # share of the tokens (of characters: of the characters)
    back: RoundTrip

    @property
    def characters_per_token(self) -> float:
        """NaN where there is no token."""
        return self.characters / len(self.ids) if len(self.ids) else float("nan")


def reading(tokenizer: Tokenizer, text: str) -> Reading:
    """What becomes of a text. Raises TextError."""
    return Reading(tokenizer.encode(text), len(text), unknown_rate(tokenizer, text), round_trip(tokenizer, text))


def at(all_kinds: Mapping[Kind, Fitted], vocabulary: int) -> dict[Kind, Tokenizer]:
    """The four tokenizers, each with the vocabulary that comes nearest to a wish."""
    return {kind: smaller(each.tokenizer, each.size(vocabulary)) for kind, each in all_kinds.items()}
