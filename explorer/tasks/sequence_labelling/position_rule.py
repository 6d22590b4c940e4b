"""The position-rule task (`place` in stored runs): the label of a digit depends on its position.

At position t (counted from 0) the label is the digit plus t mod `period`; with a period of 2, the digit itself and its
successor alternate. The digits are random and carry no information about t, so a model has to count.
"""

from __future__ import annotations

from dataclasses import dataclass

from explorer.models.settings import setting
from explorer.tasks.sequence_labelling.config import PAD, LabellingConfig

VERSION = 1
DIGITS = "0123456789"
EVALUATION_LENGTH_FACTOR = 4  # length of the evaluated rows, as a multiple of the trained length


@dataclass(frozen=True)
class PositionRuleConfig(LabellingConfig):
    """The length of the rows, and the period of the rule."""

    length: int = setting(20, "Digits in a row.", 2, 100, label="Length of a row")
    period: int = setting(2, "Places after which the rule begins anew.", 2, 100, label="Period of the rule")

    @property
    def vocabulary(self) -> tuple[str, ...]:
        return (*DIGITS, PAD)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(DIGITS)

    @property
    def max_length(self) -> int:
        return EVALUATION_LENGTH_FACTOR * self.length

    @property
    def metrics(self) -> tuple[str, ...]:
        return ("accuracy", "loss")

    @property
    def answers(self) -> dict[str, int]:
        return {"by_place": self.max_length}
