"""Gist: one word of every sentence is hidden, and the vector of every word has to say which one it was.

Nobody says what a homograph means. But to tell what is missing, a word has to carry what the sentence is about.
"""

from __future__ import annotations

from dataclasses import dataclass

from explorer.tasks.meanings import WORDS, MeaningsConfig

VERSION = 1


@dataclass(frozen=True)
class GistConfig(MeaningsConfig):
    """Every word is labelled with the one that is hidden."""

    @property
    def labels(self) -> tuple[str, ...]:
        return WORDS

    @property
    def metrics(self) -> tuple[str, ...]:
        return ("synonym", "new_synonym", "loss")
