"""Sentences of the generated language as tensors: what training draws, and those that a model is asked about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import torch
from jaxtyping import Int
from torch import Generator, Tensor

from explorer.seeds import generator
from explorer.tasks.labelling import PAD
from explorer.tasks.meanings import FRAMES, KNOWN, NOUNS, TOPICS, TYPED, MeaningsConfig, Said, sentence

PADDING = TYPED.id(PAD)


@lru_cache(maxsize=64)
def own_sentences(count: int, seed: int) -> tuple[Said, ...]:
    """The sentences that a training shows again and again: about half with a homograph, never beside a new cue."""
    drawn = generator(seed, "meanings/own")
    return tuple(drawn_sentence(drawn, bool(torch.rand((), generator=drawn) < 0.5)) for _ in range(count))


@lru_cache(maxsize=8)
def fresh_sentences(count: int, ambiguous: bool, new: bool = False, seed: int = 0) -> tuple[Said, ...]:
    """Sentences for asking, the same for every model: with homographs or with synonyms, all of them about beside new
    cues or all beside known nouns."""
    drawn = generator(seed, f"meanings/asked/{ambiguous}/{new}")
    return tuple(drawn_sentence(drawn, ambiguous, new) for _ in range(count))


def drawn_sentence(drawn: Generator, ambiguous: bool, new: bool = False) -> Said:
    """A sentence about any topic. Beside a homograph stand known nouns, or with `new` two new cues."""
    frame, topic = _one(len(FRAMES), drawn), TOPICS[_one(len(TOPICS), drawn)]
    nouns = NOUNS[topic]
    possible = nouns[KNOWN:] if new else nouns[:KNOWN] if ambiguous else nouns
    first = _one(len(possible), drawn)
    second = (first + 1 + _one(len(possible) - 1, drawn)) % len(possible)
    return sentence(frame, topic, ambiguous, possible[first], possible[second])


def _one(of: int, drawn: Generator) -> int:
    return int(torch.randint(of, (), generator=drawn))


def chosen(config: MeaningsConfig, seed: int, drawn: Generator, size: int) -> list[Said]:
    """Some of a seed's own sentences, for one batch."""
    own = own_sentences(config.sentences, seed)
    return [own[i] for i in torch.randint(len(own), (size,), generator=drawn).tolist()]


def filled(rows: Iterable[Sequence[int]], fill: int) -> Int[Tensor, "rows longest"]:
    """Rows of numbers as one tensor, the shorter ones filled up at their ends."""
    rows = list(rows)
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[fill] * (longest - len(row))] for row in rows])
