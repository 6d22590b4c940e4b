"""The list of all lessons, and the card of one above its page, from text and prediction to the task in the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import streamlit as st

from explorer.errors import InvalidSetting, LineageError
from explorer.lessons.grading import Answer, TaskResult
from explorer.lessons.lesson import Lesson, Reason, Task
from explorer.ui.classroom import classroom_card
from explorer.ui.classroom.lesson_step import draw_step_setup, draw_step_text, leave_lesson, open_step, setup_component
from explorer.ui.components.base import event_callbacks, pop_event, register
from explorer.ui.document import Document
from explorer.ui.glossary import mark_terms
from explorer.ui.page_sections import EXPLANATION, caption, escape_markdown, explanation, show_problems
from explorer.ui.result_section import show
from explorer.ui.state.page_states import state_kind
from explorer.ui.state.session import page_url_params, shared_url_params
from explorer.ui.state.visitor import current_visitor
from explorer.web import lesson_results, predictions
from explorer.web.call import KeyedCall

_progress = register("lesson_progress")
_CHECKED = "lineage.task"  # the lesson whose task this visitor has checked, and the state of the page then
_NO_SETUP: dict[str, Any] = {"tokens": [], "marked": [], "note": "", "networks": [], "axis": None, "edges": []}


def draw_closing_card(lesson: Lesson, page: str) -> None:
    """Draw the content of the card above the page of the task; the page below is open."""
    task = lesson.task
    name = f"step {lesson.name} {lesson.closing}" if not task or page == task.page else ""
    setup_component(data={"step": name, **_NO_SETUP}, key="lesson.setup")
    with st.container(width=EXPLANATION, key="lesson-closing"):
        st.markdown(mark_terms(f"#### What this lesson has shown\n\n{lesson.recap}"))
        if lesson.reason:
            _draw_reason(lesson.name, lesson.reason)
        if task:
            st.markdown(mark_terms(f"#### Now change this yourself\n\n{task.text}"))
        if task and page == task.page:
            _draw_task(lesson.name, task)
        elif task and st.button("Go to the page of this task", icon=":material/arrow_forward:", key="lesson.go"):
            open_step(lesson.name, lesson.closing)
    with st.container(horizontal=True):
        draw_next_lesson(lesson)
        if st.button("Previous step", icon=":material/arrow_back:", key="lesson.before"):
            open_step(lesson.name, len(lesson.steps))
    caption(sheet_links(lesson))


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
        because = mark_terms(choices[chosen].because)
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
        caption("The settings have changed since the last check.")
    key, pool = lesson_results.task_key(task, name, checked), lesson_results.task_pool(task)
    call, waiting = KeyedCall(key, lesson_results.measure_task, name, checked), "Measuring with your settings …"
    show(f"lesson-task-{name}", call, task_view, task.done, waiting=waiting, height=60, pool=pool)


def task_view(document: Document, result: TaskResult, done: str) -> None:
    """Write whether the task is done; `done` is what the lesson says then."""
    document.finding("Done." if result.is_done else "Not yet.")
    document.text(f"{result.text} {done}" if result.is_done else result.text)


def _page_state(page: str) -> dict[str, str]:
    """Return the fields of a page's state as texts: those of the URL, and the defaults of the others."""
    kind = state_kind(page, page_url_params())
    defaults = {field: value for field, value in vars(kind()).items() if isinstance(value, str | int | float)}
    return {field: str(value) for field, value in defaults.items()} | page_url_params()


# ---- a step


ANSWER_HEIGHT = 250  # pixels reserved for the result while it is measured


def current_lesson_step() -> tuple[Lesson, int] | None:
    """Return the lesson and the step number that the URL names; show a warning if they are invalid."""
    params = shared_url_params()
    if "lesson" not in params:
        return None
    try:
        number = params.get("part", "1")
        if not number.isdecimal() or len(number) > 4:
            raise InvalidSetting("The step of a lesson is a whole number from 1 on; the lesson was left out.")
        lesson_results.find_part(params["lesson"], int(number))
        return lesson_results.all_lessons()[params["lesson"]], int(number)
    except LineageError as error:
        show_problems([str(error)])
        return None


def draw_lesson_card(lesson: Lesson, number: int, page: str) -> bool:
    """Draw the card; return whether the page may be shown, which would reveal the answer before the prediction."""
    if number == lesson.closing:
        with st.container(border=True, key="lesson-card"):
            _draw_header(lesson, number, True)
            draw_closing_card(lesson, page)
        return True
    step = lesson.steps[number - 1]
    visitor_id = current_visitor().id
    prediction = predictions.find_prediction(visitor_id, lesson.name, number)
    with st.container(border=True, key="lesson-card"):
        _draw_header(lesson, number, prediction is not None)
        with st.container(width=EXPLANATION, key="lesson-text"):
            draw_step_text(step, alone=page == step.page and prediction is None)
        name = f"step {lesson.name} {number}" if page == step.page else ""  # the focus goes to the title on the page
        draw_step_setup(step, name, with_axis=prediction is None)  # the answer has the axis
        if page != step.page:
            if st.button("Go to the page of this step", icon=":material/arrow_forward:", key="lesson.go"):
                open_step(lesson.name, number)
            return True
        if missing := lesson_results.missing_model(step):
            explanation(escape_markdown(f"{missing} Until then, this step has no measured answer."))
            _draw_navigation(lesson, number)
            return True
        if prediction is None:
            _start_measuring(lesson, number)
            _draw_prediction_form(visitor_id, lesson, number)
        else:
            _draw_answer(visitor_id, lesson, number, None if prediction == predictions.NO_PREDICTION else prediction)
    if prediction is None:
        explanation("The page opens here when you have predicted, because it shows the answer.")
    return prediction is not None


def _draw_header(lesson: Lesson, number: int, answered: bool) -> None:
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        part = f"step {number} of {len(lesson.steps)}"
        if number == lesson.closing:
            part = "summary and task" if lesson.task else "summary"
        st.markdown(f"Lesson: **{lesson.title}** · {part}")
        with st.container(horizontal=True, width="content"):
            _draw_class_button(lesson, number)
            if st.button("Leave the lesson", icon=":material/close:", key="lesson.leave", type="tertiary"):
                leave_lesson()
    st.progress(min(1.0, (number - (not answered)) / len(lesson.steps)))


def _draw_class_button(lesson: Lesson, number: int) -> None:
    """Draw the button that gives a step to a class; at the task, one that lets a teacher's class collect sentences."""
    task, draw = lesson.task, partial(st.button, icon=":material/groups:", key="lesson.class", type="tertiary")
    if number != lesson.closing:
        if draw("Give it to a class"):
            classroom_card.start_lesson_in_class(lesson.name, number)
    elif task and "say" in task.state and classroom_card.leads_class() and draw("Collect sentences in the class"):
        classroom_card.collect_sentences(task)


def _draw_prediction_form(visitor_id: str, lesson: Lesson, number: int) -> None:
    """Draw the question, with a button to show the answer without a prediction."""
    question = lesson.steps[number - 1].question
    scale = question.scale
    with st.form(f"lesson.form.{lesson.name}.{number}", border=False):
        prediction: Any
        if scale is None:
            titles = {each.name: each.text for each in question.choices}
            prediction = st.radio(
                question.text, titles, format_func=titles.__getitem__, index=None, key=f"lesson.{lesson.name}.{number}"
            )
        else:
            unit = f" {scale.unit}" if scale.unit else ""
            limits = f"{scale.low:g} to {scale.high:g}{unit}"
            prediction = st.number_input(
                f"{question.text} From {limits}",
                scale.low,
                scale.high,
                value=None,
                step=scale.step,
                format="%g",
                placeholder="your prediction",
                width=420,
                key=f"lesson.{lesson.name}.{number}",
            )
        with st.container(horizontal=True):
            is_submitted = st.form_submit_button("That is my prediction", icon=":material/check:")
            is_skipped = st.form_submit_button("Show the answer", icon=":material/visibility:")
    if is_submitted and prediction is None:
        show_problems(["You have not predicted yet. Choose or type an answer, or press “Show the answer”."])
    elif is_submitted or is_skipped:
        predictions.store_prediction(
            visitor_id, lesson.name, number, prediction if is_submitted else predictions.NO_PREDICTION
        )
        st.rerun()


def _start_measuring(lesson: Lesson, number: int) -> None:
    """Start to measure the result of a step before it is needed."""
    if number <= len(lesson.steps) and not lesson_results.missing_model(lesson.steps[number - 1]):
        lesson_results.submit_step(lesson.name, number)


def _draw_answer(visitor_id: str, lesson: Lesson, number: int, prediction: object | None) -> None:
    step = lesson.steps[number - 1]
    explanation(step.question.text)
    show(
        f"lesson-answer-{lesson.name}-{number}",
        KeyedCall(lesson_results.result_key(lesson.name, number), lesson_results.measure_step, lesson.name, number),
        answer_view,
        lesson,
        number,
        prediction,
        waiting="Measuring the answer …",
        height=ANSWER_HEIGHT,
        pool=lesson_results.result_pool(lesson.name, number),  # not behind the slower work of the page below
    )
    _start_measuring(lesson, number + 1)
    _draw_navigation(lesson, number, partial(predictions.store_prediction, visitor_id, lesson.name, number, None))


def _draw_navigation(lesson: Lesson, number: int, predict_again: Callable[[], None] | None = None) -> None:
    """Draw the buttons to the next and the previous step, and to predict again."""
    with st.container(horizontal=True):
        if number < len(lesson.steps):
            if st.button("Next step", icon=":material/arrow_forward:", key="lesson.next"):
                open_step(lesson.name, number + 1)
        else:
            finish = "Finish: a task of your own" if lesson.task else "Finish"
            if lesson.closing and st.button(finish, icon=":material/arrow_forward:", key="lesson.finish"):
                open_step(lesson.name, lesson.closing)
            if not lesson.closing:
                draw_next_lesson(lesson)
        if number > 1 and st.button("Previous step", icon=":material/arrow_back:", key="lesson.before"):
            open_step(lesson.name, number - 1)
        if predict_again:
            st.button("Predict again", icon=":material/undo:", key="lesson.again", on_click=predict_again)


def answer_view(document: Document, answer: Answer, lesson: Lesson, number: int, prediction: object | None) -> None:
    """Write the measured result next to the prediction; see `static/components/lesson_answer/view.js`."""
    step = lesson.steps[number - 1]
    data = {
        "lesson": lesson.name,
        "step": number,
        "section": step.section,
        "question": lesson_results.question_data(step.question),
        "said": prediction,
        **lesson_results.result_data(step, answer, prediction),
    }
    document.component("lesson_answer", data, f"lesson.answer.{lesson.name}.{number}")


def draw_lesson_list() -> None:
    """Draw the lessons in their order, those of real models folded, and a button that forgets what was done."""
    lessons = list(enumerate(lesson_results.all_lessons().values(), start=1))
    _draw_rows([(number, lesson) for number, lesson in lessons if not lesson.needs_real_model])
    with st.expander("Lessons with a real pretrained model"):
        _draw_rows([(number, lesson) for number, lesson in lessons if lesson.needs_real_model])
    _progress(data={"lesson": "", "steps": 0}, key="lessons.forget")


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
        st.markdown(mark_terms(f"#### {number}. {lesson.title}\n\n{lesson.about}"))
        caption(f"Goals: {goals}. {_describe_extent(lesson)} {sheet_links(lesson)}")
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
            caption(escape_markdown(real_models))
    step = pop_event(key, "continue")
    if isinstance(step, int) and 1 <= step <= len(lesson.steps):
        open_step(lesson.name, step)


def _describe_extent(lesson: Lesson) -> str:
    needs = " and ".join(f"“{lesson_results.all_lessons()[name].title}”" for name in lesson.after)
    before = f"First do {needs}. " if needs else ""
    task = " and a task" * bool(lesson.task)
    return f"{before}{len(lesson.steps)} predictions{task}, about {lesson.minutes} minutes."
