"""The card of a classroom above its page: the question for students, the votes and controls for the teacher."""

from __future__ import annotations

from urllib.parse import urljoin

import streamlit as st

from explorer.catalogue import page_title
from explorer.errors import LineageError, NotAllowed, StoreError
from explorer.lessons.lesson import Question, Task
from explorer.ui import visitor_text
from explorer.ui.base_path import base_path
from explorer.ui.classroom.lesson_step import draw_step_setup, draw_step_text, open_step, presentation_params
from explorer.ui.components.base import event_callbacks, pop_event, register
from explorer.ui.page_sections import EXPLANATION, empty_panel, show_problems
from explorer.ui.state.page_states import reads_sentence
from explorer.ui.state.session import open_page, page_url_params, shared_url_params
from explorer.ui.state.visitor import check_cookie, count_action, current_address, current_visitor
from explorer.web import lesson_results, rate_limits
from explorer.web.classes import actions, store
from explorer.web.classes.classroom import Classroom, ClassroomQuestion, UnknownClassroom
from explorer.web.classes.endpoints import qr_code

_classroom = register("classroom")
_SHOWN = "lineage.class"  # the code of this tab's classroom, and the number of the question that it shows
_LESSON = "lineage.class_lesson"  # the lesson that this student's class has now, or empty
_PROBLEM = "lineage.class_problem"  # of the last change, which the next run of the page shows
KEY = "class"


def start_lesson_in_class(name: str, number: int) -> None:
    """Show a step of a lesson to this visitor's class."""
    _, step = lesson_results.find_step(name, number)
    show_question_to_class(ClassroomQuestion(step.page, step.state, (), step.question, name, number))


def leads_class() -> bool:
    """Return whether this visitor leads a class now."""
    classroom = store.classroom_of_visitor(current_visitor())
    return classroom is not None and current_visitor().id in classroom.teachers


def collect_sentences(task: Task) -> None:
    """Let this visitor's class collect sentences on the page of a lesson's task, which is open at once."""
    question = Question(task.text.replace("**", ""), collects=True)
    show_question_to_class(ClassroomQuestion(task.page, task.state, (), question, opens_at_reveal=False))


def show_question_to_class(shown: ClassroomQuestion) -> None:
    """Show a question to this visitor's class, which is started if needed, and open its page."""
    owner = current_visitor().id
    try:
        if store.classroom_of_teacher(owner) is None:
            count_action(rate_limits.NEW_CLASSES)
        classroom = actions.show_question(owner, shown)
    except LineageError as error:
        show_problems([str(error)])
    else:
        open_classroom(classroom)


def open_classroom(classroom: Classroom) -> None:
    """Open the page that the class sees now."""
    shown = classroom.shown
    st.session_state[_SHOWN] = (classroom.code, classroom.number)
    st.session_state[_LESSON] = "" if classroom.is_led_by(current_visitor()) else shown.lesson
    locked = {"lock": ",".join(shown.locked)} if shown.locked and not classroom.is_led_by(current_visitor()) else {}
    open_page(shown.page, {**shown.state, **locked, **presentation_params(), "class": classroom.code})


def find_class_to_join(code: str) -> Classroom:
    """Return the class with this code; a code that gives control of a class is used up.

    Raises UnknownClassroom, NotAllowed if it is closed to others or without a cookie, TooManyRequests or StoreError.
    """
    if len("".join(code.split())) == actions.CONTROL_LENGTH:
        check_cookie()
        return actions.take_control(code, current_visitor(), current_address())
    return store.find_classroom_for(code, current_visitor(), current_address())


def current_classroom(page: str) -> Classroom | None:
    """Return the classroom that the URL names, or None; open its page if the tab shows another one."""
    code = shared_url_params().get("class")
    if code is None:
        return None
    try:
        classroom = store.find_classroom_for(code, current_visitor(), current_address())
    except LineageError as error:
        if isinstance(error, UnknownClassroom) and st.session_state.get(_SHOWN, ("", 0))[0] == code:
            _describe_end()
        else:
            show_problems([str(error)])
        return None
    if not classroom.is_led_by(visitor := current_visitor()):
        store.record_presence(classroom, visitor.id)
    if st.session_state.get(_SHOWN) != (classroom.code, classroom.number) or page != classroom.shown.page:
        open_classroom(classroom)
    return classroom


def _describe_end() -> None:
    """Say that the class has ended, and lead a student to the lesson, which keeps the student's own answers."""
    show_problems(["The class has ended, and its answers are deleted. You can go on using this page."])
    lesson = st.session_state.get(_LESSON, "")
    if lesson and st.button("My answers, with the measured ones", icon=":material/school:", key="class.answers"):
        open_step(lesson, 1)


def draw_return_button() -> None:
    """Draw a button that returns to the class if the visitor has left its page."""
    if "class" in shared_url_params():
        return  # the class has ended, which was reported already
    classroom = _last_classroom()
    if classroom and st.button(f"Back to class {classroom.code}", icon=":material/groups:", key="class.back"):
        open_classroom(classroom)


def _last_classroom() -> Classroom | None:
    """Return the classroom of this tab, or else the one that the server remembers for this visitor."""
    code, _ = st.session_state.get(_SHOWN, ("", 0))
    if code:
        try:
            return store.find_classroom_for(code, current_visitor())
        except (UnknownClassroom, NotAllowed):
            del st.session_state[_SHOWN]
        except StoreError:
            return None
    return store.classroom_of_visitor(current_visitor())


def draw_classroom_card(classroom: Classroom) -> bool:
    """Draw the card; return whether the page may be shown below it."""
    shown, teaches = classroom.shown, classroom.is_led_by(current_visitor())
    with st.container(border=True, key="class-card"):
        if shown.lesson:
            lesson, step = lesson_results.find_step(shown.lesson, shown.step)
            with st.container(width=EXPLANATION, key="class-step"):
                st.markdown(f"{lesson.title} · step {shown.step} of {len(lesson.steps)}")
                draw_step_text(step, alone=not classroom.open)
                draw_step_setup(step)
        elif not classroom.open:
            st.title(page_title(shown.page), anchor=False)
        _handle_events(classroom)
        events = event_callbacks(KEY, "moved", "next", "sentence")
        _classroom(data=_component_data(classroom, teaches), key=KEY, **events)
        if teaches:
            _draw_text_sharing(classroom)
    if not classroom.open:
        who, what = "you show" if teaches else "your teacher shows", "answer" if shown.lesson else "result"
        empty_panel(f"The page “{page_title(shown.page)}” appears here when {who} the {what}.", 120)
    return classroom.open


_TEXT_OF_PAGE = {"sentences": "negation", "pairs": "translation"}  # the pages on which a kind of own text is used


def _draw_text_sharing(classroom: Classroom) -> None:
    """Draw the switch with which a teacher shares an own text, if there is one."""
    kinds = sorted(visitor_text.KINDS, key=lambda kind: _TEXT_OF_PAGE.get(kind) != classroom.shown.page)
    sha, key = classroom.text or next(filter(None, map(visitor_text.own_text, kinds)), ""), f"{KEY}.text"
    if not sha:
        return

    def share() -> None:
        try:
            actions.share_text(classroom.code, current_visitor(), sha if st.session_state[key] else "")
        except LineageError as error:
            st.session_state[_PROBLEM] = str(error)

    if problem := st.session_state.pop(_PROBLEM, ""):
        show_problems([problem])

    st.session_state[key] = classroom.text == sha
    st.toggle(
        "Let this class use my text",
        key=key,
        on_change=share,
        help="Students who have joined can read your own text and train on it. The server stores it until you switch "
        "this off or end the class.",
    )


def _handle_events(classroom: Classroom) -> None:
    """Show another step of the lesson, or a collected sentence on the page, if the teacher requested it."""
    pop_event(KEY, "moved")  # the event only requests this run of the page
    if isinstance(sentence := pop_event(KEY, "sentence"), str):
        open_page(classroom.shown.page, {**page_url_params(), "say": sentence, **shared_url_params()})
    offset = pop_event(KEY, "next")
    if offset in (-1, 1) and classroom.is_led_by(current_visitor()) and classroom.shown.lesson:
        number = classroom.shown.step + offset
        if 1 <= number <= len(lesson_results.all_lessons()[classroom.shown.lesson].steps):
            start_lesson_in_class(classroom.shown.lesson, number)


def _component_data(classroom: Classroom, teaches: bool) -> dict[str, object]:
    shown = classroom.shown
    step_count = len(lesson_results.all_lessons()[shown.lesson].steps) if shown.lesson else 0
    url = urljoin(st.context.url or "http://localhost", f"{base_path()}/?class={classroom.code}")  # is short to type
    return {
        "code": classroom.code,
        "number": classroom.number,
        "open": classroom.open,
        "teaches": teaches,
        "question": lesson_results.question_data(shown.question) if shown.question else None,
        "page": {"path": shown.page, "state": dict(shown.state)} if teaches and reads_sentence(shown.page) else None,
        "lesson": {"name": shown.lesson, "step": shown.step, "steps": step_count} if shown.lesson else None,
        "address": url if teaches else None,
        "qr": qr_code(url) if teaches else None,
    }
