"""The parts of a teaching lesson: steps, questions, choices and measurements. Needs no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from explorer.hub.suitable import Need
from explorer.lessons.measure import Measure
from explorer.number_format import format_count, format_number

MAX_SENTENCE = 200  # characters of a sentence that a class collects


@dataclass(frozen=True)
class Choice:
    """An answer to choose. If the measure is a number, the answer stands for the range [low, high)."""

    name: str
    text: str
    low: float | None = None
    high: float | None = None

    @property
    def short_text(self) -> str:
        """Return the text up to the colon, as it stands inside a sentence: “fewer, under 85 %”."""
        text = self.text.partition(": ")[0]
        return text if text[1:2].isupper() else text[:1].lower() + text[1:]

    @property
    def has_range(self) -> bool:
        return self.low is not None or self.high is not None

    def contains(self, value: float) -> bool:
        """Return whether a number lies in its range."""
        return (self.low is None or value >= self.low) and (self.high is None or value < self.high)


@dataclass(frozen=True)
class Scale:
    """The scale on which a visitor guesses a number."""

    low: float
    high: float
    step: float
    unit: str = ""

    def format(self, value: float) -> str:
        """Return a number with its unit, with as many digits as the step of the scale has."""
        digits = 0 if self.step >= 1 and value == round(value) else 1 if self.step >= 0.1 else 2
        return self.with_unit(format_count(value) if digits == 0 else format_number(value, digits))

    def with_unit(self, number: str) -> str:
        """Return a formatted number with its unit: 1 letter, 2 letters, 50 %."""
        unit = self.unit.removesuffix("s") if number == "1" else self.unit
        return f"{number} {unit}".strip()


@dataclass(frozen=True)
class Axis:
    """The axis on which the answer of a step is drawn: it spans what is possible. None: the data decide."""

    low: float | None = None
    high: float | None = None
    unit: str = ""
    powers: bool = False  # by powers of ten


@dataclass(frozen=True)
class Setup:
    """What a step shows before the prediction: the tokens that the model reads."""

    tokens: tuple[str, ...] = ()
    marked: tuple[int, ...] = ()  # positions that the question is about, from 0
    note: str = ""


@dataclass(frozen=True)
class Question:
    """The question of a step: the answer is one of `choices`, or a number on `scale`; in a class also a sentence."""

    text: str
    choices: tuple[Choice, ...] = ()
    scale: Scale | None = None
    collects: bool = False  # the answer is a sentence of at most MAX_SENTENCE characters

    def find_choice(self, name: str) -> Choice:
        """Return the choice of this name."""
        return next(each for each in self.choices if each.name == name)

    def accepts(self, given: object) -> bool:
        """Return whether this is a possible answer; a sentence is in one line (`visible_text.clean_line`)."""
        if self.collects:
            is_visible = isinstance(given, str) and any(map(str.isprintable, given.strip()))
            return is_visible and len(str(given)) <= MAX_SENTENCE
        if self.scale is None:
            return any(each.name == given for each in self.choices)
        number = isinstance(given, int | float) and not isinstance(given, bool)
        return number and self.scale.low <= given <= self.scale.high  # type: ignore[operator]  # it is a number


@dataclass(frozen=True)
class Subject:
    """One object of a measurement, for instance a run: a row of the answer."""

    name: str
    title: str
    settings: Mapping[str, object] = field(hash=False)


@dataclass(frozen=True)
class Measurement:
    """What a step measures. The answer is the value of the first subject, or, with `which`, the subject with the
    extreme.
    """

    measure: Measure
    subjects: tuple[Subject, ...]
    which: str = ""  # "highest", "lowest" or nothing
    times: float = 1.0  # factor of every value, e.g. 100 for a share in percent
    axis: Axis | None = None  # None: the scale of the question, or that of the measure


@dataclass(frozen=True)
class Step:
    """One prediction, its measurement and the explanation."""

    title: str
    text: str
    page: str  # its URL path
    state: Mapping[str, str] = field(hash=False)
    question: Question
    measurement: Measurement
    expects: str | tuple[float, float]  # what the author expects: a choice, or a range
    why: str
    line: int  # where the step begins in its file
    section: str = ""  # of the page: its figure shows what the step is about
    setup: Setup = Setup()
    notes: str = ""  # for a teacher

    @property
    def real_model(self) -> Need | None:
        """The kind of an opened real model that the step measures, if it measures one."""
        return self.measurement.measure.real_model


@dataclass(frozen=True)
class Explanation:
    """A possible reason of what a lesson has shown, and what is to be said about it."""

    name: str
    text: str
    because: str


@dataclass(frozen=True)
class Reason:
    """The question about the reason at the end of a lesson."""

    question: str
    choices: tuple[Explanation, ...]
    right: str


@dataclass(frozen=True)
class Goal:
    """What the measured value of a task has to be: in the range [low, high), or one of the labels of the measure."""

    low: float | None = None
    high: float | None = None
    label: str = ""

    def is_reached(self, value: float | str) -> bool:
        """Return whether a measured number or label is what the task asks for."""
        if isinstance(value, str):
            return value == self.label
        return (self.low is None or value >= self.low) and (self.high is None or value < self.high)


@dataclass(frozen=True)
class Task:
    """What a visitor changes on a page by themselves, with a measurement that checks it.

    In `settings` a text “$name” stands for the field `name` of the page's state.
    """

    text: str
    page: str
    state: Mapping[str, str] = field(hash=False)
    section: str
    measure: Measure
    settings: Mapping[str, str] = field(hash=False)
    times: float
    unit: str
    goal: Goal
    solution: Mapping[str, str] = field(hash=False)  # fields of the state that reach the goal, for teachers and tests
    done: str  # said when the goal is reached


@dataclass(frozen=True)
class Lesson:
    """A lesson, as a file of `lessons/` describes it."""

    name: str  # as in URLs
    title: str
    about: str
    minutes: int
    steps: tuple[Step, ...]
    goals: tuple[str, ...] = ()
    after: tuple[str, ...] = ()  # names of lessons to do before
    recap: str = ""
    reason: Reason | None = None
    task: Task | None = None
    notes: str = ""  # for a teacher

    @property
    def closing(self) -> int:
        """Return the number of the part after the last step, or 0 if there is none."""
        return len(self.steps) + 1 if self.task or self.reason else 0

    @property
    def needs_real_model(self) -> bool:
        """Return whether every step measures a real model."""
        return all(step.real_model for step in self.steps)

    def steps_with(self, need: Need) -> list[int]:
        """Return the numbers of the steps that measure a real model of this kind."""
        return [number for number, step in enumerate(self.steps, start=1) if step.real_model == need]
