"""The masked-word task (`gist` in stored runs): predict the hidden word of a sentence at every position.

Senses of homographs are not labelled. But to predict the missing word, the vector of every word has to represent the
topic of the sentence.
"""

from __future__ import annotations

from dataclasses import dataclass

from explorer.tasks.sequence_labelling.homographs import WORDS, HomographConfig

VERSION = 1


@dataclass(frozen=True)
class MaskedWordConfig(HomographConfig):
    """Every position is labelled with the hidden word."""

    @property
    def labels(self) -> tuple[str, ...]:
        return WORDS

    @property
    def metrics(self) -> tuple[str, ...]:
        return ("synonym", "new_synonym", "loss")
