"""The word-sense task (`gloss` in stored runs): label every word with its meaning.

Most words have one meaning; a homograph has two. Only the words around it reveal the sense, so a model without access
to them is right half the time.
"""

from __future__ import annotations

from dataclasses import dataclass

from explorer.tasks.sequence_labelling.homographs import HOMOGRAPHS, SENSES, WORDS, HomographConfig

VERSION = 1
SENSE_LABELS = (
    *(word for word in WORDS if word not in SENSES),
    *(f"{word} ({topic})" for word in HOMOGRAPHS for topic in SENSES[word]),
)


@dataclass(frozen=True)
class WordSenseConfig(HomographConfig):
    """Every position is labelled with the meaning of its word."""

    @property
    def labels(self) -> tuple[str, ...]:
        return SENSE_LABELS

    @property
    def metrics(self) -> tuple[str, ...]:
        return ("sense", "new_cues", "loss")


def sense_label(word: str, topic: str) -> int:
    """Return the label of a word in a sentence about a topic."""
    return _LABEL_IDS[f"{word} ({topic})" if word in SENSES else word]


_LABEL_IDS = {label: i for i, label in enumerate(SENSE_LABELS)}
