"""Echo: digits, a separator, and the digits once more, each to be said from what stands before it.

Only what comes after the separator counts. To say a digit one has to look back to its place, which is always as many
tokens away as there are digits: so whether a model knows where tokens stand decides it, and so does whether it knows
that at lengths it was never trained on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from explorer.models.settings import setting
from explorer.tasks.labelling import PAD, LabellingConfig

VERSION = 1
DIGITS = "0123456789"
SEPARATOR = "|"
BEYOND = 8  # digits more than were trained that a model is asked for


@dataclass(frozen=True)
class EchoConfig(LabellingConfig):
    """How many digits, and in which order they are said again."""

    shortest: int = setting(1, "Digits in the shortest row that is trained.", 1, 32)
    longest: int = setting(12, "Digits in the longest row that is trained.", 1, 32)
    symbols: int = setting(10, "Different digits.", 2, 10)
    again: Literal["copy", "reverse"] = setting("copy", "Said again as they were, or from the last to the first.")

    def __post_init__(self) -> None:
        if self.shortest > self.longest:
            raise ValueError(f"shortest = {self.shortest} is more than longest = {self.longest}")

    @property
    def vocabulary(self) -> tuple[str, ...]:
        return (*DIGITS[: self.symbols], SEPARATOR, PAD)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(DIGITS[: self.symbols])

    @property
    def places(self) -> int:
        return 2 * (self.longest + BEYOND)

    @property
    def metrics(self) -> tuple[str, ...]:
        return ("exact", "loss")

    @property
    def answers(self) -> dict[str, int]:
        return {"by_length": len(asked_lengths(self))}


def asked_lengths(config: EchoConfig) -> tuple[int, ...]:
    """The lengths that are asked about at the end: every one that was trained, those below, and some beyond."""
    return tuple(range(1, config.longest + BEYOND + 1))
