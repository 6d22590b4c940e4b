"""The list of all lessons, and the card of one above its page, from text and prediction to the task in the end."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

import streamlit as st

from explorer.errors import InvalidSetting, LineageError
from explorer.lessons.grading import Answer, TaskResult
from explorer.lessons.lesson import Lesson, Reason, Step, Task, Trial
from explorer.ui.classroom import classroom_card
from explorer.ui.classroom.lesson_step import SETUP, draw_step_setup, draw_step_text, leave_lesson, open_step
from explorer.ui.components.base import event_callbacks, pop_event, register
from explorer.ui.document import Document
from explorer.ui.glossary import mark_terms
from explorer.ui.page_sections import caption, escape_markdown, explanation, show_problems
from explorer.ui.result_section import show
from explorer.ui.state.page_states import state_kind
from explorer.ui.state.session import has_just_arrived, page_url_params, shared_url_params, unread_url
from explorer.ui.state.visitor import current_visitor
from explorer.web import lesson_results, predictions
from explorer.web.call import KeyedCall

_progress = register("lesson_progress")


def draw_closing_card(lesson: Lesson, page: str) -> None:
    """Draw the content of the card above the page of the task; the page below is open."""
    task = lesson.task
    name = f"step {lesson.name} {lesson.closing}" if not task or page == task.page else ""
    draw_step_setup(None, name, _find_settings(task) if task else [])
    with st.container(key="lesson-closing"):
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
        _draw_other_buttons(lesson, lesson.closing)
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
    """Measure the task with the settings of its page, again whenever one of them changes."""
    state = _page_state(task.page)
    used = {field: state[field] for field in _find_settings(task) if field in state}
    key, pool = lesson_results.task_key(task, name, used), lesson_results.task_pool(task)
    call, waiting = KeyedCall(key, lesson_results.measure_task, name, used), "Measuring with your settings …"
    show(f"lesson-task-{name}", call, task_view, task.done, waiting=waiting, height=60, pool=pool)


def _find_settings(part: Step | Task) -> list[str]:
    """Return the settings of the page that a task measures, or that a step lets the student change."""
    if isinstance(part, Task):
        return re.findall(r"\$(\w+)", " ".join(part.settings.values()))
    return [part.trial.setting] if part.trial else []


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


def draw_lesson_card(lesson: Lesson, number: int, page: str) -> None:
    """Draw the card beside the page; before the prediction it hides what of the page would show the answer."""
    with st.container(border=True, key="lesson-card"):
        if number == lesson.closing:
            _draw_header(lesson, number, True)
            draw_closing_card(lesson, page)
            return
        step, visitor_id = lesson.steps[number - 1], current_visitor().id
        prediction = lesson_results.find_prediction(visitor_id, lesson.name, number)
        missing = lesson_results.missing_model(step)
        asks = prediction is None and not missing and page == step.page
        is_opened = has_just_arrived() or unread_url() is not None
        if asks and is_opened and not step.state_before.items() <= page_url_params().items():
            open_step(lesson.name, number)  # a link to the page as it is after the prediction
        _draw_header(lesson, number, prediction is not None)
        with st.container(key="lesson-text"):
            draw_step_text(step)
        name = f"step {lesson.name} {number}" if page == step.page else ""  # the focus goes to the title on the page
        draw_step_setup(step, name, [] if asks else _find_settings(step), asks)
        if page != step.page:
            if st.button("Go to the page of this step", icon=":material/arrow_forward:", key="lesson.go"):
                open_step(lesson.name, number)
            return
        _arrange_page(step, asks)
        if missing:
            explanation(escape_markdown(f"{missing} Until then, this step has no measured answer."))
            _draw_navigation(lesson, number)
        elif asks:
            lesson_results.submit_step(lesson.name, number)
            _draw_prediction(visitor_id, lesson, number)
        else:
            _draw_answer(lesson, number, None if prediction == predictions.NO_PREDICTION else prediction)
            if step.trial:
                _draw_trial(step.page, step.trial)
            _draw_navigation(lesson, number, visitor_id)


def _arrange_page(step: Step, asks: bool) -> None:
    """Put the section of the step at the top of the page; before the prediction hide the others, and blur it if needed.

    Names of sections consist of small letters, digits and dashes, so they can stand in a style.
    """
    name = (step.figure if asks else "") or step.section
    section = f":is(.st-key-page-section-{name}, .st-key-section-{name}, .st-key-{name})"
    blocks = '[data-testid="stMainBlockContainer"] > [data-testid="stVerticalBlock"] >'
    rules = f":root:not(.lineage-projected) {blocks} :is(:has({section}), {section}) {{ order: -1; }}"
    if asks:
        others = f':is([class*="st-key-page-section-"], [class*="st-key-section-"]):not({section}, {section} *)'
        rules += f"{others}:not(:has({section}), .st-key-lesson-card *) {{ display: none; }}"
        if not (step.figure or step.before):
            rules += f"{section} {{ filter: blur(12px); pointer-events: none; interactivity: inert; }}"
    st.html(f"<style>{rules}</style>")


def _draw_header(lesson: Lesson, number: int, answered: bool) -> None:
    part = f"step {number} of {len(lesson.steps)}"
    if number == lesson.closing:
        part = "summary and task" if lesson.task else "summary"
    st.caption(f"{lesson.title} · {part}")
    st.progress(min(1.0, (number - (not answered)) / len(lesson.steps)))


def _draw_other_buttons(lesson: Lesson, number: int) -> None:
    """Draw the button that gives a step to a class; at the task, one that lets a teacher's class collect sentences.

    Beside it is the button to leave the lesson.
    """
    if st.button("Leave the lesson", icon=":material/close:", key="lesson.leave", type="tertiary"):
        leave_lesson()
    task, draw = lesson.task, partial(st.button, icon=":material/groups:", key="lesson.class", type="tertiary")
    if number != lesson.closing:
        if draw("Give it to a class"):
            classroom_card.start_lesson_in_class(lesson.name, number)
    elif task and "say" in task.state and classroom_card.leads_class() and draw("Collect sentences in the class"):
        classroom_card.collect_sentences(task)


def _draw_prediction(visitor_id: str, lesson: Lesson, number: int) -> None:
    """Draw the choices, and a button to show the answer without a prediction; a number is predicted on its line."""
    question, key = lesson.steps[number - 1].question, f"lesson.{lesson.name}.{number}"
    prediction = pop_event(SETUP, "predicted")
    if question.choices:
        st.markdown(f"**{question.text}**")
    for choice in question.choices:
        if st.button(escape_markdown(choice.text), key=f"{key}.{choice.name}", width="stretch"):
            prediction = choice.name
    with st.container(horizontal=True):
        if st.button("Show the answer", icon=":material/visibility:", key="lesson.skip", type="tertiary"):
            prediction = predictions.NO_PREDICTION
        _draw_other_buttons(lesson, number)
    if prediction == predictions.NO_PREDICTION or question.accepts(prediction):
        predictions.store_prediction(visitor_id, lesson.name, number, prediction)
        open_step(lesson.name, number)


def _draw_answer(lesson: Lesson, number: int, prediction: object | None) -> None:
    explanation(lesson.steps[number - 1].question.text)
    show(
        f"lesson-answer-{lesson.name}-{number}",
        KeyedCall(lesson_results.result_key(lesson.name, number), lesson_results.measure_step, lesson.name, number),
        answer_view,
        lesson,
        number,
        prediction,
        waiting="Measuring the answer …",
        height=ANSWER_HEIGHT,
        pool=lesson_results.result_pool(lesson.name, number),  # not behind the slower work of the page
    )
    if number < len(lesson.steps) and not lesson_results.missing_model(lesson.steps[number]):
        lesson_results.submit_step(lesson.name, number + 1)  # before it is needed


def _draw_trial(page: str, trial: Trial) -> None:
    """Draw what to try on the page, and whether it is done; the page reruns when its setting changes."""
    is_done = trial.is_done(_page_state(page).get(trial.setting, ""))
    with st.container(key="lesson-try"):
        icon = ":material/check_circle:" if is_done else ":material/touch_app:"
        st.markdown(f"{icon} **{'Done' if is_done else 'Try it'}:** {trial.text}")


def _draw_navigation(lesson: Lesson, number: int, visitor_id: str = "") -> None:
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
        if visitor_id and st.button("Predict again", icon=":material/undo:", key="lesson.again"):
            predictions.store_prediction(visitor_id, lesson.name, number, None)
            open_step(lesson.name, number)
        _draw_other_buttons(lesson, number)


def answer_view(document: Document, answer: Answer, lesson: Lesson, number: int, prediction: object | None) -> None:
    """Write the measured result next to the prediction; see `static/components/lesson_answer/view.js`."""
    step = lesson.steps[number - 1]
    data = {
        "lesson": lesson.name,
        "step": number,
        "question": lesson_results.question_data(step.question),
        "said": prediction,
        **lesson_results.result_data(step, answer, prediction),
    }
    document.component("lesson_answer", data, f"lesson.answer.{lesson.name}.{number}")


def draw_lesson_list() -> None:
    """Draw the lessons in their order, what is told of them folded, and a button that forgets what was done."""
    lessons = list(enumerate(lesson_results.all_lessons().values(), start=1))
    _draw_rows([(number, lesson) for number, lesson in lessons if not lesson.needs_real_model])
    with st.expander("Lessons with a real pretrained model"):
        _draw_rows([(number, lesson) for number, lesson in lessons if lesson.needs_real_model])
    with st.expander("What each lesson is about, its goals, and sheets to print"):
        for number, lesson in lessons:
            goals = "\n".join(f"- {goal}" for goal in lesson.goals)
            st.markdown(mark_terms(f"#### {number}. {lesson.title}\n\n{lesson.about}\n\n{goals}"))
            caption(f"{_describe_extent(lesson)} {sheet_links(lesson)}")
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
    """Draw the card of a lesson: its title and picture, and what of it is done."""
    key = f"lessons.progress.{lesson.name}"
    with st.container(border=True, height="stretch", gap="small"):
        st.markdown(mark_terms(f"#### {number}. {lesson.title}"))
        data = {
            "lesson": lesson.name,
            "title": lesson.title,
            "steps": len(lesson.steps),
            "picture": lesson.picture,
            "usable": not all(map(lesson_results.missing_model, lesson.steps)),
            "minutes": lesson.minutes,
        }
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
    return f"{before}{len(lesson.steps)} predictions{task}."
