"""The grammar-text task (`tale` in stored runs): predict the next letter in sentences of a small grammar.

    the old king follows the owl near the river. the thief hears the silent giant.

All choices of the grammar are independent, so the entropy of the text is known: no causal model has a lower average
loss per letter. A lower loss shows that the model sees later letters.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from functools import lru_cache

from explorer.array_types import Int
from explorer.lazy_libraries import torch
from explorer.models.settings import setting
from explorer.seeds import generator
from explorer.tasks.sequence_labelling.config import PAD, NextTokenConfig
from explorer.tasks.sequence_labelling.rows import Rows, prefix_losses, unmasked_rows

VERSION = 1
LETTERS = "abcdefghijklmnopqrstuvwxyz ."


def _words(line: str) -> tuple[str, ...]:
    return tuple(line.split())


NOUNS = _words("king queen sailor child wolf owl miller baker soldier poet horse dragon widow shepherd giant thief")
ADJECTIVES = _words("old young brave small angry silent lonely clever")
VERBS = _words("sees finds loves follows hears calls fears forgets greets leaves helps hides")
PREPOSITIONS = _words("near behind under beside")
LOCATIONS = _words("tower river garden bridge market forest castle mill")
WORDS = frozenset((*NOUNS, *ADJECTIVES, *VERBS, *PREPOSITIONS, *LOCATIONS, "the"))


def draw_sentence(rng: random.Random) -> str:
    """Return a random sentence with its full stop and a trailing space."""
    location = f" {rng.choice(PREPOSITIONS)} the {rng.choice(LOCATIONS)}" if rng.random() < 0.5 else ""
    return f"{_draw_noun_phrase(rng)} {rng.choice(VERBS)} {_draw_noun_phrase(rng)}{location}. "


def _draw_noun_phrase(rng: random.Random) -> str:
    adjective = f"{rng.choice(ADJECTIVES)} " if rng.random() < 0.5 else ""
    return f"the {adjective}{rng.choice(NOUNS)}"


def sentence_entropy() -> float:
    """Return the entropy of a sentence in nats: the sum over its independent choices."""
    noun_phrase = math.log(2) + math.log(len(ADJECTIVES)) / 2 + math.log(len(NOUNS))
    location = math.log(2) + (math.log(len(PREPOSITIONS)) + math.log(len(LOCATIONS))) / 2
    return 2 * noun_phrase + math.log(len(VERBS)) + location


def mean_sentence_length() -> float:
    """Return the mean length of a sentence in letters, with spaces and full stop."""
    noun_phrase = len("the ") + (_mean_length(ADJECTIVES) + 1) / 2 + _mean_length(NOUNS)
    location = (len("  the ") + _mean_length(PREPOSITIONS) + _mean_length(LOCATIONS)) / 2
    return 2 * noun_phrase + len("  ") + _mean_length(VERBS) + location + len(". ")


def _mean_length(words: tuple[str, ...]) -> float:
    return sum(len(word) for word in words) / len(words)


@dataclass(frozen=True)
class GrammarTextConfig(NextTokenConfig):
    """The length of a row. A row starts anywhere in the text, also inside a word."""

    length: int = setting(40, "Letters of a row that are asked for.", 2, 64, label="Length of a row")

    vocabulary = (*LETTERS, PAD)
    labels = tuple(LETTERS)

    @property
    def loss_floor(self) -> float:
        """The entropy of the text in nats per letter; a row that starts inside a sentence has slightly more."""
        return sentence_entropy() / mean_sentence_length()


SENTENCES_PER_TEXT = 10_000
EVALUATION_ROWS = 48


@lru_cache(maxsize=32)
def generate_text(name: str) -> Int[torch.Tensor, " letters"]:
    """Return the letter ids of a random text, which is determined by its name."""
    rng = random.Random(f"tale/{name}")
    ids = {letter: i for i, letter in enumerate(LETTERS)}
    return torch.tensor([ids[letter] for _ in range(SENTENCES_PER_TEXT) for letter in draw_sentence(rng)])


def batch(config: GrammarTextConfig, seed: int, order: int, step: int, size: int) -> Rows:
    """Return the training batch of one replica and step, cut from the text of its seed."""
    return _draw_rows(config, generate_text(f"told/{seed}"), size, generator(seed, f"tale/{order}/{step}"))


def evaluation_rows(config: GrammarTextConfig, count: int, seed: int = 0) -> Rows:
    """Return rows of a text that is not used for training, equal for all models."""
    return _draw_rows(config, generate_text("asked"), count, generator(seed, "tale/asked"))


def _draw_rows(
    config: GrammarTextConfig, letters: Int[torch.Tensor, " letters"], count: int, rng: torch.Generator
) -> Rows:
    starts = torch.randint(len(letters) - config.length, (count, 1), generator=rng)
    rows = letters[starts + torch.arange(config.length + 1)]
    return unmasked_rows(rows[:, :-1], rows[:, 1:])


def evaluate(config: GrammarTextConfig, model: torch.nn.Module, replicas: int, whole: bool) -> dict[str, torch.Tensor]:
    """Return the loss of whole rows, as in training, and of their prefixes, as in generation."""
    return prefix_losses(model, evaluation_rows(config, EVALUATION_ROWS), replicas)
