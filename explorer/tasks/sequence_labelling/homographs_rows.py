"""Sentences of the language with homographs, for training and for evaluation."""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Generator

from explorer.seeds import generator
from explorer.tasks.sequence_labelling.config import PAD
from explorer.tasks.sequence_labelling.homographs import (
    FRAMES,
    NOUNS,
    TOPICS,
    TRAINED_CUES,
    VOCABULARY,
    HomographConfig,
    HomographSentence,
    build_sentence,
)

PADDING = VOCABULARY.id(PAD)


@lru_cache(maxsize=64)
def training_sentences(count: int, seed: int) -> tuple[HomographSentence, ...]:
    """Return the fixed training sentences of a seed: about half have a homograph, never with a new cue."""
    rng = generator(seed, "meanings/own")
    return tuple(draw_sentence(rng, bool(torch.rand((), generator=rng) < 0.5)) for _ in range(count))


@lru_cache(maxsize=8)
def evaluation_sentences(count: int, ambiguous: bool, new_cues: bool = False) -> tuple[HomographSentence, ...]:
    """Return sentences for evaluation, equal for all models.

    `ambiguous`: with homographs or with synonyms. `new_cues`: with nouns that do not occur with homographs in training.
    """
    rng = generator(0, f"meanings/asked/{ambiguous}/{new_cues}")
    return tuple(draw_sentence(rng, ambiguous, new_cues) for _ in range(count))


def draw_sentence(rng: Generator, ambiguous: bool, new_cues: bool = False) -> HomographSentence:
    """Return a random sentence. The nouns of a homograph are trained ones, or new cues if `new_cues`."""
    frame, topic = _draw_index(len(FRAMES), rng), TOPICS[_draw_index(len(TOPICS), rng)]
    nouns = NOUNS[topic]
    candidates = nouns[TRAINED_CUES:] if new_cues else nouns[:TRAINED_CUES] if ambiguous else nouns
    first = _draw_index(len(candidates), rng)
    second = (first + 1 + _draw_index(len(candidates) - 1, rng)) % len(candidates)
    return build_sentence(frame, topic, ambiguous, candidates[first], candidates[second])


def _draw_index(count: int, rng: Generator) -> int:
    return int(torch.randint(count, (), generator=rng))


def sample_sentences(config: HomographConfig, seed: int, rng: Generator, size: int) -> list[HomographSentence]:
    """Return a random batch of the training sentences of a seed."""
    sentences = training_sentences(config.sentences, seed)
    return [sentences[i] for i in torch.randint(len(sentences), (size,), generator=rng).tolist()]
