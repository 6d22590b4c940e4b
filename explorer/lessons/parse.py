"""Read the lessons of `lessons/*.yaml` and check everything in them. Needs no torch."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from explorer.catalogue import PAGES
from explorer.errors import InvalidSetting, LineageError, shorten
from explorer.lessons import file_format
from explorer.lessons.lesson import (
    Axis,
    Choice,
    Explanation,
    Goal,
    Lesson,
    Measurement,
    Question,
    Reason,
    Scale,
    Setup,
    Step,
    Subject,
    Task,
)
from explorer.lessons.measure import Measure
from explorer.lessons.measures import find_measure
from explorer.lessons.yaml_lines import LessonError, Node, read_yaml
from explorer.program_files import LESSONS as FOLDER

# Returns the errors in the URL state of a page, one sentence each; the user interface knows the states.
StateCheck = Callable[[str, Mapping[str, str]], Sequence[str]]
_NAME = re.compile(r"(\d+-)?([a-z][a-z0-9-]*)")
_OF_ALL = ("value", "low", "high", "seeds")  # placeholders of every subject, with its name as prefix


def read_lessons(
    folder: Path = FOLDER, check_state: StateCheck = lambda page, state: (), new: Path | None = None
) -> tuple[Lesson, ...]:
    """Read every lesson of a folder, and one of another file (`new`) as if it were in the folder. Each stands behind
    those that it needs (`after`), otherwise in the order of the numbers of the files. Raises LessonError.
    """
    found: dict[str, Lesson] = {}
    paths: dict[str, str] = {}
    files = {path.resolve() for path in (*folder.glob("*.yaml"), *([new] if new else ()))}
    for path in sorted(files, key=_file_order):
        lesson = read_lesson(path, check_state)
        if lesson.name in found:
            raise LessonError(f"{_short_path(path)}, line 1: another lesson has the same name.")
        found[lesson.name], paths[lesson.name] = lesson, _short_path(path)
    ordered: dict[str, Lesson] = {}
    while len(ordered) < len(found):
        left = [lesson for lesson in found.values() if lesson.name not in ordered]
        ready = next((lesson for lesson in left if set(lesson.after) <= set(ordered)), None)
        if ready is None:
            raise LessonError(
                f"{paths[left[0].name]}, line 1: “after” names a lesson that does not exist or that needs this one: "
                f"{', '.join(left[0].after)}."
            )
        ordered[ready.name] = ready
    return tuple(ordered.values())


def _file_order(path: Path) -> tuple[int, str]:
    """Return the number of a file, then its name; files without a number are last."""
    number = path.name.partition("-")[0]
    return (int(number) if number.isdecimal() else 1_000_000, path.name)


def _short_path(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def lesson_name(path: Path) -> str:
    """Return the name of the lesson of a file, without the number. Raises LessonError."""
    named = _NAME.fullmatch(path.stem)
    if named is None:
        raise LessonError(f"{_short_path(path)}, line 1: a file name consists of small letters, digits and dashes.")
    return named[2]


def read_lesson(path: Path, check_state: StateCheck = lambda page, state: ()) -> Lesson:
    """Read one lesson; `check_state` returns the errors in the state of a page. Raises LessonError."""
    name = lesson_name(path)
    whole = read_yaml(path, _short_path(path))
    parts = _entries(whole, file_format.LESSON)
    steps = parts["steps"].items()
    if not steps:
        raise parts["steps"].error("a lesson needs at least one step.")
    minutes = parts["minutes"]
    if not 1 <= minutes.number() <= 120:
        raise minutes.error(f"minutes = {minutes.text()} is not possible. Give a number from 1 to 120.")
    return Lesson(
        name,
        parts["title"].text(),
        parts["about"].text(),
        round(minutes.number()),
        tuple(_step(each, check_state) for each in steps),
        _texts(parts.get("goals")),
        _texts(parts.get("after")),
        parts["recap"].text() if "recap" in parts else "",
        _reason(parts["reason"]) if "reason" in parts else None,
        _task(parts["task"], check_state) if "task" in parts else None,
        parts["notes"].text() if "notes" in parts else "",
    )


def _entries(part: Node, form: file_format.Part) -> dict[str, Node]:
    """Return the values of a mapping by name. Raises LessonError for an unknown name or a missing required one."""
    found = part.mapping(None if form.others else form.names)
    for entry in form.entries:
        if entry.required and entry.name not in found:
            raise part.error(f"“{entry.name}” is missing.")
    return found


def _texts(part: Node | None) -> tuple[str, ...]:
    return tuple(each.text() for each in part.items()) if part else ()


def _reason(part: Node) -> Reason:
    parts = _entries(part, file_format.REASON)
    choices = []
    for name, value in parts["choices"].mapping().items():
        fields = _entries(value, file_format.EXPLANATION)
        choices.append(Explanation(name, fields["text"].text(), fields["because"].text()))
    right = parts["right"]
    if right.text() not in [each.name for each in choices]:
        raise right.error(f"there is no choice “{shorten(right.text())}”.")
    return Reason(parts["question"].text(), tuple(choices), right.text())


def _task(part: Node, check_state: StateCheck) -> Task:
    parts = _entries(part, file_format.TASK)
    page = _page(parts["page"])
    state = _state(parts.get("state"), page, check_state)
    solution = _state(parts["solution"], page, check_state)
    measured = _entries(parts["measure"], file_format.TASK_MEASURE)
    name = measured["name"]
    try:
        found = find_measure(name.text())
    except LineageError as error:
        raise name.error(str(error)) from None
    own = {key: value for key, value in measured.items() if key not in file_format.TASK_MEASURE.names}
    settings = {key: value.text() for key, value in own.items()}
    try:
        found.parse_settings(fill_settings(settings, {**state, **solution}))
    except LineageError as error:
        raise _node_of_error(parts["measure"], own, str(error)).error(_with_suggestions(error)) from None
    return Task(
        parts["text"].text(),
        page,
        state,
        _section(parts.get("section")),
        found,
        settings,
        measured["times"].number() if "times" in measured else 1.0,
        measured["unit"].text() if "unit" in measured else "",
        _goal(parts["goal"], found),
        solution,
        parts["done"].text(),
    )


def fill_settings(settings: Mapping[str, str], state: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a task's measure with the values of the page's state. Raises InvalidSetting."""
    filled = {}
    for name, text in settings.items():
        fields = re.findall(r"\$(\w+)", text)
        for each in fields:
            if each not in state:
                raise InvalidSetting(f"The page has no “{each}” yet. Choose one there first.")
            text = text.replace(f"${each}", state[each])
        filled[name] = text
    return filled


def _goal(part: Node, found: Measure) -> Goal:
    parts = _entries(part, file_format.GOAL)
    if found.labels:
        if "is" not in parts:
            raise part.error("“is” is missing.")
        label = parts["is"]
        if label.text() not in found.labels:
            raise label.error(f"“{shorten(label.text())}” is not possible. Give one of {', '.join(found.labels)}.")
        return Goal(label=label.text())
    low, high = (parts[name].number() if name in parts else None for name in ("from", "below"))
    if low is None and high is None:
        raise part.error("a goal has “from”, “below” or both.")
    return Goal(low, high)


def _step(part: Node, check_state: StateCheck) -> Step:
    parts = _entries(part, file_format.STEP)
    page = _page(parts["page"])
    state = _state(parts.get("state"), page, check_state)
    question = _question(parts["predict"])
    measurement = _measurement(parts["measure"], question)
    return Step(
        parts["title"].text(),
        parts["text"].text(),
        page,
        state,
        question,
        measurement,
        _read_expectation(parts["expects"], question),
        _explanation(parts["why"], measurement),
        part.line,
        _section(parts.get("section")),
        _setup(parts["setup"], state) if "setup" in parts else Setup(),
        parts["notes"].text() if "notes" in parts else "",
    )


def _section(part: Node | None) -> str:
    if part is not None and re.fullmatch(r"[a-z0-9-]+", part.text()) is None:
        raise part.error(f"“{shorten(part.text())}” is not possible as the name of a section.")
    return part.text() if part else ""


def _setup(part: Node, state: Mapping[str, str]) -> Setup:
    """Return the tokens that a step shows: written out, or the value of a field of the page's state."""
    parts = _entries(part, file_format.SETUP)
    if "state" in parts and parts["state"].text() not in state:
        raise parts["state"].error(f"the state of this step has no field “{shorten(parts['state'].text())}”.")
    text = state[parts["state"].text()] if "state" in parts else parts["tokens"].text() if "tokens" in parts else ""
    tokens = tuple(text) if "letters" in parts and parts["letters"].text() == "yes" else tuple(text.split())
    marked = []
    for number in parts["marked"].text().split() if "marked" in parts else ():
        if not number.isdecimal() or not 1 <= int(number) <= len(tokens):
            raise parts["marked"].error(
                f"there is no token {shorten(number)}. There are {len(tokens)}, counted from 1."
            )
        marked.append(int(number) - 1)
    return Setup(tokens, tuple(marked), parts["note"].text() if "note" in parts else "")


def _page(part: Node) -> str:
    known = [row.address for row in PAGES if row.address]
    if part.text() not in known:
        raise part.error(f"there is no page “{shorten(part.text())}”. There is {', '.join(known)}.")
    return part.text()


def _state(part: Node | None, page: str, check_state: StateCheck) -> dict[str, str]:
    if part is None:
        return {}
    state: dict[str, str] = {}
    for name, value in part.mapping().items():
        state[name] = value.text()
        if said := check_state(page, state):
            raise value.error(said[0])
    return state


# ---- the prediction


def _question(part: Node) -> Question:
    parts = _entries(part, file_format.PREDICTION)
    text = parts["question"].text()
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
        parts = _entries(part, file_format.CHOICE)
    low, high = (parts[name].number() if name in parts else None for name in ("from", "below"))
    if low is not None and high is not None and low >= high:
        raise part.error(f"the range from {low:g} to below {high:g} is empty.")
    return Choice(name, parts["text"].text(), low, high)


def _scale(part: Node) -> Scale:
    parts = _entries(part, file_format.NUMBER)
    low, high, step = (parts[name].number() for name in ("low", "high", "step"))
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
    parts = _entries(part, file_format.EXPECTED_RANGE)
    low, high = (parts[name].number() for name in ("from", "to"))
    if not low <= high or not question.scale.low <= low <= question.scale.high:
        raise part.error(
            f"from {low:g} to {high:g} is not a range between {question.scale.low:g} and {question.scale.high:g}."
        )
    return low, high


# ---- the measurement


def _measurement(part: Node, question: Question) -> Measurement:
    parts = _entries(part, file_format.MEASUREMENT)
    name = parts["name"]
    try:
        found = find_measure(name.text())
    except LineageError as error:
        raise name.error(str(error)) from None
    own = {key: value for key, value in parts.items() if key not in file_format.MEASUREMENT.names}
    if "of" in parts:
        subjects = tuple(_subject(key, value, own, found, question) for key, value in parts["of"].mapping().items())
    else:
        subjects = (Subject("", "", _settings(part, own, found)),)
    if not subjects:
        raise parts["of"].error("name at least one to measure.")
    measurement = Measurement(
        found,
        subjects,
        _which(parts.get("which")),
        parts["times"].number() if "times" in parts else 1.0,
        _axis(parts["axis"]) if "axis" in parts else None,
    )
    _check_measurement(part, measurement, question)
    return measurement


def _axis(part: Node) -> Axis:
    parts = _entries(part, file_format.AXIS)
    low, high = (parts[name].number() if name in parts else None for name in ("low", "high"))
    powers = "powers" in parts and parts["powers"].text() == "yes"
    if low is not None and high is not None and not low < high:
        raise part.error(f"the range between {low:g} and {high:g} is empty.")
    if powers and (low is None or high is None or low <= 0):
        raise part.error("an axis by powers of ten needs “low” and “high”, both above 0.")
    return Axis(low, high, parts["unit"].text() if "unit" in parts else "", powers)


def _which(part: Node | None) -> str:
    if part is not None and part.text() not in ("highest", "lowest"):
        raise part.error(f"“{shorten(part.text())}” is not possible. Give highest or lowest.")
    return part.text() if part else ""


def _subject(name: str, part: Node, shared: Mapping[str, Node], found: Measure, question: Question) -> Subject:
    own = _entries(part, file_format.SUBJECT)
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
