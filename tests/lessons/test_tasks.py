"""A task is checked with the settings of the visitor, and its own solution reaches the goal."""

from __future__ import annotations

import pytest

from explorer.errors import InvalidSetting, LineageError
from explorer.lessons.grading import check_task
from explorer.lessons.lesson import Lesson
from explorer.lessons.measures import measure
from explorer.lessons.parse import fill_settings, read_lessons

LESSONS = [lesson for lesson in read_lessons() if lesson.task and not lesson.task.measure.real_model]


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_a_task_is_not_done_at_first_and_its_solution_does_it(lesson: Lesson) -> None:
    task = lesson.task
    assert task is not None
    first = check_task(task, task.state, measure)
    assert not first.is_done and first.text.startswith("With your settings")
    assert check_task(task, {**task.state, **task.solution}, measure).is_done


def test_the_values_of_the_page_fill_the_settings() -> None:
    assert fill_settings({"gate": "$f", "run": "a-$b"}, {"f": "0.9", "b": "c"}) == {"gate": "0.9", "run": "a-c"}
    with pytest.raises(InvalidSetting, match="no “f” yet"):
        fill_settings({"gate": "$f"}, {})


def test_an_impossible_setting_of_a_visitor_is_an_error_in_words() -> None:
    task = next(lesson for lesson in LESSONS if lesson.name == "counting").task
    assert task is not None
    with pytest.raises(LineageError, match="protect"):
        check_task(task, {"say": "human protect nature"}, measure)


def test_the_missing_side_of_a_goal_is_named() -> None:
    task = next(lesson for lesson in LESSONS if lesson.name == "depth").task
    assert task is not None
    low = check_task(task, task.state, lambda name, settings: [0.01])
    assert low.text.endswith("The goal is at least 0.50 times.")
    high = check_task(task, task.state, lambda name, settings: [9.0, 9.0]).text
    assert high == "With your settings it is 9.00 times (the median over 2 seeds). The goal is less than 3.00 times."
