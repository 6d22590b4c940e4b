"""The format of a lesson file: the parts, and the entries of each. `parse.py` reads files by it, and
`python -m benchmarks.lesson_format` writes docs/lesson-format.md from it.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields

from explorer.lessons import lesson
from explorer.lessons.lesson import entry

_KINDS = {  # of a value, by the type of its field
    "str": "text",
    "int": "number",
    "float": "number",
    "float | None": "number",
    "tuple[str, ...]": "list of texts",
    "bool": "yes",
}


@dataclass(frozen=True)
class Entry:
    """An entry of a part: its name, what its value is, what it means, and the field that holds it."""

    name: str
    kind: str  # "text", "number", "list of texts", or the title of another part
    about: str
    required: bool
    field: str


@dataclass(frozen=True)
class Part:
    """A mapping in a lesson file. With `others`, it may have further entries, which that sentence describes."""

    title: str
    about: str
    entries: tuple[Entry, ...]
    others: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(entry.name for entry in self.entries)


def _part(form: type, title: str = "", others: str = "") -> Part:
    """Return the part that a class declares; its title is by default the name of the class."""
    found = []
    for each in fields(form):
        if about := each.metadata.get("about"):
            kind = each.metadata["kind"] or _KINDS[str(each.type)]
            required = each.default is MISSING and each.default_factory is MISSING
            found.append(Entry(each.metadata["name"] or each.name, kind, about, required, each.name))
    return Part(title or form.__name__, " ".join(str(form.__doc__).split()), tuple(found), others)


@dataclass
class _Setup:
    """The tokens that the model reads."""

    tokens: str = entry("The tokens, with spaces between them.", default="")
    state: str = entry("Instead of tokens: the name of the setting of the page that holds them.", default="")
    letters: bool = entry("Whether every letter is a token.", default=False)
    marked: str = entry(
        "The numbers of the tokens that the question is about, counted from 1, with spaces.", default=""
    )
    note: str = entry("A caption.", default="")


@dataclass
class _ExpectedRange:
    """The range of the expected number."""

    low: float = entry("The lowest expected value.", "from")
    high: float = entry("The highest expected value.", "to")


@dataclass
class _TaskMeasure:
    """A measure whose settings may be those of the page."""

    name: str = entry("The name of the measure.")
    times: float = entry("A factor by which the value is multiplied.", default=1.0)
    unit: str = entry("The unit of the value.", default="")


LESSON = _part(lesson.Lesson, "The file")
STEP = _part(lesson.Step)
TRY = _part(lesson.Trial, "Try")
SETUP = _part(_Setup, "Setup")
PREDICTION = _part(lesson.Question, "Prediction")
CHOICE = _part(lesson.Choice)
NUMBER = _part(lesson.Scale, "Number")
EXPECTED_RANGE = _part(_ExpectedRange, "Expected range")
MEASUREMENT = _part(lesson.Measurement, others="The settings of the measure, which all subjects share.")
SUBJECT = _part(lesson.Subject, others="Settings of the measure.")
AXIS = _part(lesson.Axis)
REASON = _part(lesson.Reason)
EXPLANATION = _part(lesson.Explanation)
TASK = _part(lesson.Task)
TASK_MEASURE = _part(
    _TaskMeasure, "Task measure", "The settings of the measure; `$name` stands for the setting `name` of the page."
)
GOAL = _part(lesson.Goal)
PARTS = (
    LESSON, STEP, TRY, SETUP, PREDICTION, CHOICE, NUMBER, EXPECTED_RANGE, MEASUREMENT, SUBJECT, AXIS, REASON,
    EXPLANATION, TASK, TASK_MEASURE, GOAL,
)  # fmt: skip
