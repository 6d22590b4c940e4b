"""The card of a lesson above the page it stands on: a text, a prediction, then what was measured, and why."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

import streamlit as st

from explorer.catalogue import PAGES
from explorer.errors import InvalidSetting, LineageError
from explorer.lessons.answers import Answer
from explorer.lessons.lesson import Lesson, Step
from explorer.ui import lessons, predictions
from explorer.ui.components import register
from explorer.ui.page import EXPLANATION, empty_panel, problems
from explorer.ui.session import around
from explorer.ui.slowly import eventually, work
from explorer.ui.visitors import visitor

_revealed = register("lesson")
ANSWER = 250  # px of the card's answer while it is measured
_MOVED = "lineage.lesson"  # the step that was left, the one that was opened, and until when the first is no wish
_NONE = (None, None)  # opened instead of a step: all lessons
_ECHO = 1.0  # seconds after the new step is drawn; nobody goes back in that time


def open_step(name: str, place: int, **beside: str) -> None:
    """Go to a step of a lesson, and its page in its state. `beside` are further parts of the address around it."""
    _, step = lessons.step_of(name, place)
    here, opened = (around().get("lesson"), around().get("part")), (name, str(place))
    if here != opened:
        st.session_state[_MOVED] = here, opened, math.inf
    go(step.page, {**step.state, "lesson": name, "part": str(place), **_kept(), **beside})


def _leave() -> None:
    """Go to all lessons."""
    st.session_state[_MOVED] = (around().get("lesson"), around().get("part")), _NONE, math.inf
    st.switch_page("lessons.py", query_params=_kept())


def go(page: str, address: Mapping[str, str]) -> None:
    """Another page, in a state."""
    st.switch_page(next(row.file for row in PAGES if row.address == page), query_params=dict(address))


def _kept() -> dict[str, str]:
    return {name: text for name, text in around().items() if name == "screen"}


def here() -> tuple[Lesson, int] | None:
    """The lesson and the step that the address names. What it names wrongly is said."""
    asked = around()
    _no_echo((asked.get("lesson"), asked.get("part")))
    if "lesson" not in asked:
        return None
    try:
        place = asked.get("part", "1")
        if not place.isdecimal() or len(place) > 4:
            raise InvalidSetting("The step of a lesson is a whole number from 1 on; the lesson was left out.")
        lesson, _ = lessons.step_of(asked["lesson"], int(place))
        return lesson, int(place)
    except LineageError as error:
        problems([str(error)])
        return None


def _no_echo(asked: tuple[str | None, str | None]) -> None:
    """A part of the old page that looks for its result may still ask for the step that was just left."""
    left, opened, until = st.session_state.get(_MOVED, (None, None, 0.0))
    if asked == opened:
        st.session_state[_MOVED] = left, opened, min(until, time.monotonic() + _ECHO)
    elif asked == left != _NONE and time.monotonic() < until:
        if opened == _NONE:
            st.switch_page("lessons.py", query_params=_kept())
        else:
            open_step(opened[0], int(opened[1]))


def card(lesson: Lesson, place: int, page: str) -> bool:
    """Draw the card; whether the page may be shown below it: before the prediction it would give the answer away."""
    step = lesson.steps[place - 1]
    me = visitor().id
    said = predictions.said(me, lesson.name, place)
    with st.container(border=True, key="lesson-card"):
        _head(lesson, place, said is not None)
        with st.container(width=EXPLANATION):
            step_text(step, alone=page == step.page and said is None)
        if page != step.page:
            if st.button("Go to the page of this step", icon=":material/arrow_forward:", key="lesson.go"):
                open_step(lesson.name, place)
            return True
        if said is None:
            _begin(lesson, place)
            _form(me, lesson, place)
        else:
            _answer(me, lesson, place, None if said == predictions.NONE else said)
    if said is None:
        empty_panel("The page opens here once you have predicted: it would show you the answer.", 260)
    return said is not None


def step_text(step: Step, alone: bool) -> None:
    """What a step is about; where no page stands below it, its title is the heading of all."""
    if alone:
        st.title(step.title, anchor=False)
        st.markdown(step.text)
    else:
        st.markdown(f"#### {step.title}\n\n{step.text}")


def _head(lesson: Lesson, place: int, answered: bool) -> None:
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.markdown(f"Lesson: **{lesson.title}** · step {place} of {len(lesson.steps)}")
        with st.container(horizontal=True, width="content"):
            if st.button("Give it to a class", icon=":material/groups:", key="lesson.class", type="tertiary"):
                from explorer.ui import class_card

                class_card.give_lesson(lesson.name, place)
            if st.button("Leave the lesson", icon=":material/close:", key="lesson.leave", type="tertiary"):
                _leave()
    st.progress((place - (not answered)) / len(lesson.steps))


def _form(me: str, lesson: Lesson, place: int) -> None:
    """The question, and a way to see the answer without one's own."""
    question = lesson.steps[place - 1].question
    scale = question.scale
    with st.form(f"lesson.form.{lesson.name}.{place}", border=False):
        given: Any
        if scale is None:
            titles = {each.name: each.text for each in question.choices}
            given = st.radio(
                question.text, titles, format_func=titles.__getitem__, index=None, key=f"lesson.{lesson.name}.{place}"
            )
        else:
            unit = f" ({scale.unit})" if scale.unit else ""
            limits = f"{scale.low:g} to {scale.high:g}{unit}"
            given = st.number_input(
                f"{question.text} {limits}",
                scale.low,
                scale.high,
                value=None,
                step=scale.step,
                format="%g",
                placeholder="your guess",
                width=420,
                key=f"lesson.{lesson.name}.{place}",
            )
        with st.container(horizontal=True):
            sent = st.form_submit_button("That is my prediction", icon=":material/check:")
            shown = st.form_submit_button("Show me without a guess", icon=":material/visibility:")
    if sent and given is None:
        problems(["There is no prediction yet. Choose or type one, or let the answer be shown without a guess."])
    elif sent or shown:
        predictions.say(me, lesson.name, place, given if sent else predictions.NONE)
        st.rerun()


def _begin(lesson: Lesson, place: int) -> None:
    """Measure while somebody still reads or thinks: the answer is there when they have predicted."""
    if place <= len(lesson.steps):
        work(lessons.key_of(lesson.name, place), lambda: lessons.measure(lesson.name, place), "quick")


def _answer(me: str, lesson: Lesson, place: int, said: object | None) -> None:
    step = lesson.steps[place - 1]

    st.markdown(step.question.text, width=EXPLANATION)

    def draw(found: Answer) -> None:
        show(step, found, said, key=f"lesson.answer.{lesson.name}.{place}")

    eventually(
        f"lesson-answer-{lesson.name}-{place}",
        lessons.key_of(lesson.name, place),
        lambda: lessons.measure(lesson.name, place),
        draw,
        "It is being measured …",
        ANSWER,
        pool="quick",  # the page below has slower work of its own
    )
    _begin(lesson, place + 1)
    with st.container(horizontal=True):
        if place < len(lesson.steps):
            if st.button("Next step", icon=":material/arrow_forward:", key="lesson.next"):
                open_step(lesson.name, place + 1)
        else:
            _what_next(lesson)
        if place > 1 and st.button("Step before", icon=":material/arrow_back:", key="lesson.before"):
            open_step(lesson.name, place - 1)
        st.button(
            "Predict again",
            icon=":material/undo:",
            key="lesson.again",
            on_click=lambda: predictions.unsay(me, lesson.name, place),
        )


def _what_next(lesson: Lesson) -> None:
    """After the last step: the lesson that follows, and all of them."""
    following = lessons.after(lesson.name)
    if following and st.button(
        f"Next lesson: {following.title}", icon=":material/arrow_forward:", key="lesson.following"
    ):
        open_step(following.name, 1)
    if st.button("That was the last step: all lessons", icon=":material/done_all:", key="lesson.done"):
        _leave()


def show(step: Step, found: Answer, said: object | None, key: str) -> None:
    """What was measured, beside what was said; see `assets/lesson.js`."""
    data = {"question": lessons.asked(step.question), "said": said, **lessons.revealed(step, found, said)}
    _revealed(data=data, key=key)
