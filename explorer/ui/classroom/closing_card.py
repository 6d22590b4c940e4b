"""The card after the last step of a lesson: recap, a question about the reason, and a task with a check."""

from __future__ import annotations

from typing import Any

import streamlit as st

from explorer.lessons.grading import TaskResult
from explorer.lessons.lesson import Lesson, Reason, Task
from explorer.ui.classroom.lesson_step import leave_lesson, open_step, setup_component
from explorer.ui.document import Document
from explorer.ui.page_sections import EXPLANATION
from explorer.ui.result_section import show
from explorer.ui.state.page_states import state_kind
from explorer.ui.state.session import page_url_params
from explorer.web import lesson_results
from explorer.web.background import Key
from explorer.web.call import Call

_CHECKED = "lineage.task"  # the lesson whose task this visitor has checked, and the state of the page then
_NO_SETUP: dict[str, Any] = {"tokens": [], "marked": [], "note": "", "networks": [], "axis": None, "edges": []}


def draw_closing_card(lesson: Lesson, page: str) -> None:
    """Draw the content of the card above the page of the task; the page below is open."""
    task = lesson.task
    name = f"step {lesson.name} {lesson.closing}" if not task or page == task.page else ""
    setup_component(data={"step": name, **_NO_SETUP}, key="lesson.setup")
    with st.container(width=EXPLANATION, key="lesson-closing"):
        st.markdown(f"#### What this lesson has shown\n\n{lesson.recap}")
        if lesson.reason:
            _draw_reason(lesson.name, lesson.reason)
        if task:
            st.markdown(f"#### Now change this yourself\n\n{task.text}")
        if task and page == task.page:
            _draw_task(lesson.name, task)
        elif task and st.button("Go to the page of this task", icon=":material/arrow_forward:", key="lesson.go"):
            open_step(lesson.name, lesson.closing)
    with st.container(horizontal=True):
        draw_next_lesson(lesson)
        if st.button("Previous step", icon=":material/arrow_back:", key="lesson.before"):
            open_step(lesson.name, len(lesson.steps))
    st.caption(sheet_links(lesson))


def draw_next_lesson(lesson: Lesson) -> None:
    """Draw the buttons after the last step: the next lesson, and all lessons."""
    following = lesson_results.next_lesson(lesson.name)
    if following and st.button(
        f"Next lesson: {following.title}", icon=":material/arrow_forward:", key="lesson.following"
    ):
        open_step(following.name, 1)
    if st.button("Back to all lessons", icon=":material/done_all:", key="lesson.done"):
        leave_lesson()


def sheet_links(lesson: Lesson) -> str:
    """Return the links to the printable sheet, for students and for teachers, as Markdown."""
    sheet = f"lesson-sheet/{lesson.name}"
    return f"Print: [sheet for students]({sheet}) · [with answers and notes]({sheet}?notes=1)"


def _draw_reason(name: str, reason: Reason) -> None:
    """Draw the question about the reason; each choice is explained as soon as it is chosen."""
    choices = {each.name: each for each in reason.choices}
    chosen = st.radio(
        f"**{reason.question}**",
        list(choices),
        format_func=lambda each: choices[each].text,
        index=None,
        key=f"lesson.reason.{name}",
    )
    if chosen:
        because = choices[chosen].because
        if chosen == reason.right:
            st.success(because, icon=":material/check_circle:")
        else:
            st.info(f"Not quite. {because}", icon=":material/info:")


def _draw_task(name: str, task: Task) -> None:
    state = _page_state(task.page)
    used = {field: state[field] for field in state if f"${field}" in " ".join(task.settings.values())}
    if st.button("Check what I have changed", icon=":material/check:", key="lesson.check"):
        st.session_state[_CHECKED] = name, used
    checked_name, checked = st.session_state.get(_CHECKED, ("", {}))
    if checked_name != name:
        return
    if checked != used:
        st.caption("The settings have changed since the last check.")
    call, waiting = _TaskCall(lesson_results.measure_task, name, checked), "Measuring with your settings …"
    pool = lesson_results.task_pool(task)
    show(f"lesson-task-{name}", call, task_view, task.done, waiting=waiting, height=60, pool=pool)


class _TaskCall(Call[TaskResult]):
    @property
    def key(self) -> Key:
        name, settings = self.arguments
        task = lesson_results.all_lessons()[name].task
        assert task is not None
        return lesson_results.task_key(task, name, settings)


def task_view(document: Document, result: TaskResult, done: str) -> None:
    """Write whether the task is done; `done` is what the lesson says then."""
    document.finding("Done." if result.is_done else "Not yet.")
    document.text(f"{result.text} {done}" if result.is_done else result.text)


def _page_state(page: str) -> dict[str, str]:
    """Return the fields of a page's state as texts: those of the URL, and the defaults of the others."""
    kind = state_kind(page, page_url_params())
    defaults = {field: value for field, value in vars(kind()).items() if isinstance(value, str | int | float)}
    return {field: str(value) for field, value in defaults.items()} | page_url_params()
