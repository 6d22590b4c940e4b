"""Read the lessons of `lessons/*.yaml` and check everything in them. Needs no torch."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

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
    Trial,
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
    values, nodes = _read(read_yaml(path, _short_path(path)), file_format.LESSON)
    if not (steps := nodes["steps"].items()):
        raise nodes["steps"].error("a lesson needs at least one step.")
    if not 1 <= values["minutes"] <= 120:
        raise nodes["minutes"].error(
            f"minutes = {nodes['minutes'].text()} is not possible. Give a number from 1 to 120."
        )
    values["minutes"] = round(values["minutes"])
    values["steps"] = tuple(_step(each, check_state) for each in steps)
    if "reason" in nodes:
        values["reason"] = _reason(nodes["reason"])
    if "task" in nodes:
        values["task"] = _task(nodes["task"], check_state)
    return Lesson(name=name, **values)


def _read(part: Node, form: file_format.Part) -> tuple[dict[str, Any], dict[str, Node]]:
    """Return the texts, numbers and lists of a mapping by their fields, and all of its values by their names.

    Raises LessonError for an unknown name, a missing required one, and a value of another kind.
    """
    nodes = part.mapping(None if form.others else form.names)
    for entry in form.entries:
        if entry.required and entry.name not in nodes:
            raise part.error(f"“{entry.name}” is missing.")
    plain = (entry for entry in form.entries if entry.name in nodes and entry.kind in _READ)
    return {entry.field: _READ[entry.kind](nodes[entry.name]) for entry in plain}, nodes


_READ: Mapping[str, Callable[[Node], Any]] = {  # the value of an entry, by its kind
    "text": Node.text,
    "highest or lowest": Node.text,
    "number": Node.number,
    "yes": lambda node: node.text() == "yes",
    "list of texts": lambda node: tuple(each.text() for each in node.items()),
}


def _reason(part: Node) -> Reason:
    values, nodes = _read(part, file_format.REASON)
    given = nodes["choices"].mapping().items()
    choices = tuple(Explanation(name, **_read(value, file_format.EXPLANATION)[0]) for name, value in given)
    if values["right"] not in [each.name for each in choices]:
        raise nodes["right"].error(f"there is no choice “{shorten(values['right'])}”.")
    return Reason(choices=choices, **values)


def _task(part: Node, check_state: StateCheck) -> Task:
    values, nodes = _read(part, file_format.TASK)
    _check_page(nodes)
    state = _state(nodes.get("state"), values["page"], check_state)
    solution = _state(nodes["solution"], values["page"], check_state)
    measured, given = _read(nodes["measure"], file_format.TASK_MEASURE)
    found = _measure(given["name"])
    own = {key: value for key, value in given.items() if key not in file_format.TASK_MEASURE.names}
    _settings(nodes["measure"], own, found, {**state, **solution})
    del measured["name"]
    return Task(
        state=state,
        solution=solution,
        measure=found,
        settings={key: value.text() for key, value in own.items()},
        goal=_goal(nodes["goal"], found),
        **measured,
        **values,
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
    values, nodes = _read(part, file_format.GOAL)
    if found.labels:
        if "is" not in nodes:
            raise part.error("“is” is missing.")
        if values["label"] not in found.labels:
            possible = ", ".join(found.labels)
            raise nodes["is"].error(f"“{shorten(values['label'])}” is not possible. Give one of {possible}.")
        return Goal(label=values["label"])
    values.pop("label", None)
    if not values:
        raise part.error("a goal has “from”, “below” or both.")
    return Goal(**values)


def _step(part: Node, check_state: StateCheck) -> Step:
    values, nodes = _read(part, file_format.STEP)
    _check_page(nodes)
    state = _state(nodes.get("state"), values["page"], check_state)
    question = _question(nodes["predict"])
    measurement = _measurement(nodes["measure"], question)
    _check_explanation(nodes["why"], measurement)
    return Step(
        line=part.line,
        state=state,
        before=_state(nodes.get("before"), values["page"], check_state, state),
        trial=_trial(nodes["try"], values["page"], state, check_state) if "try" in nodes else None,
        question=question,
        measurement=measurement,
        expects=_read_expectation(nodes["expects"], question),
        setup=_setup(nodes["setup"], state) if "setup" in nodes else Setup(),
        **values,
    )


def _trial(part: Node, page: str, state: Mapping[str, str], check_state: StateCheck) -> Trial:
    values, nodes = _read(part, file_format.TRY)
    if not {"has", "from", "below"} & set(nodes):
        raise part.error("it has “has”, “from”, “below” or both of these.")
    trial = Trial(**values)
    if problems := check_state(page, {**state, trial.setting: trial.example}):
        raise nodes["example"].error(problems[0])
    if trial.is_done(state.get(trial.setting, "")) or not trial.is_done(trial.example):
        raise part.error("the page of the step must not be as asked, and the example must be.")
    return trial


def _check_page(nodes: Mapping[str, Node]) -> None:
    """Raise LessonError for a page that does not exist, or an impossible name of a section."""
    known = [row.address for row in PAGES if row.address]
    if (page := nodes["page"]).text() not in known:
        raise page.error(f"there is no page “{shorten(page.text())}”. There is {', '.join(known)}.")
    for section in (nodes[name] for name in ("section", "figure") if name in nodes):
        if re.fullmatch(r"[a-z0-9-]+", section.text()) is None:
            raise section.error(f"“{shorten(section.text())}” is not possible as the name of a section.")


def _setup(part: Node, state: Mapping[str, str]) -> Setup:
    """Return the tokens that a step shows: written out, or the value of a field of the page's state."""
    values, nodes = _read(part, file_format.SETUP)
    text = values.get("tokens", "")
    if "state" in values:
        if values["state"] not in state:
            raise nodes["state"].error(f"the state of this step has no field “{shorten(values['state'])}”.")
        text = state[values["state"]]
    tokens = tuple(text) if values.get("letters") else tuple(text.split())
    marked = values.get("marked", "").split()
    for number in marked:
        if not number.isdecimal() or not 1 <= int(number) <= len(tokens):
            raise nodes["marked"].error(
                f"there is no token {shorten(number)}. There are {len(tokens)}, counted from 1."
            )
    return Setup(tokens, tuple(int(number) - 1 for number in marked), values.get("note", ""))


def _state(
    part: Node | None, page: str, check_state: StateCheck, others: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return settings of a page; they are checked together with the `others`."""
    if part is None:
        return {}
    state: dict[str, str] = {}
    for name, value in part.mapping().items():
        state[name] = value.text()
        if said := check_state(page, {**(others or {}), **state}):
            raise value.error(said[0])
    return state


# ---- the prediction


def _question(part: Node) -> Question:
    values, nodes = _read(part, file_format.PREDICTION)
    if ("choices" in nodes) == ("number" in nodes):
        raise part.error("a prediction has either “choices” or a “number”.")
    if "number" in nodes:
        return Question(scale=_scale(nodes["number"]), **values)
    choices = tuple(_choice(name, value) for name, value in nodes["choices"].mapping().items())
    if not 2 <= len(choices) <= 6:
        raise nodes["choices"].error(f"these are {len(choices)} choices. Give two to six.")
    return Question(choices=choices, **values)


def _choice(name: str, part: Node) -> Choice:
    if re.fullmatch(r"[a-z0-9_-]+", name) is None:
        raise part.error(
            f"“{shorten(name)}” is not possible as the name of a choice. Use small letters, digits, dashes "
            f"and underscores."
        )
    try:
        return Choice(name, part.text())
    except LessonError:
        choice = Choice(name, **_read(part, file_format.CHOICE)[0])
    _check_range(part, choice.low, choice.high)
    return choice


def _check_range(part: Node, low: float | None, high: float | None) -> None:
    if low is not None and high is not None and not low < high:
        raise part.error(f"the range between {low:g} and {high:g} is empty.")


def _scale(part: Node) -> Scale:
    values, nodes = _read(part, file_format.NUMBER)
    scale = Scale(**values)
    _check_range(part, scale.low, scale.high)
    if not 0 < scale.step <= scale.high - scale.low:
        raise nodes["step"].error(f"step = {scale.step:g} is not possible between {scale.low:g} and {scale.high:g}.")
    return scale


def _read_expectation(part: Node, question: Question) -> str | tuple[float, float]:
    scale = question.scale
    if scale is None:
        known = [each.name for each in question.choices]
        if part.text() not in known:
            raise part.error(f"there is no choice “{shorten(part.text())}”. There is {', '.join(known)}.")
        return part.text()
    values, _ = _read(part, file_format.EXPECTED_RANGE)
    low, high = values["low"], values["high"]
    if not low <= high or not scale.low <= low <= scale.high:
        raise part.error(f"from {low:g} to {high:g} is not a range between {scale.low:g} and {scale.high:g}.")
    return low, high


# ---- the measurement


def _measurement(part: Node, question: Question) -> Measurement:
    values, nodes = _read(part, file_format.MEASUREMENT)
    found = values["measure"] = _measure(nodes["name"])
    own = {key: value for key, value in nodes.items() if key not in file_format.MEASUREMENT.names}
    if "of" in nodes:
        subjects = tuple(_subject(key, value, own, found, question) for key, value in nodes["of"].mapping().items())
        if not subjects:
            raise nodes["of"].error("name at least one to measure.")
    else:
        subjects = (Subject(settings=_settings(part, own, found)),)
    if values.get("which") not in (None, "highest", "lowest"):
        raise nodes["which"].error(f"“{shorten(values['which'])}” is not possible. Give highest or lowest.")
    axis = _axis(nodes["axis"]) if "axis" in nodes else None
    measurement = Measurement(subjects=subjects, axis=axis, **values)
    _check_measurement(part, measurement, question)
    return measurement


def _measure(name: Node) -> Measure:
    try:
        return find_measure(name.text())
    except LineageError as error:
        raise name.error(str(error)) from None


def _axis(part: Node) -> Axis:
    axis = Axis(**_read(part, file_format.AXIS)[0])
    _check_range(part, axis.low, axis.high)
    if axis.powers and (axis.low is None or axis.high is None or axis.low <= 0):
        raise part.error("an axis by powers of ten needs “low” and “high”, both above 0.")
    return axis


def _subject(name: str, part: Node, shared: Mapping[str, Node], found: Measure, question: Question) -> Subject:
    values, own = _read(part, file_format.SUBJECT)
    own.pop("title", None)
    titles = {each.name: each.text for each in question.choices}
    title = values.get("title", titles.get(name, name))
    return Subject(name=name, title=title, settings=_settings(part, {**shared, **own}, found))


def _settings(
    part: Node, given: Mapping[str, Node], found: Measure, state: Mapping[str, str] | None = None
) -> dict[str, object]:
    """Return the settings of a measure; `state` fills those of a task, which may name fields of its page."""
    for name, value in given.items():  # one by one, so that the error names the line of the wrong one
        if name not in found.needs:
            raise value.error(
                f"“{found.name}” has no setting “{shorten(name)}”. Its settings are {', '.join(found.needs)}."
            )
    texts = {name: value.text() for name, value in given.items()}
    try:
        return found.parse_settings(texts if state is None else fill_settings(texts, state))
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
    if any(each.low is None and each.high is None for each in question.choices):
        raise part.error("the measure is a number: give each choice “from”, “below” or both.")
    ranges = sorted(question.choices, key=lambda each: float("-inf") if each.low is None else each.low)
    edges = [(one.high, other.low) for one, other in pairwise(ranges)]
    if ranges[0].low is not None or ranges[-1].high is not None or any(one != other for one, other in edges):
        raise part.error("the choices leave a gap or overlap: each begins (“from”) where another ends (“below”).")


def _check_explanation(part: Node, measurement: Measurement) -> None:
    known = set(placeholder_names(measurement))
    try:
        named = [name for _, name, _, _ in string.Formatter().parse(part.text()) if name is not None]
    except ValueError:
        raise part.error("this sentence has a single brace. Write {{ for a brace in the text.") from None
    for name in named:
        if name not in known:
            raise part.error(
                f"the placeholder {{{shorten(name)}}} is unknown. Possible ones are {', '.join(sorted(known))}."
            )


def placeholder_names(measurement: Measurement) -> tuple[str, ...]:
    """Return the names of the placeholders that an explanation may contain."""
    kinds = ("most", "share", "seeds") if measurement.measure.labels else _OF_ALL
    named = [f"{each.name}_{kind}" for each in measurement.subjects if each.name for kind in kinds]
    return (*kinds, *named)
