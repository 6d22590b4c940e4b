"""Place: a rule that depends on where a digit stands, for models that do the same at every step.

At the place t (counted from 0) the answer is the digit there plus t mod `period`: with a period of 2 the digit itself
and its successor in turns. The digits are random and say nothing about t, so whoever answers has counted.
"""

from __future__ import annotations

from dataclasses import dataclass

from explorer.models.settings import setting
from explorer.tasks.labelling import PAD, LabellingConfig

VERSION = 1
FIGURES = "0123456789"
TIMES_LONGER = 4  # than in training are the rows that a model is asked about at the end


@dataclass(frozen=True)
class PlaceConfig(LabellingConfig):
    """How long the rows are, and after how many places the rule begins anew."""

    length: int = setting(20, "Digits in a row.", 2, 100)
    period: int = setting(2, "Places after which the rule begins anew.", 2, 100)

    @property
    def vocabulary(self) -> tuple[str, ...]:
        return (*FIGURES, PAD)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(FIGURES)

    @property
    def places(self) -> int:
        return TIMES_LONGER * self.length

    @property
    def metrics(self) -> tuple[str, ...]:
        return ("accuracy", "loss")

    @property
    def answers(self) -> dict[str, int]:
        return {"by_place": self.places}
