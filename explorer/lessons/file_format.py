"""The format of a lesson file: the parts, and the entries of each. `parse.py` reads files by it, and
`python -m benchmarks.lesson_format` writes docs/lesson-format.md from it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """An entry of a part: its name, what its value is, and what it means."""

    name: str
    kind: str  # "text", "number", "list of texts", or the title of another part
    about: str
    required: bool = False


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


_TEXT, _NUMBER, _TEXTS = "text", "number", "list of texts"
_STATE = "Settings of the page, by the names of its URL parameters; others are refused."

LESSON = Part(
    "The file",
    "A file `N-NAME.yaml`: N orders the lessons, NAME (small letters, digits and dashes) appears in URLs.",
    (
        Entry("title", _TEXT, "The title of the lesson.", required=True),
        Entry("about", _TEXT, "One or two sentences for the list of lessons.", required=True),
        Entry("minutes", _NUMBER, "The duration in minutes, from 1 to 120.", required=True),
        Entry("after", _TEXTS, "The names of the lessons that come before this one. They decide the order."),
        Entry("goals", _TEXTS, "What a student can do afterwards."),
        Entry("steps", "list of Step", "The predictions, in order; at least one.", required=True),
        Entry("recap", _TEXT, "A summary, which is shown after the last step."),
        Entry("reason", "Reason", "A question about the reason, after the recap."),
        Entry("task", "Task", "An exercise at the end: the student changes a page."),
        Entry("notes", _TEXT, "Notes for teachers, which are shown only on the sheet of the lesson with `?notes=1`."),
    ),
)
STEP = Part(
    "Step",
    "A prediction, its measurement and the explanation.",
    (
        Entry("title", _TEXT, "The title of the step.", required=True),
        Entry("text", _TEXT, "The information that is needed for the prediction. May contain Markdown.", required=True),
        Entry("page", _TEXT, "The URL path of the page that the step opens.", required=True),
        Entry("state", "mapping", _STATE),
        Entry("section", _TEXT, "The section or figure of the page to which the answer leads."),
        Entry("setup", "Setup", "The tokens that are shown before the prediction."),
        Entry("predict", "Prediction", "The question.", required=True),
        Entry("measure", "Measurement", "The measurement that gives the answer.", required=True),
        Entry(
            "expects",
            "text or Expected range",
            "The answer that the author expects: the name of a choice, or a range of numbers. `lineage lessons NAME` "
            "compares it with the measured answer.",
            required=True,
        ),
        Entry(
            "why",
            _TEXT,
            "The explanation of the answer. `{value}`, `{low}`, `{high}` and `{seeds}` stand for the median, the "
            "lowest and highest value and the number of seeds, `{most}` and `{share}` for the most frequent label and "
            "its share, and `{NAME_value}` for the value of the subject NAME. Write `{{` for a brace.",
            required=True,
        ),
        Entry("notes", _TEXT, "Notes for teachers."),
    ),
)
SETUP = Part(
    "Setup",
    "The tokens that the model reads.",
    (
        Entry("tokens", _TEXT, "The tokens, with spaces between them."),
        Entry("state", _TEXT, "Instead of tokens: the name of the setting of the page that holds them."),
        Entry("letters", "yes", "Whether every letter is a token."),
        Entry("marked", _TEXT, "The numbers of the tokens that the question is about, counted from 1, with spaces."),
        Entry("note", _TEXT, "A caption."),
    ),
)
PREDICTION = Part(
    "Prediction",
    "A question with either choices or a number.",
    (
        Entry("question", _TEXT, "The question.", required=True),
        Entry("choices", "mapping of Choice", "Two to six answers, by name (small letters, digits, dashes, _)."),
        Entry("number", "Number", "The scale of the slider with which a student predicts a number."),
    ),
)
CHOICE = Part(
    "Choice",
    "A text, or a mapping if the measure is a number: then the ranges of all choices cover every number once.",
    (
        Entry("text", _TEXT, "The answer.", required=True),
        Entry("from", _NUMBER, "The lowest value for which it is right."),
        Entry("below", _NUMBER, "The value below which it is right."),
    ),
)
NUMBER = Part(
    "Number",
    "The scale of a predicted number.",
    (
        Entry("low", _NUMBER, "The lowest possible prediction.", required=True),
        Entry("high", _NUMBER, "The highest possible prediction.", required=True),
        Entry("step", _NUMBER, "The distance between two possible predictions.", required=True),
        Entry("unit", _TEXT, "The unit, in the plural."),
    ),
)
EXPECTED_RANGE = Part(
    "Expected range",
    "The range of the expected number.",
    (
        Entry("from", _NUMBER, "The lowest expected value.", required=True),
        Entry("to", _NUMBER, "The highest expected value.", required=True),
    ),
)
MEASUREMENT = Part(
    "Measurement",
    "The measurement of a step. The answer is the value of the only subject, or with `which` the name of a subject.",
    (
        Entry("name", _TEXT, "The name of the measure.", required=True),
        Entry("of", "mapping of Subject", "Several subjects to measure, by name; each is a row of the answer."),
        Entry("which", "highest or lowest", "The answer is the subject with this value; each is also a choice."),
        Entry("times", _NUMBER, "A factor by which every value is multiplied, such as 100 for per cent."),
        Entry("axis", "Axis", "The axis of the answer, if it is not that of the measure."),
    ),
    "The settings of the measure, which all subjects share.",
)
SUBJECT = Part(
    "Subject",
    "One thing that is measured, for instance a run.",
    (Entry("title", _TEXT, "Its title; otherwise the text of the choice of this name."),),
    "Settings of the measure.",
)
AXIS = Part(
    "Axis",
    "The axis on which the answer is drawn. It covers all possible values.",
    (
        Entry("low", _NUMBER, "Its lowest value."),
        Entry("high", _NUMBER, "Its highest value."),
        Entry("unit", _TEXT, "The unit of its values."),
        Entry("powers", "yes", "Whether the axis is logarithmic; then low and high must be above 0."),
    ),
)
REASON = Part(
    "Reason",
    "The question about the reason.",
    (
        Entry("question", _TEXT, "The question.", required=True),
        Entry("choices", "mapping of Explanation", "The possible reasons, by name.", required=True),
        Entry("right", _TEXT, "The name of the right one.", required=True),
    ),
)
EXPLANATION = Part(
    "Explanation",
    "A possible reason.",
    (
        Entry("text", _TEXT, "The reason.", required=True),
        Entry("because", _TEXT, "The text that is shown after the choice: why it is right or wrong.", required=True),
    ),
)
TASK = Part(
    "Task",
    "An exercise: the student changes a page, and a measurement checks it.",
    (
        Entry("text", _TEXT, "The instruction.", required=True),
        Entry("page", _TEXT, "The URL path of the page.", required=True),
        Entry(
            "state",
            "mapping",
            f"{_STATE} The page begins with them. If `say` is one of them, a class can collect sentences at the task.",
        ),
        Entry("section", _TEXT, "The section of the page with the control."),
        Entry("measure", "Task measure", "The measurement that checks the page.", required=True),
        Entry("goal", "Goal", "The value with which the task is done.", required=True),
        Entry("solution", "mapping", "Settings of the page that reach the goal; a test tries them.", required=True),
        Entry("done", _TEXT, "The text that is shown when the goal is reached.", required=True),
    ),
)
TASK_MEASURE = Part(
    "Task measure",
    "A measure whose settings may be those of the page.",
    (
        Entry("name", _TEXT, "The name of the measure.", required=True),
        Entry("times", _NUMBER, "A factor by which the value is multiplied."),
        Entry("unit", _TEXT, "The unit of the value."),
    ),
    "The settings of the measure; `$name` stands for the setting `name` of the page.",
)
GOAL = Part(
    "Goal",
    "The value that reaches the goal: `from`, `below` or both, or `is` if the measure gives a label.",
    (
        Entry("from", _NUMBER, "The lowest value that reaches it."),
        Entry("below", _NUMBER, "The value below which it is reached."),
        Entry("is", _TEXT, "The label that reaches it."),
    ),
)
PARTS = (
    LESSON, STEP, SETUP, PREDICTION, CHOICE, NUMBER, EXPECTED_RANGE, MEASUREMENT, SUBJECT, AXIS, REASON, EXPLANATION,
    TASK, TASK_MEASURE, GOAL,
)  # fmt: skip
