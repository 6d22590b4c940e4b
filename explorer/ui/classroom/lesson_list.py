"""The list of all lessons: a card for each, with what this visitor has done of it."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from explorer.lessons.lesson import Lesson
from explorer.ui.classroom import lesson_card
from explorer.ui.classroom.lesson_step import open_step
from explorer.ui.components.base import event_callbacks, pop_event, register
from explorer.ui.page_sections import escape_markdown
from explorer.web import lesson_results

_progress = register("lesson_progress")


def draw_lesson_list() -> None:
    """Draw the lessons in their order; those that only measure real models are folded below the others."""
    lessons = list(enumerate(lesson_results.all_lessons().values(), start=1))
    _draw_rows([(number, lesson) for number, lesson in lessons if not lesson.needs_real_model])
    with st.expander("Lessons with a real pretrained model"):
        _draw_rows([(number, lesson) for number, lesson in lessons if lesson.needs_real_model])


def _draw_rows(lessons: Sequence[tuple[int, Lesson]]) -> None:
    """Draw numbered lessons, two in a row; a row is a slide of presentation mode."""
    for start in range(0, len(lessons), 2):
        with st.container(key=f"whole-lessons-{lessons[start][0]}"):
            columns = st.columns(2)
        for column, (number, lesson) in zip(columns, lessons[start : start + 2], strict=False):
            with column:
                _draw_lesson(number, lesson)


def _draw_lesson(number: int, lesson: Lesson) -> None:
    """Draw the card of a lesson: what it is about, its goals, what it needs, and what of it is done."""
    key = f"lessons.progress.{lesson.name}"
    with st.container(border=True, height="stretch", gap="small"):
        goals = "; ".join(f"{goal[0].lower()}{goal[1:].removesuffix('.')}" for goal in lesson.goals)
        st.markdown(f"#### {number}. {lesson.title}\n\n{lesson.about}")
        st.caption(f"Goals: {goals}. {_describe_extent(lesson)} {lesson_card.sheet_links(lesson)}")
        with st.container(horizontal=True, vertical_alignment="center"):
            is_usable = not all(map(lesson_results.missing_model, lesson.steps))
            key_of_start = f"lessons.start.{lesson.name}"
            if st.button(
                "Start", icon=":material/play_arrow:", key=key_of_start, help=lesson.title, disabled=not is_usable
            ):
                open_step(lesson.name, 1)
            with st.container(width=300):
                data = {"lesson": lesson.name, "steps": len(lesson.steps)}
                _progress(data=data, key=key, **event_callbacks(key, "continue"))
        if real_models := lesson_results.describe_real_models(lesson):
            st.caption(escape_markdown(real_models))
    step = pop_event(key, "continue")
    if isinstance(step, int) and 1 <= step <= len(lesson.steps):
        open_step(lesson.name, step)


def _describe_extent(lesson: Lesson) -> str:
    needs = " and ".join(f"“{lesson_results.all_lessons()[name].title}”" for name in lesson.after)
    before = f"First do {needs}. " if needs else ""
    task = " and a task" * bool(lesson.task)
    return f"{before}{len(lesson.steps)} predictions{task}, about {lesson.minutes} minutes."
