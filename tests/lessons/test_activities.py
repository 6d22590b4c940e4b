"""In every lesson students move controls of its pages, the program checks them, and no prediction takes an expert."""

from __future__ import annotations

import pytest

from explorer.lessons.lesson import Lesson, Step, Trial
from explorer.lessons.measures import MEASURES
from explorer.lessons.parse import read_lessons
from explorer.ui.state.page_states import state_kind, url_problems

LESSONS = pytest.mark.parametrize("lesson", read_lessons(), ids=lambda lesson: lesson.name)


def trials_of(lesson: Lesson) -> list[tuple[Step, Trial]]:
    return [(step, step.trial) for step in lesson.steps if step.trial]


@LESSONS
def test_in_two_steps_a_student_changes_the_page_and_the_page_begins_otherwise(lesson: Lesson) -> None:
    assert len(trials_of(lesson)) >= 2
    for step, trial in trials_of(lesson):
        begins = step.state.get(trial.setting, str(getattr(state_kind(step.page, step.state)(), trial.setting)))
        assert not trial.is_done(begins), f"{step.title}: the page begins with {trial.setting} = {begins}"
        assert trial.is_done(trial.example), step.title
        assert url_problems(step.page, {**step.state, trial.setting: trial.example}) == (), step.title


@LESSONS
def test_a_measure_checks_the_task_by_settings_of_the_page(lesson: Lesson) -> None:
    assert lesson.task and lesson.task.measure.name in MEASURES
    assert any("$" in value for value in lesson.task.settings.values())


@LESSONS
def test_a_number_to_predict_is_a_share_or_can_be_counted(lesson: Lesson) -> None:
    scales = [step.question.scale for step in lesson.steps if step.question.scale]
    assert {scale.unit for scale in scales} <= {"%", "seeds", "tokens", "letters", "characters", ""}


@LESSONS
def test_a_lesson_has_a_picture(lesson: Lesson) -> None:
    assert lesson.picture.startswith("M")


def test_a_trial_looks_for_whole_words_or_for_a_number() -> None:
    words = Trial(text="", setting="say", words="not bad", example="")
    assert [words.is_done(text) for text in ("It is Not bad.", "not badly", "bad")] == [True, False, False]
    number = Trial(text="", setting="t", low=0.5, high=2.0, example="")
    assert [number.is_done(text) for text in ("0.5", "2", "", "x")] == [True, False, False, False]
