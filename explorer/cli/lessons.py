"""The command `lessons`, with which authors check the measured answers of a lesson."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from explorer.cli import completion
from explorer.cli.common import Json, argument, flag
from explorer.cli.program import print_json
from explorer.cli.tables import print_wrapped
from explorer.errors import InvalidSetting, shorten
from explorer.lessons import grading, parse
from explorer.lessons import measures as all_measures
from explorer.number_format import format_rounded

if TYPE_CHECKING:
    from explorer.lessons.lesson import Lesson, Step
    from explorer.lessons.measure import Setting


def lessons(
    name: Annotated[
        str,
        argument(
            "LESSON",
            "Name of a lesson, or a file (.yaml) with a new one. Without it, all lessons are listed.",
            completion.lessons,
        ),
    ] = "",
    measures: Annotated[
        bool, flag("--measures", "List the measures that a lesson can use, with their settings.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List the lessons, or measure the answers of one lesson.

    For every step of a lesson, print the measured answer, the one that its author expected, and why. The lessons are
    checked first, as the server checks them when it starts.
    """
    if measures:
        if name:
            raise InvalidSetting("--measures lists the measures of all lessons. Leave the name of the lesson out.")
        _print_measures(as_json)
        return
    from explorer.ui.state.page_states import url_problems

    file = _lesson_file(name)
    found = {lesson.name: lesson for lesson in parse.read_lessons(check_state=url_problems, new=file)}
    name = parse.lesson_name(file) if file else name
    if not name:
        _print_lessons(found.values(), as_json)
        return
    if name not in found:
        raise InvalidSetting(f"There is no lesson “{shorten(name)}”. There is {', '.join(found)}.")
    for place, step in enumerate(found[name].steps, start=1):
        _print_step(place, step, grading.grade_step(step, all_measures.measure), as_json)


def _lesson_file(name: str) -> Path | None:
    path = Path(name)
    if not path.suffix and len(path.parts) < 2:
        return None
    if path.suffix != ".yaml" or not path.is_file():
        raise InvalidSetting(f"There is no lesson file {path}. Give the path of a .yaml file, or the name of a lesson.")
    return path


def _print_measures(as_json: bool) -> None:
    for each in all_measures.MEASURES.values():
        if as_json:
            print_json(
                {
                    "kind": "measure",
                    "name": each.name,
                    "about": each.about,
                    "tasks": list(each.tasks),
                    "settings": {name: _as_data(setting) for name, setting in each.needs.items()},
                    "answers": list(each.labels),
                }
            )
            continue
        print(each.name)
        print_wrapped(each.about, "    ")
        for name, setting in each.needs.items():
            print_wrapped(f"{name}: {setting.describe()}", "      ")
        if each.labels:
            print_wrapped(f"answers: {', '.join(each.labels)}", "      ")
        if each.tasks and "run" in each.needs:
            print_wrapped(f"runs of: {', '.join(each.tasks)}", "      ")


def _as_data(setting: Setting) -> dict[str, Any]:
    limits: dict[str, Any] = {} if setting.kind is str else {"low": setting.low, "high": setting.high}
    if setting.choices:
        limits["choices"] = list(setting.choices)
    return {"type": setting.type_name, **limits, "default": setting.default}


def _print_lessons(found: Iterable[Lesson], as_json: bool) -> None:
    for lesson in found:
        if as_json:
            print_json({"kind": "lesson", "name": lesson.name, "title": lesson.title, "steps": len(lesson.steps)})
        else:
            print(f"{lesson.name:12} {len(lesson.steps)} steps, {lesson.minutes} minutes  {lesson.title}")


def _print_step(place: int, step: Step, found: grading.Answer, as_json: bool) -> None:
    measured = {row.title or step.question.text: row.values or row.labels for row in found.rows}
    if as_json:
        print_json(
            {
                "kind": "step",
                "step": place,
                "question": step.question.text,
                "measured": {title: list(values) for title, values in measured.items()},
                "right": list(found.right) or found.value,
                "expects": step.expects,
                "agrees": found.agrees,
                "why": found.why,
                "runs": list(found.runs),
            }
        )
        return
    print(f"{place}. {step.title}: {step.question.text}")
    for row in found.rows:
        values = ", ".join(row.labels or map(format_rounded, row.values))
        print(f"   {row.title}: {values}" if row.title else f"   {values}")
    print(f"   {grading.describe_measurement(step, found)}")
    print(f"   {grading.describe_unexpected_answer(step, found) or 'As the author expected.'}")
    print(f"   {found.why}")
