"""From the files of `lessons/` to lessons. All is checked here, so that nothing fails in class. Needs no torch."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from explorer.catalogue import PAGES
from explorer.errors import LineageError, shortened
from explorer.lessons.lesson import Asked, Choice, Lesson, Question, Scale, Step, Subject
from explorer.lessons.parts import LessonError, Part, opened
from explorer.lessons.registry import Measure, measure

FOLDER = Path(__file__).parents[2] / "lessons"
# What is wrong with the address of a page, one sentence each; the state is in the hands of the user interface.
StateCheck = Callable[[str, Mapping[str, str]], Sequence[str]]
_NAME = re.compile(r"(\d+-)?([a-z][a-z0-9-]*)")
_OF_ALL = ("value", "low", "high", "seeds")  # what a sentence may name, of every subject with its name before


def lessons(folder: Path = FOLDER, check_state: StateCheck = lambda page, state: ()) -> tuple[Lesson, ...]:
    """Every lesson, in the order of the files' names. Raises LessonError."""
    found: dict[str, Lesson] = {}
    for path in sorted(folder.glob("*.yaml")):
        lesson = read(path, check_state)
        if lesson.name in found:
            raise LessonError(f"{_shown(path)}, line 1: there is another lesson of this name.")
        found[lesson.name] = lesson
    return tuple(found.values())


def _shown(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def read(path: Path, check_state: StateCheck = lambda page, state: ()) -> Lesson:
    """One lesson. `check_state` says what is wrong with the state of a page. Raises LessonError."""
    named = _NAME.fullmatch(path.stem)
    if named is None:
        raise LessonError(f"{_shown(path)}, line 1: a file's name is small letters, digits and dashes.")
    whole = opened(path, _shown(path))
    parts = whole.mapping(("title", "about", "minutes", "steps"))
    steps = whole.needed(parts, "steps").items()
    if not steps:
        raise parts["steps"].error("a lesson has at least one step.")
    minutes = whole.needed(parts, "minutes")
    if not 1 <= minutes.number() <= 120:
        raise minutes.error(f"minutes = {minutes.text()} is not possible. Give a number from 1 to 120.")
    return Lesson(
        named[2],
        whole.needed(parts, "title").text(),
        whole.needed(parts, "about").text(),
        round(minutes.number()),
        tuple(_step(each, check_state) for each in steps),
    )


def _step(part: Part, check_state: StateCheck) -> Step:
    parts = part.mapping(("title", "text", "page", "state", "predict", "measure", "expects", "why"))
    page = _page(part.needed(parts, "page"))
    state = _state(parts.get("state"), page, check_state)
    question = _question(part.needed(parts, "predict"))
    asked = _asked(part.needed(parts, "measure"), question)
    return Step(
        part.needed(parts, "title").text(),
        part.needed(parts, "text").text(),
        page,
        state,
        question,
        asked,
        _expected(part.needed(parts, "expects"), question),
        _why(part.needed(parts, "why"), asked),
        part.line,
    )


def _page(part: Part) -> str:
    known = [row.address for row in PAGES if row.address]
    if part.text() not in known:
        raise part.error(f"there is no page “{shortened(part.text())}”. There is {', '.join(known)}.")
    return part.text()


def _state(part: Part | None, page: str, check_state: StateCheck) -> dict[str, str]:
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


def _question(part: Part) -> Question:
    parts = part.mapping(("question", "choices", "number"))
    text = part.needed(parts, "question").text()
    if ("choices" in parts) == ("number" in parts):
        raise part.error("a prediction has either “choices” or a “number”.")
    if "number" in parts:
        return Question(text, scale=_scale(parts["number"]))
    choices = tuple(_choice(name, value) for name, value in parts["choices"].mapping().items())
    if not 2 <= len(choices) <= 6:
        raise parts["choices"].error(f"these are {len(choices)} choices. Give two to six.")
    return Question(text, choices)


def _choice(name: str, part: Part) -> Choice:
    if re.fullmatch(r"[a-z0-9_-]+", name) is None:
        raise part.error(f"“{shortened(name)}” is no name for a choice: small letters, digits and dashes are.")
    try:
        return Choice(name, part.text())
    except LessonError:
        parts = part.mapping(("text", "from", "below"))
    low, high = (parts[name].number() if name in parts else None for name in ("from", "below"))
    if low is not None and high is not None and low >= high:
        raise part.error(f"nothing lies from {low:g} to below {high:g}.")
    return Choice(name, part.needed(parts, "text").text(), low, high)


def _scale(part: Part) -> Scale:
    parts = part.mapping(("low", "high", "step", "unit"))
    low, high, step = (part.needed(parts, name).number() for name in ("low", "high", "step"))
    if not low < high:
        raise part.error(f"nothing lies between {low:g} and {high:g}.")
    if not 0 < step <= high - low:
        raise parts["step"].error(f"step = {step:g} is not possible between {low:g} and {high:g}.")
    return Scale(low, high, step, parts["unit"].text() if "unit" in parts else "")


def _expected(part: Part, question: Question) -> str | tuple[float, float]:
    if question.scale is None:
        known = [each.name for each in question.choices]
        if part.text() not in known:
            raise part.error(f"there is no choice “{shortened(part.text())}”. There is {', '.join(known)}.")
        return part.text()
    parts = part.mapping(("from", "to"))
    low, high = (part.needed(parts, name).number() for name in ("from", "to"))
    if not low <= high or not question.scale.low <= low <= question.scale.high:
        raise part.error(
            f"from {low:g} to {high:g} is no range between {question.scale.low:g} and {question.scale.high:g}."
        )
    return low, high


# ---- the measurement


def _asked(part: Part, question: Question) -> Asked:
    parts = part.mapping()
    name = part.needed(parts, "name")
    try:
        found = measure(name.text())
    except LineageError as error:
        raise name.error(str(error)) from None
    own = {key: value for key, value in parts.items() if key not in ("name", "of", "which", "times")}
    if "of" in parts:
        subjects = tuple(_subject(key, value, own, found, question) for key, value in parts["of"].mapping().items())
    else:
        subjects = (Subject("", "", _settings(part, own, found)),)
    if not subjects:
        raise parts["of"].error("name at least one to measure.")
    asked = Asked(found, subjects, _which(parts.get("which")), parts["times"].number() if "times" in parts else 1.0)
    _fits(part, asked, question)
    return asked


def _which(part: Part | None) -> str:
    if part is not None and part.text() not in ("highest", "lowest"):
        raise part.error(f"“{shortened(part.text())}” is not possible. Give highest or lowest.")
    return part.text() if part else ""


def _subject(name: str, part: Part, shared: Mapping[str, Part], found: Measure, question: Question) -> Subject:
    own = part.mapping()
    titles = {each.name: each.text for each in question.choices}
    title = own.pop("title").text() if "title" in own else titles.get(name, name)
    return Subject(name, title, _settings(part, {**shared, **own}, found))


def _settings(part: Part, given: Mapping[str, Part], found: Measure) -> dict[str, object]:
    for name, value in given.items():  # one by one, for the line of the one that is wrong
        if name not in found.needs:
            raise value.error(f"“{found.name}” has no “{shortened(name)}”. It has {', '.join(found.needs)}.")
    texts = {name: value.text() for name, value in given.items()}
    try:
        return found.read(texts)
    except LineageError as error:
        raise _guilty(part, given, str(error)).error(_with_near_words(error)) from None


def _guilty(part: Part, given: Mapping[str, Part], message: str) -> Part:
    """The value that a message quotes, or the whole."""
    quoted = re.findall("“(.+?)”", message)
    return next((value for value in given.values() if any(each in value.text() for each in quoted)), part)


def _with_near_words(error: LineageError) -> str:
    near = [word for words in getattr(error, "nearest", {}).values() for word in words]
    return f"{error} {', '.join(near)}.".strip() if near else str(error)


def _fits(part: Part, asked: Asked, question: Question) -> None:
    """Whether what is measured can answer what is asked. Raises LessonError."""
    names, subjects = {each.name for each in question.choices}, {each.name for each in asked.subjects}
    if asked.which:
        if names != subjects:
            raise part.error("“which” needs one choice for each of those in “of”, of the same name.")
        if asked.measure.labels:
            raise part.error(f"“{asked.measure.name}” answers with a word: nothing of it is highest or lowest.")
    elif asked.measure.labels:
        if not set(asked.measure.labels) <= names:
            raise part.error(f"“{asked.measure.name}” answers {', '.join(asked.measure.labels)}: name these choices.")
    elif question.scale is None:
        _banded(part, question)


def _banded(part: Part, question: Question) -> None:
    """Every number must have its choice, and only one."""
    if not all(each.banded for each in question.choices):
        raise part.error("what is measured is a number: give each choice “from”, “below” or both.")
    bands = sorted(question.choices, key=lambda each: float("-inf") if each.low is None else each.low)
    edges = [(one.high, other.low) for one, other in pairwise(bands)]
    if bands[0].low is not None or bands[-1].high is not None or any(one != other for one, other in edges):
        raise part.error("the choices leave a gap or overlap: each begins (“from”) where another ends (“below”).")


def _why(part: Part, asked: Asked) -> str:
    text = part.text()
    known = set(names_of(asked))
    try:
        named = [name for _, name, _, _ in string.Formatter().parse(text) if name is not None]
    except ValueError:
        raise part.error("a brace stands alone in this sentence. Write {{ for one that is meant.") from None
    for name in named:
        if name not in known:
            raise part.error(f"there is no number {{{shortened(name)}}}. There is {', '.join(sorted(known))}.")
    return text


def names_of(asked: Asked) -> tuple[str, ...]:
    """The numbers that a sentence about a measurement may name."""
    kinds = ("most", "share", "seeds") if asked.measure.labels else _OF_ALL
    named = [f"{each.name}_{kind}" for each in asked.subjects if each.name for kind in kinds]
    return (*kinds, *named)
