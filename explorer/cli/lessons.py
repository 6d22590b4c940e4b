"""The command `lessons`, with which authors check the measured answers of a lesson."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

from explorer.cli.common import Json, print_json
from explorer.errors import InvalidSetting, shorten
from explorer.lessons.grading import Answer, describe_measurement, describe_unexpected_answer, grade_step
from explorer.lessons.lesson import Lesson, Step
from explorer.lessons.parse import read_lessons as every_lesson
from explorer.number_format import format_rounded


def lessons(
    name: Annotated[str, typer.Argument(help="Name of a lesson. Without it, all lessons are listed.")] = "",
    as_json: Json = False,
) -> None:
    """List the lessons, or print the measured and the expected answer of every step of one lesson."""
    found = {lesson.name: lesson for lesson in every_lesson()}
    if not name:
        _print_lessons(found.values(), as_json)
        return
    if name not in found:
        raise InvalidSetting(f"There is no lesson “{shorten(name)}”. There is {', '.join(found)}.")
    from explorer.lessons.measure import measure

    for place, step in enumerate(found[name].steps, start=1):
        _print_step(place, step, grade_step(step, measure), as_json)


def _print_lessons(found: Iterable[Lesson], as_json: bool) -> None:
    for lesson in found:
        if as_json:
            print_json({"kind": "lesson", "name": lesson.name, "title": lesson.title, "steps": len(lesson.steps)})
        else:
            print(f"{lesson.name:12} {len(lesson.steps)} steps, {lesson.minutes} minutes  {lesson.title}")


def _print_step(place: int, step: Step, found: Answer, as_json: bool) -> None:
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
    print(f"   {describe_measurement(step, found)}")
    print(f"   {describe_unexpected_answer(step, found) or 'As the author expected.'}")
    print(f"   {found.why}")
