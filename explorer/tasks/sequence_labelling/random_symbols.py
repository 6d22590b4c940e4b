"""The random-symbols task (`noise` in stored runs): predict the next of independent random symbols.

Nothing can be learned: a uniform prediction has a loss of ln(symbols) nats, and no causal model has a lower one. A
lower loss shows that the model sees later symbols.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from explorer.models.settings import setting
from explorer.tasks.sequence_labelling.config import PAD, NextTokenConfig

VERSION = 1
LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class RandomSymbolsConfig(NextTokenConfig):
    """The number of different symbols, and the length of a row."""

    symbols: int = setting(19, "Different symbols; each is as likely as any other.", 2, 26, label="Different symbols")
    length: int = setting(12, "Symbols of a row that are asked for.", 2, 64, label="Length of a row")

    @property
    def vocabulary(self) -> tuple[str, ...]:
        return (*LETTERS[: self.symbols], PAD)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(LETTERS[: self.symbols])

    @property
    def loss_floor(self) -> float:
        """The lowest possible loss of a causal model, in nats."""
        return math.log(self.symbols)
