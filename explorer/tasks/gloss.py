"""Gloss: every word says what it means. Most mean themselves; a homograph has to choose between its two senses.

The sense stands in the words around it and nowhere else, so that who does not look at them is right half the time.
"""

from __future__ import annotations

from dataclasses import dataclass

from explorer.tasks.meanings import HOMOGRAPHS, SENSES, WORDS, MeaningsConfig

VERSION = 1
MEANINGS = (
    *(word for word in WORDS if word not in SENSES),
    *(f"{word} ({topic})" for word in HOMOGRAPHS for topic in SENSES[word]),
)


@dataclass(frozen=True)
class GlossConfig(MeaningsConfig):
    """Every word is labelled with its meaning."""

    @property
    def labels(self) -> tuple[str, ...]:
        return MEANINGS

    @property
    def metrics(self) -> tuple[str, ...]:
        return ("sense", "new_cues", "loss")


def meaning(word: str, topic: str) -> int:
    """The label of a word in a sentence about a topic."""
    return _LABELS[f"{word} ({topic})" if word in SENSES else word]


_LABELS = {label: i for i, label in enumerate(MEANINGS)}
