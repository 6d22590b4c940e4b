"""Whether the vectors of an ambiguous word are ordered by its sense, layer by layer.

The vector of a word is the mean over its tokens. Cosines are centred: the mean vector of all tokens at that depth is
subtracted first, because all vectors of a network share a large uninformative component.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from numpy import ndarray
from torch import Tensor

from explorer.errors import InvalidSetting, shorten
from explorer.hub.tokenizer import PretrainedTokenizer
from explorer.inspection.attention.attend import forward_with_taps
from explorer.inspection.attention.attention_model import AttentionModel
from explorer.inspection.pretrained.intervals import Estimate, estimate_share


@dataclass(frozen=True)
class Occurrence:
    """A word in a sentence, as the model reads it."""

    ids: tuple[int, ...]
    positions: tuple[int, ...]  # of the tokens of the word
    word: str
    sense: str


def find_occurrence(tokenizer: PretrainedTokenizer, text: str, word: str, sense: str = "") -> Occurrence:
    """Return the first occurrence of a word, in capitals or not. Raises InvalidSetting if it does not occur."""
    found = re.search(rf"\b{re.escape(word)}\b", text, re.IGNORECASE)
    if found is None:
        raise InvalidSetting(f"The sentence “{shorten(text)}” does not have the word “{shorten(word)}”.")
    spans, before = tokenizer.spans(text), len(tokenizer.before)
    positions = tuple(
        before + i for i, (_, start, end) in enumerate(spans) if start < found.end() and end > found.start()
    )
    return Occurrence(tokenizer.add_special_tokens([id for id, *_ in spans]), positions, word, sense)


@dataclass(frozen=True, eq=False)
class SenseNeighbours:
    """Whether the nearest other occurrence of the same word has the same sense, by depth and sentence."""

    same: Bool[ndarray, "depths sentences"]
    words: tuple[str, ...]  # of each sentence
    chance: float  # the share of the other sentences of a word that have the same sense

    def by_depth(self) -> list[Estimate]:
        """Return the share of sentences at every depth."""
        return [estimate_share(row) for row in self.same]

    def by_word(self, depth: int) -> dict[str, float]:
        """Return the share of the sentences of each word."""
        words = np.array(self.words)
        return {word: float(self.same[depth, words == word].mean()) for word in dict.fromkeys(self.words)}


@torch.inference_mode()
def occurrence_vectors(
    model: AttentionModel, occurrences: Sequence[Occurrence]
) -> Float[Tensor, "depths sentences width"]:
    """Return the centred vector of the word of each sentence, after the embedding and after every block."""
    found, sums, tokens = [], None, 0
    for each in occurrences:
        _, trace = forward_with_taps(model, each.ids)
        vectors = torch.stack([trace[name][0] for name in model.depth_taps])
        found.append(vectors[:, list(each.positions)].mean(dim=1))
        total = vectors.sum(dim=1)
        sums, tokens = total if sums is None else sums + total, tokens + len(each.ids)
    assert sums is not None, "there are sentences"
    return torch.stack(found, dim=1) - (sums / tokens)[:, None]


def sense_neighbours(model: AttentionModel, occurrences: Sequence[Occurrence]) -> SenseNeighbours:
    """Find the nearest other occurrence of each word by cosine similarity, at every depth."""
    unit = F.normalize(occurrence_vectors(model, occurrences), dim=-1)
    words = np.array([each.word for each in occurrences])
    senses = np.array([each.sense for each in occurrences])
    same_word = (words[:, None] == words) & ~np.eye(len(words), dtype=bool)
    cosines = (unit @ unit.mT).masked_fill(torch.from_numpy(~same_word), -2.0)
    nearest = cosines.argmax(dim=-1).numpy()
    chance = (same_word & (senses[:, None] == senses)).sum() / same_word.sum()
    return SenseNeighbours(senses[nearest] == senses, tuple(words.tolist()), float(chance))
