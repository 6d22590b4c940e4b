"""The lessons, and what is measured in them: how an author checks a new one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

from explorer.commands.common import Json, say
from explorer.errors import InvalidSetting, shortened
from explorer.lessons.answers import Answer, answer, measured_words, opinion, shown
from explorer.lessons.lesson import Lesson, Step
from explorer.lessons.reading import lessons as every_lesson


def lessons(
    name: Annotated[str, typer.Argument(help="A lesson; without one all are listed.")] = "",
    as_json: Json = False,
) -> None:
    """The lessons; of one, every prediction with its measured answer beside what its author expects."""
    found = {lesson.name: lesson for lesson in every_lesson()}
    if not name:
        _list(found.values(), as_json)
        return
    if name not in found:
        raise InvalidSetting(f"There is no lesson “{shortened(name)}”. There is {', '.join(found)}.")
    from explorer.lessons.measuring import measured

    for place, step in enumerate(found[name].steps, start=1):
        _print(place, step, answer(step, measured), as_json)


def _list(found: Iterable[Lesson], as_json: bool) -> None:
    for lesson in found:
        if as_json:
            say({"kind": "lesson", "name": lesson.name, "title": lesson.title, "steps": len(lesson.steps)})
        else:
            print(f"{lesson.name:12} {len(lesson.steps)} steps, {lesson.minutes} minutes  {lesson.title}")


def _print(place: int, step: Step, found: Answer, as_json: bool) -> None:
    measured = {row.title or step.question.text: row.values or row.labels for row in found.rows}
    if as_json:
        say(
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
        values = ", ".join(row.labels or map(shown, row.values))
        print(f"   {row.title}: {values}" if row.title else f"   {values}")
    print(f"   {measured_words(step, found)}")
    print(f"   {opinion(step, found) or 'As the author expected.'}")
    print(f"   {found.why}")
