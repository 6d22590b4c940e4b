"""What a lesson is made of. Needs no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from explorer.lessons.registry import Measure


@dataclass(frozen=True)
class Choice:
    """An answer to choose; of a measured number, the band that it stands for (from `low` on, below `high`)."""

    name: str
    text: str
    low: float | None = None
    high: float | None = None

    @property
    def banded(self) -> bool:
        return self.low is not None or self.high is not None

    def holds(self, value: float) -> bool:
        """Whether a number lies in its band."""
        return (self.low is None or value >= self.low) and (self.high is None or value < self.high)


@dataclass(frozen=True)
class Scale:
    """A number to guess."""

    low: float
    high: float
    step: float
    unit: str = ""

    def said(self, value: float) -> str:
        """A number with its unit, as finely as it can be guessed."""
        digits = 0 if self.step >= 1 else 1 if self.step >= 0.1 else 2
        return self.with_unit(f"{value:,.{digits}f}".replace("-", "−"))

    def with_unit(self, number: str) -> str:
        """A number in words: 1 letter, 2 letters, 50 %."""
        unit = self.unit.removesuffix("s") if number == "1" else self.unit
        return f"{number} {unit}".strip()


@dataclass(frozen=True)
class Question:
    """What is to be predicted: one of some choices, or a number."""

    text: str
    choices: tuple[Choice, ...] = ()
    scale: Scale | None = None

    def choice(self, name: str) -> Choice:
        return next(each for each in self.choices if each.name == name)

    def takes(self, given: object) -> bool:
        """Whether this is an answer to it."""
        if self.scale is None:
            return any(each.name == given for each in self.choices)
        number = isinstance(given, int | float) and not isinstance(given, bool)
        return number and self.scale.low <= given <= self.scale.high  # type: ignore[operator]  # it is a number

    def said(self, given: object) -> str:
        """An answer in words."""
        if self.scale is None:
            return self.choice(str(given)).text
        return self.scale.said(float(given))  # type: ignore[arg-type]  # it takes numbers only


@dataclass(frozen=True)
class Subject:
    """One thing that is measured: a row of the answer."""

    name: str
    title: str
    settings: Mapping[str, object] = field(hash=False)


@dataclass(frozen=True)
class Asked:
    """What is measured. The question is about the first subject, unless it asks `which` is highest or lowest."""

    measure: Measure
    subjects: tuple[Subject, ...]
    which: str = ""  # "highest", "lowest" or nothing
    times: float = 1.0  # e.g. 100 for a share in percent


@dataclass(frozen=True)
class Step:
    """One prediction, its measurement, and why."""

    title: str
    text: str
    page: str  # an address
    state: Mapping[str, str] = field(hash=False)
    question: Question
    asked: Asked
    expects: str | tuple[float, float]  # what the author expects: a choice, or a range
    why: str
    line: int  # where it begins in its file


@dataclass(frozen=True)
class Lesson:
    """A file of `lessons/`."""

    name: str  # in an address
    title: str
    about: str
    minutes: int
    steps: tuple[Step, ...]
