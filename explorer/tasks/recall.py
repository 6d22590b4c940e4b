"""Recall: a sequence of random symbols, and at its end the question which one was the first.

Nothing can be guessed: the other symbols say nothing about the first. Whoever answers has carried it to the end. By
default every batch is drawn anew, so that nothing can be learned by heart either.
"""

from __future__ import annotations

from dataclasses import dataclass

from explorer.models.settings import setting

VERSION = 1


@dataclass(frozen=True)
class RecallConfig:
    """How long the sequences are, and of how many symbols."""

    length: int = setting(50, "Symbols in a sequence (T).", 1, 1_000_000)
    symbols: int = setting(2, "Different symbols; a blind guess is right once in so many.", 2, 26)
    sequences: int = setting(
        0,
        "Sequences to learn from, shown again and again, as the notebook does; 0: fresh ones at every step.",
        0,
        100_000,
    )


def asked_lengths(length: int) -> tuple[int, ...]:
    """The lengths at which a model is asked at the end: that of its training, its neighbours, shorter and far longer
    ones."""
    near = {length - 2, length - 1, length, length + 1, length + 2}
    far = {length // 5, length // 2, 2 * length, 4 * length, 10 * length, 20 * length, 1_000}
    return tuple(sorted(each for each in near | far if 1 <= each <= max(1_000, length + 2)))
