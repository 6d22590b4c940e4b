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


LONGEST_ASKED = 1_000


def asked_lengths(length: int) -> tuple[int, ...]:
    """The lengths at which a model is asked at the end: that of its training and its neighbours, and from 1 on, ever
    further apart, to 1,000."""
    near = {each for each in range(length - 3, length + 4) if each >= 1}
    apart = {round(10 ** (i / 8)) for i in range(25)}
    return tuple(sorted(near | apart | {length // 5 or 1, length // 2 or 1, *_doubled(length)}))


def _doubled(length: int) -> set[int]:
    return {length * times for times in (2, 4, 10) if length * times <= LONGEST_ASKED}
