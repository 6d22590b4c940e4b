"""The lessons of this server, and the measured result of a lesson step as the data that the browser shows."""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from itertools import pairwise

from explorer.errors import InvalidSetting, shorten
from explorer.lessons import parse
from explorer.lessons.grading import (
    Answer,
    describe_measurement,
    describe_result,
    describe_unexpected_answer,
    grade_step,
)
from explorer.lessons.lesson import Lesson, Question, Step


@lru_cache(maxsize=1)
def all_lessons() -> dict[str, Lesson]:
    """Return every lesson by its name. Raises LessonError.

    The addresses in the lessons are checked once, when the server starts (see `app.py`).
    """
    return {lesson.name: lesson for lesson in parse.read_lessons()}


def find_step(name: str, number: int) -> tuple[Lesson, Step]:
    """Return a lesson and its step of this number, counted from 1. Raises InvalidSetting."""
    lesson = all_lessons().get(name)
    if lesson is None:
        raise InvalidSetting(f"There is no lesson “{shorten(name)}”. There is {', '.join(all_lessons())}.")
    if not 1 <= number <= len(lesson.steps):
        raise InvalidSetting(f"“{lesson.title}” has no step {number:,}. It has 1 to {len(lesson.steps)}.")
    return lesson, lesson.steps[number - 1]


def next_lesson(name: str) -> Lesson | None:
    """Return the lesson that follows this one, or None after the last."""
    lessons = list(all_lessons().values())
    return next((later for one, later in pairwise(lessons) if one.name == name), None)


def result_key(name: str, number: int) -> tuple[Hashable, ...]:
    """Return the key of a step's result for `background.submit`."""
    return ("lesson", name, number)


def measure_step(name: str, number: int) -> Answer:
    """Measure and return the answer of a step; slow, so call it through `background.submit`. Raises LineageError."""
    from explorer.lessons.measure import measure

    return grade_step(find_step(name, number)[1], measure)


def question_data(question: Question) -> dict[str, object]:
    """Return a question as the data that the browser shows."""
    scale = question.scale
    return {
        "text": question.text,
        "choices": [{"name": each.name, "text": each.text} for each in question.choices],
        "scale": {"low": scale.low, "high": scale.high, "step": scale.step, "unit": scale.unit} if scale else None,
    }


def result_data(
    step: Step, answer: Answer, prediction: object | None, with_prediction: bool = True
) -> dict[str, object]:
    """Return a measured answer, compared with a prediction, as the data that the browser shows.

    Without `with_prediction` (for a teacher) the text describes the measurement only.
    """
    return {
        "verdict": describe_result(step, answer, prediction) if with_prediction else describe_measurement(step, answer),
        "opinion": describe_unexpected_answer(step, answer),
        "why": answer.why,
        "right": list(answer.right),
        "value": answer.value,
        "over": step.measurement.measure.over,
        "scale": question_data(step.question)["scale"],
        "rows": [{"title": row.title, "values": list(row.values), "labels": list(row.labels)} for row in answer.rows],
        "runs": list(answer.runs),
    }
