"""What all tasks share whose models answer at every place of a row: aligned many-to-many.

A task is a file without torch, `NAME.py`, with its settings, and `NAME_rows.py`, which draws its rows (`batch`) and
examines a model (`examine`); the lesson finds the second by the name of the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

PAD = "<PAD>"


@dataclass(frozen=True)
class LabellingConfig:
    """The settings of such a task say also which tokens it has, and what an examination tells."""

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """The tokens of its rows; the last is <PAD>, which stands behind rows that lie beside longer ones."""
        raise NotImplementedError

    @property
    def labels(self) -> tuple[str, ...]:
        """What a model may answer at a place."""
        raise NotImplementedError

    @property
    def places(self) -> int:
        """Tokens in the longest row that a model is ever asked about: learned positions know so many."""
        raise NotImplementedError

    @property
    def metrics(self) -> tuple[str, ...]:
        """What every evaluation tells; the most telling one first."""
        raise NotImplementedError

    @property
    def answers(self) -> Mapping[str, int]:
        """What only the last evaluation tells, each in so many parts."""
        return {}

    @property
    def highest(self) -> float:
        """What such an answer may be at most: a share is at most one."""
        return 1.0


class NextConfig(LabellingConfig):
    """A row that is asked at every place which sign comes next: whoever sees ahead loses less than is possible."""

    length: int  # each has its own, with its limits

    @property
    def places(self) -> int:
        return self.length

    @property
    def metrics(self) -> tuple[str, ...]:
        return ("loss", "prefix_loss")

    @property
    def answers(self) -> dict[str, int]:
        return {"by_place": self.length, "prefix_by_place": self.length}

    @property
    def highest(self) -> float:
        return 1e9  # nats: the answers are losses

    @property
    def floor(self) -> float:
        """The lowest loss without knowing what comes, in nats a place."""
        raise NotImplementedError
