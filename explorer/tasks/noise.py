"""Noise: rows of random symbols, and at every place the question which one comes next.

Nothing can be learned. Whoever spreads an even guess over all symbols loses ln(symbols) nats, and nobody who sees only
what came before can lose less: a lower loss is a leak.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from explorer.models.settings import setting
from explorer.tasks.labelling import PAD, NextConfig

VERSION = 1
LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class NoiseConfig(NextConfig):
    """How many symbols, and how many of them in a row."""

    symbols: int = setting(19, "Different symbols; each is as likely as any other.", 2, 26)
    length: int = setting(12, "Symbols of a row that are asked for.", 2, 64)

    @property
    def vocabulary(self) -> tuple[str, ...]:
        return (*LETTERS[: self.symbols], PAD)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(LETTERS[: self.symbols])

    @property
    def floor(self) -> float:
        """The lowest loss without knowing what comes, in nats."""
        return math.log(self.symbols)
