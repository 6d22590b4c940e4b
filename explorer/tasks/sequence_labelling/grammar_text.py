"""The grammar-text task (`tale` in stored runs): predict the next letter in sentences of a small grammar.

    the old king follows the owl near the river. the thief hears the silent giant.

All choices of the grammar are independent, so the entropy of the text is known: no causal model has a lower average
loss per letter. A lower loss shows that the model sees later letters.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from explorer.models.settings import setting
from explorer.tasks.sequence_labelling.config import PAD, NextTokenConfig

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

    @property
    def vocabulary(self) -> tuple[str, ...]:
        return (*LETTERS, PAD)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(LETTERS)

    @property
    def loss_floor(self) -> float:
        """The entropy of the text in nats per letter, a lower bound of the loss of a causal model.

        The bound is not tight: a row that starts inside a sentence has a slightly higher entropy.
        """
        return sentence_entropy() / mean_sentence_length()
