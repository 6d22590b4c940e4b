"""The delayed-copy task (`echo` in stored runs): digits, a separator, and the same digits again.

Only the positions after the separator are in the loss. To predict a digit a model has to attend to a position that is
as many tokens away as there are digits, so it needs positional information, also at lengths that were not trained.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from explorer.models.settings import setting
from explorer.tasks.sequence_labelling.config import PAD, LabellingConfig

VERSION = 1
DIGITS = "0123456789"
SEPARATOR = "|"
EXTRA_DIGITS = 8  # by which the longest evaluated row exceeds the longest trained row


@dataclass(frozen=True)
class DelayedCopyConfig(LabellingConfig):
    """Number of digits, and the order in which they are repeated."""

    shortest: int = setting(1, "Digits in the shortest row that is trained.", 1, 32, label="Shortest row")
    longest: int = setting(12, "Digits in the longest row that is trained.", 1, 32, label="Longest row")
    symbols: int = setting(10, "Different digits.", 2, 10, label="Different digits")
    again: Literal["copy", "reverse"] = setting(
        "copy", "Said again as they were, or from the last to the first.", label="Order of the copy"
    )

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
    def max_length(self) -> int:
        return 2 * (self.longest + EXTRA_DIGITS)

    @property
    def metrics(self) -> tuple[str, ...]:
        return ("exact", "loss")

    @property
    def answers(self) -> dict[str, int]:
        return {"by_length": len(evaluation_lengths(self))}


def evaluation_lengths(config: DelayedCopyConfig) -> tuple[int, ...]:
    """Return the lengths of the final evaluation: from 1 to a few digits more than were trained."""
    return tuple(range(1, config.longest + EXTRA_DIGITS + 1))
