"""Read the lessons of `lessons/*.yaml` and check everything in them. Needs no torch."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from explorer.catalogue import PAGES
from explorer.errors import LineageError, shorten
from explorer.lessons.lesson import Choice, Lesson, Measurement, Question, Scale, Step, Subject
from explorer.lessons.measures import Measure, find_measure
from explorer.lessons.yaml_lines import LessonError, Node, read_yaml

FOLDER = Path(__file__).parents[2] / "lessons"
# Returns the errors in the URL state of a page, one sentence each; the user interface knows the states.
StateCheck = Callable[[str, Mapping[str, str]], Sequence[str]]
_NAME = re.compile(r"(\d+-)?([a-z][a-z0-9-]*)")
_OF_ALL = ("value", "low", "high", "seeds")  # placeholders of every subject, with its name as prefix


def read_lessons(folder: Path = FOLDER, check_state: StateCheck = lambda page, state: ()) -> tuple[Lesson, ...]:
    """Read every lesson of a folder, in the order of the file names. Raises LessonError."""
    found: dict[str, Lesson] = {}
    for path in sorted(folder.glob("*.yaml")):
        lesson = read_lesson(path, check_state)
        if lesson.name in found:
            raise LessonError(f"{_short_path(path)}, line 1: another lesson has the same name.")
        found[lesson.name] = lesson
    return tuple(found.values())


def _short_path(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def read_lesson(path: Path, check_state: StateCheck = lambda page, state: ()) -> Lesson:
    """Read one lesson; `check_state` returns the errors in the state of a page. Raises LessonError."""
    named = _NAME.fullmatch(path.stem)
    if named is None:
        raise LessonError(f"{_short_path(path)}, line 1: a file name consists of small letters, digits and dashes.")
    whole = read_yaml(path, _short_path(path))
    parts = whole.mapping(("title", "about", "minutes", "steps"))
    steps = whole.require(parts, "steps").items()
    if not steps:
        raise parts["steps"].error("a lesson needs at least one step.")
    minutes = whole.require(parts, "minutes")
    if not 1 <= minutes.number() <= 120:
        raise minutes.error(f"minutes = {minutes.text()} is not possible. Give a number from 1 to 120.")
    return Lesson(
        named[2],
        whole.require(parts, "title").text(),
        whole.require(parts, "about").text(),
        round(minutes.number()),
        tuple(_step(each, check_state) for each in steps),
    )


def _step(part: Node, check_state: StateCheck) -> Step:
    parts = part.mapping(("title", "text", "page", "state", "predict", "measure", "expects", "why"))
    page = _page(part.require(parts, "page"))
    state = _state(parts.get("state"), page, check_state)
    question = _question(part.require(parts, "predict"))
    measurement = _measurement(part.require(parts, "measure"), question)
    return Step(
        part.require(parts, "title").text(),
        part.require(parts, "text").text(),
        page,
        state,
        question,
        measurement,
        _read_expectation(part.require(parts, "expects"), question),
        _explanation(part.require(parts, "why"), measurement),
        part.line,
    )


def _page(part: Node) -> str:
    known = [row.address for row in PAGES if row.address]
    if part.text() not in known:
        raise part.error(f"there is no page “{shorten(part.text())}”. There is {', '.join(known)}.")
    return part.text()


def _state(part: Node | None, page: str, check_state: StateCheck) -> dict[str, str]:
    if part is None:
        return {}
    parts = part.mapping()
    for name, value in parts.items():
        if said := check_state(page, {name: value.text()}):
            raise value.error(said[0])
    state = {name: value.text() for name, value in parts.items()}
    if said := check_state(page, state):
        raise part.error(said[0])
    return state


# ---- the prediction


def _question(part: Node) -> Question:
    parts = part.mapping(("question", "choices", "number"))
    text = part.require(parts, "question").text()
    if ("choices" in parts) == ("number" in parts):
        raise part.error("a prediction has either “choices” or a “number”.")
    if "number" in parts:
        return Question(text, scale=_scale(parts["number"]))
    choices = tuple(_choice(name, value) for name, value in parts["choices"].mapping().items())
    if not 2 <= len(choices) <= 6:
        raise parts["choices"].error(f"these are {len(choices)} choices. Give two to six.")
    return Question(text, choices)


def _choice(name: str, part: Node) -> Choice:
    if re.fullmatch(r"[a-z0-9_-]+", name) is None:
        raise part.error(
            f"“{shorten(name)}” is not possible as the name of a choice. Use small letters, digits, dashes "
            f"and underscores."
        )
    try:
        return Choice(name, part.text())
    except LessonError:
        parts = part.mapping(("text", "from", "below"))
    low, high = (parts[name].number() if name in parts else None for name in ("from", "below"))
    if low is not None and high is not None and low >= high:
        raise part.error(f"the range from {low:g} to below {high:g} is empty.")
    return Choice(name, part.require(parts, "text").text(), low, high)


def _scale(part: Node) -> Scale:
    parts = part.mapping(("low", "high", "step", "unit"))
    low, high, step = (part.require(parts, name).number() for name in ("low", "high", "step"))
    if not low < high:
        raise part.error(f"the range between {low:g} and {high:g} is empty.")
    if not 0 < step <= high - low:
        raise parts["step"].error(f"step = {step:g} is not possible between {low:g} and {high:g}.")
    return Scale(low, high, step, parts["unit"].text() if "unit" in parts else "")


def _read_expectation(part: Node, question: Question) -> str | tuple[float, float]:
    if question.scale is None:
        known = [each.name for each in question.choices]
        if part.text() not in known:
            raise part.error(f"there is no choice “{shorten(part.text())}”. There is {', '.join(known)}.")
        return part.text()
    parts = part.mapping(("from", "to"))
    low, high = (part.require(parts, name).number() for name in ("from", "to"))
    if not low <= high or not question.scale.low <= low <= question.scale.high:
        raise part.error(
            f"from {low:g} to {high:g} is not a range between {question.scale.low:g} and {question.scale.high:g}."
        )
    return low, high


# ---- the measurement


def _measurement(part: Node, question: Question) -> Measurement:
    parts = part.mapping()
    name = part.require(parts, "name")
    try:
        found = find_measure(name.text())
    except LineageError as error:
        raise name.error(str(error)) from None
    own = {key: value for key, value in parts.items() if key not in ("name", "of", "which", "times")}
    if "of" in parts:
        subjects = tuple(_subject(key, value, own, found, question) for key, value in parts["of"].mapping().items())
    else:
        subjects = (Subject("", "", _settings(part, own, found)),)
    if not subjects:
        raise parts["of"].error("name at least one to measure.")
    measurement = Measurement(
        found, subjects, _which(parts.get("which")), parts["times"].number() if "times" in parts else 1.0
    )
    _check_measurement(part, measurement, question)
    return measurement


def _which(part: Node | None) -> str:
    if part is not None and part.text() not in ("highest", "lowest"):
        raise part.error(f"“{shorten(part.text())}” is not possible. Give highest or lowest.")
    return part.text() if part else ""


def _subject(name: str, part: Node, shared: Mapping[str, Node], found: Measure, question: Question) -> Subject:
    own = part.mapping()
    titles = {each.name: each.text for each in question.choices}
    title = own.pop("title").text() if "title" in own else titles.get(name, name)
    return Subject(name, title, _settings(part, {**shared, **own}, found))


def _settings(part: Node, given: Mapping[str, Node], found: Measure) -> dict[str, object]:
    for name, value in given.items():  # one by one, so that the error names the line of the wrong one
        if name not in found.needs:
            raise value.error(
                f"“{found.name}” has no setting “{shorten(name)}”. Its settings are {', '.join(found.needs)}."
            )
    texts = {name: value.text() for name, value in given.items()}
    try:
        return found.parse_settings(texts)
    except LineageError as error:
        raise _node_of_error(part, given, str(error)).error(_with_suggestions(error)) from None


def _node_of_error(part: Node, given: Mapping[str, Node], message: str) -> Node:
    """Return the value that an error message quotes, or the whole measurement."""
    quoted = re.findall("“(.+?)”", message)
    return next((value for value in given.values() if any(each in value.text() for each in quoted)), part)


def _with_suggestions(error: LineageError) -> str:
    near = [word for words in getattr(error, "nearest", {}).values() for word in words]
    return f"{error} {', '.join(near)}.".strip() if near else str(error)


def _check_measurement(part: Node, measurement: Measurement, question: Question) -> None:
    """Raise LessonError unless the measure can answer the question."""
    names, subjects = {each.name for each in question.choices}, {each.name for each in measurement.subjects}
    if measurement.which:
        if names != subjects:
            raise part.error("“which” needs one choice for each subject in “of”, with the same name.")
        if measurement.measure.labels:
            raise part.error(
                f"“{measurement.measure.name}” gives a label, not a number, so no subject is highest or lowest."
            )
    elif measurement.measure.labels:
        if not set(measurement.measure.labels) <= names:
            raise part.error(
                f"“{measurement.measure.name}” gives the labels {', '.join(measurement.measure.labels)}: each "
                f"needs a choice with its name."
            )
    elif question.scale is None:
        _check_ranges(part, question)


def _check_ranges(part: Node, question: Question) -> None:
    """Raise LessonError unless the ranges of the choices cover every number exactly once."""
    if not all(each.has_range for each in question.choices):
        raise part.error("the measure is a number: give each choice “from”, “below” or both.")
    ranges = sorted(question.choices, key=lambda each: float("-inf") if each.low is None else each.low)
    edges = [(one.high, other.low) for one, other in pairwise(ranges)]
    if ranges[0].low is not None or ranges[-1].high is not None or any(one != other for one, other in edges):
        raise part.error("the choices leave a gap or overlap: each begins (“from”) where another ends (“below”).")


def _explanation(part: Node, measurement: Measurement) -> str:
    text = part.text()
    known = set(placeholder_names(measurement))
    try:
        named = [name for _, name, _, _ in string.Formatter().parse(text) if name is not None]
    except ValueError:
        raise part.error("this sentence has a single brace. Write {{ for a brace in the text.") from None
    for name in named:
        if name not in known:
            raise part.error(
                f"the placeholder {{{shorten(name)}}} is unknown. Possible ones are {', '.join(sorted(known))}."
            )
    return text


def placeholder_names(measurement: Measurement) -> tuple[str, ...]:
    """Return the names of the placeholders that an explanation may contain."""
    kinds = ("most", "share", "seeds") if measurement.measure.labels else _OF_ALL
    named = [f"{each.name}_{kind}" for each in measurement.subjects if each.name for kind in kinds]
    return (*kinds, *named)
