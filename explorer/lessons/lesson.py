"""The parts of a teaching lesson: steps, questions, choices and measurements. Needs no torch.

A field that is declared by `entry` stands in the file of a lesson, with the meaning that is said here; `file_format.py`
has the parts of the file that no class here has.
"""

# ruff: noqa: RUF009  # `entry` returns a field, not a value

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from explorer.hub.suitable import Need
from explorer.lessons.measure import Measure
from explorer.number_format import format_count, format_number

MAX_SENTENCE = 200  # characters of a sentence that a class collects
_STATE = "Settings of the page, by the names of its URL parameters; others are refused."


def entry(about: str, name: str = "", kind: str = "", **more: Any) -> Any:
    """Declare a field of a lesson file.

    about: what it means
    name: its name in the file, if it is another one
    kind: what its value is, if it is no text, no number and no list of texts
    more: its default, without which it is required; other arguments of `dataclasses.field`
    """
    return field(metadata={"about": about, "name": name, "kind": kind}, **more)


def _is_in_range(value: float, low: float | None, high: float | None) -> bool:
    return (low is None or value >= low) and (high is None or value < high)


@dataclass(frozen=True)
class Choice:
    """A text, or a mapping if the measure is a number: then the ranges of all choices cover every number once."""

    name: str
    text: str = entry("The answer.")
    low: float | None = entry("The lowest value for which it is right.", "from", default=None)
    high: float | None = entry("The value below which it is right.", "below", default=None)

    @property
    def short_text(self) -> str:
        """Return the text up to the colon, as it stands inside a sentence: “fewer, under 85 %”."""
        text = self.text.partition(": ")[0]
        return text if text[1:2].isupper() else text[:1].lower() + text[1:]

    def contains(self, value: float) -> bool:
        """Return whether a number lies in its range."""
        return _is_in_range(value, self.low, self.high)


@dataclass(frozen=True)
class Scale:
    """The scale of a predicted number."""

    low: float = entry("The lowest possible prediction.")
    high: float = entry("The highest possible prediction.")
    step: float = entry("The distance between two possible predictions.")
    unit: str = entry("The unit, in the plural.", default="")

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
    """The axis on which the answer is drawn. It covers all possible values."""

    low: float | None = entry("Its lowest value.", default=None)
    high: float | None = entry("Its highest value.", default=None)
    unit: str = entry("The unit of its values.", default="")
    powers: bool = entry("Whether the axis is logarithmic; then low and high must be above 0.", default=False)


@dataclass(frozen=True)
class Setup:
    """What a step shows before the prediction: the tokens that the model reads."""

    tokens: tuple[str, ...] = ()
    marked: tuple[int, ...] = ()  # positions that the question is about, from 0
    note: str = ""


@dataclass(frozen=True)
class Question:
    """A question with either choices or a number."""

    text: str = entry("The question.", "question")
    choices: tuple[Choice, ...] = entry(
        "Two to six answers, by name (small letters, digits, dashes, _).", kind="mapping of Choice", default=()
    )
    scale: Scale | None = entry(
        "The scale of the slider with which a student predicts a number.", "number", "Number", default=None
    )
    collects: bool = False  # the answer is a sentence of at most MAX_SENTENCE characters, in a class only

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


@dataclass(frozen=True, kw_only=True)
class Subject:
    """One thing that is measured, for instance a run."""

    name: str = ""
    title: str = entry("Its title; otherwise the text of the choice of this name.", default="")
    settings: Mapping[str, object] = field(hash=False)


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """The measurement of a step. The answer is the value of the only subject, or with `which` the name of a subject."""

    measure: Measure = entry("The name of the measure.", "name", "text")
    subjects: tuple[Subject, ...] = entry(
        "Several subjects to measure, by name; each is a row of the answer.", "of", "mapping of Subject", default=()
    )
    which: str = entry(
        "The answer is the subject with this value; each is also a choice.", kind="highest or lowest", default=""
    )
    times: float = entry("A factor by which every value is multiplied, such as 100 for per cent.", default=1.0)
    axis: Axis | None = entry("The axis of the answer, if it is not that of the measure.", kind="Axis", default=None)


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What a student tries with a control of the page, after the answer."""

    text: str = entry("The instruction.")
    setting: str = entry("The setting of the page that the control changes.")
    words: str = entry("Words that its value has to contain.", "has", default="")
    low: float | None = entry("The lowest value that is right.", "from", default=None)
    high: float | None = entry("The value below which it is right.", "below", default=None)
    example: str = entry("A value that is right; a test tries it.")

    def is_done(self, value: str) -> bool:
        """Return whether the setting has a value that the instruction asks for."""
        if self.words:
            return re.search(rf"\b{re.escape(self.words)}\b", value, re.IGNORECASE) is not None
        try:
            return _is_in_range(float(value), self.low, self.high)
        except ValueError:
            return False


@dataclass(frozen=True, kw_only=True)
class Step:
    """A prediction, its measurement and the explanation."""

    line: int  # where the step begins in its file
    title: str = entry("The title of the step.")
    text: str = entry("The information that is needed for the prediction. May contain Markdown.")
    page: str = entry("The URL path of the page that the step opens.")
    state: Mapping[str, str] = entry(_STATE, kind="mapping", default_factory=dict, hash=False)
    section: str = entry("The section beside the question. It is blurred until the prediction.", default="")
    before: Mapping[str, str] = entry(
        "Settings of the page that are others before the prediction and do not show the answer: the section is sharp.",
        kind="mapping",
        default_factory=dict,
        hash=False,
    )
    figure: str = entry("Another section beside the question before the prediction, not blurred.", default="")
    setup: Setup = entry("The tokens that are shown before the prediction.", kind="Setup", default=Setup())
    question: Question = entry("The question.", "predict", "Prediction")
    measurement: Measurement = entry("The measurement that gives the answer.", "measure", "Measurement")
    expects: str | tuple[float, float] = entry(
        "The answer that the author expects: the name of a choice, or a range of numbers. `lineage lessons NAME` "
        "compares it with the measured answer.",
        kind="text or Expected range",
    )
    why: str = entry(
        "The explanation of the answer. `{value}`, `{low}`, `{high}` and `{seeds}` stand for the median, the lowest "
        "and highest value and the number of seeds, `{most}` and `{share}` for the most frequent label and its share, "
        "and `{NAME_value}` for the value of the subject NAME. Write `{{` for a brace."
    )
    trial: Trial | None = entry("What to try with a control of the page.", "try", "Try", default=None)
    notes: str = entry("Notes for teachers.", default="")

    @property
    def state_before(self) -> dict[str, str]:
        """The settings of the page before the prediction."""
        return {**self.state, **self.before}

    @property
    def real_model(self) -> Need | None:
        """The kind of an opened real model that the step measures, if it measures one."""
        return self.measurement.measure.real_model


@dataclass(frozen=True)
class Explanation:
    """A possible reason."""

    name: str
    text: str = entry("The reason.")
    because: str = entry("The text that is shown after the choice: why it is right or wrong.")


@dataclass(frozen=True)
class Reason:
    """The question about the reason."""

    question: str = entry("The question.")
    choices: tuple[Explanation, ...] = entry("The possible reasons, by name.", kind="mapping of Explanation")
    right: str = entry("The name of the right one.")


@dataclass(frozen=True)
class Goal:
    """The value that reaches the goal: `from`, `below` or both, or `is` if the measure gives a label."""

    low: float | None = entry("The lowest value that reaches it.", "from", default=None)
    high: float | None = entry("The value below which it is reached.", "below", default=None)
    label: str = entry("The label that reaches it.", "is", default="")

    def is_reached(self, value: float | str) -> bool:
        """Return whether a measured number or label is what the task asks for."""
        return value == self.label if isinstance(value, str) else _is_in_range(value, self.low, self.high)


@dataclass(frozen=True, kw_only=True)
class Task:
    """An exercise: the student changes a page, and a measurement checks it."""

    text: str = entry("The instruction.")
    page: str = entry("The URL path of the page.")
    state: Mapping[str, str] = entry(
        f"{_STATE} The page begins with them. If `say` is one of them, a class can collect sentences at the task.",
        kind="mapping",
        default_factory=dict,
        hash=False,
    )
    section: str = entry("The section of the page with the control.", default="")
    measure: Measure = entry("The measurement that checks the page.", kind="Task measure")
    settings: Mapping[str, str] = field(hash=False)  # of the measure; “$name” stands for the field `name` of the state
    times: float = 1.0
    unit: str = ""
    goal: Goal = entry("The value with which the task is done.", kind="Goal")
    solution: Mapping[str, str] = entry(
        "Settings of the page that reach the goal; a test tries them.", kind="mapping", hash=False
    )
    done: str = entry("The text that is shown when the goal is reached.")


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """A file `N-NAME.yaml`: N orders the lessons, NAME (small letters, digits and dashes) appears in URLs."""

    name: str
    title: str = entry("The title of the lesson.")
    about: str = entry("One or two sentences for the list of lessons.")
    picture: str = entry("The lines of its picture: the path of an SVG of 96 by 54.", default="")
    minutes: int = entry("The duration in minutes, from 1 to 120.")
    after: tuple[str, ...] = entry(
        "The names of the lessons that come before this one. They decide the order.", default=()
    )
    goals: tuple[str, ...] = entry("What a student can do afterwards.", default=())
    steps: tuple[Step, ...] = entry("The predictions, in order; at least one.", kind="list of Step")
    recap: str = entry("A summary, which is shown after the last step.", default="")
    reason: Reason | None = entry("A question about the reason, after the recap.", kind="Reason", default=None)
    task: Task | None = entry("An exercise at the end: the student changes a page.", kind="Task", default=None)
    notes: str = entry(
        "Notes for teachers, which are shown only on the sheet of the lesson with `?notes=1`.", default=""
    )

    @property
    def closing(self) -> int:
        """Return the number of the part after the last step, or 0 if there is none."""
        return len(self.steps) + 1 if self.task or self.reason else 0

    @property
    def needs_real_model(self) -> bool:
        """Return whether every step measures a real model."""
        return all(step.real_model for step in self.steps)
