"""The lessons of this server, and the measured answer of a step as it travels to the browser."""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from itertools import pairwise

from explorer.errors import InvalidSetting, shortened
from explorer.lessons import reading
from explorer.lessons.answers import Answer, answer, measured_words, opinion, verdict
from explorer.lessons.lesson import Lesson, Question, Step
from explorer.ui import states


@lru_cache(maxsize=1)
def every() -> dict[str, Lesson]:
    """Every lesson by its name, checked to the last address. Raises LessonError."""
    return {lesson.name: lesson for lesson in reading.lessons(check_state=states.problems)}


def step_of(name: str, place: int) -> tuple[Lesson, Step]:
    """A step of a lesson, counted from 1. Raises InvalidSetting."""
    found = every().get(name)
    if found is None:
        raise InvalidSetting(f"There is no lesson “{shortened(name)}”. There is {', '.join(every())}.")
    if not 1 <= place <= len(found.steps):
        raise InvalidSetting(f"“{found.title}” has no step {place:,}. It has 1 to {len(found.steps)}.")
    return found, found.steps[place - 1]


def after(name: str) -> Lesson | None:
    """The lesson that follows one; None after the last."""
    found = list(every().values())
    return next((later for one, later in pairwise(found) if one.name == name), None)


def key_of(name: str, place: int) -> tuple[Hashable, ...]:
    """Under what the answer of a step is kept."""
    return ("lesson", name, place)


def measure(name: str, place: int) -> Answer:
    """The answer of a step, measured. It may take a moment: not for the page itself. Raises LineageError."""
    from explorer.lessons.measuring import measured

    return answer(step_of(name, place)[1], measured)


def asked(question: Question) -> dict[str, object]:
    """A question as the browser shows it."""
    scale = question.scale
    return {
        "text": question.text,
        "choices": [{"name": each.name, "text": each.text} for each in question.choices],
        "scale": {"low": scale.low, "high": scale.high, "step": scale.step, "unit": scale.unit} if scale else None,
    }


def revealed(step: Step, found: Answer, said: object | None, asked_them: bool = True) -> dict[str, object]:
    """The measured answer beside what somebody said, as the browser shows it; a teacher is not asked."""
    return {
        "verdict": verdict(step, found, said) if asked_them else measured_words(step, found),
        "opinion": opinion(step, found),
        "why": found.why,
        "right": list(found.right),
        "value": found.value,
        "over": step.asked.measure.over,
        "scale": asked(step.question)["scale"],
        "rows": [{"title": row.title, "values": list(row.values), "labels": list(row.labels)} for row in found.rows],
        "runs": list(found.runs),
    }
