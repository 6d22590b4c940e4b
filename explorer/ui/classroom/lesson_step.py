"""What the cards of a lesson and of a class share: opening a step, and its title, text and setup."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from explorer.lessons.lesson import Step
from explorer.ui.components.base import event_callbacks, pop_event, register
from explorer.ui.glossary import mark_terms
from explorer.ui.state.session import open_page, shared_url_params
from explorer.ui.state.visitor import current_visitor
from explorer.web import lesson_results

_setup = register("lesson_setup")
SETUP = "lesson.setup"  # key of the component


def open_step(name: str, number: int) -> None:
    """Open the page of a lesson step, in its state of before or after the visitor's prediction."""
    part = lesson_results.find_part(name, number)
    state, sections, visitor = part.state, [part.section], current_visitor().id
    is_asked = number <= len(lesson_results.all_lessons()[name].steps)
    if isinstance(part, Step) and is_asked and lesson_results.find_prediction(visitor, name, number) is None:
        state, sections = part.state_before, [part.section, part.figure]
    unfold = ",".join(dict.fromkeys(filter(None, sections)))
    shared = {"lesson": name, "part": str(number), **({"unfold": unfold} if unfold else {}), **presentation_params()}
    open_page(part.page, {**state, **shared})


def leave_lesson() -> None:
    """Open the list of all lessons."""
    open_page("lessons", presentation_params())


def presentation_params() -> dict[str, str]:
    """Return the URL parameter that keeps a page on the projector."""
    return {name: text for name, text in shared_url_params().items() if name == "screen"}


def draw_step_text(step: Step, alone: bool = False) -> None:
    """Draw the title and the text of a step; with `alone` the title is the page's title."""
    if alone:
        st.title(step.title, anchor=False)
        st.markdown(mark_terms(step.text))
    else:
        st.subheader(step.title, anchor=False)
        st.markdown(mark_terms(step.text))


def draw_step_setup(step: Step | None, name: str = "", watched: Sequence[str] = (), asks: bool = False) -> None:
    """Draw what a step is about; see `static/components/lesson_setup/view.js`.

    name: of the step, whose title gets the keyboard focus when it is new
    watched: settings of the page; the page reruns when one of them changes
    asks: whether the line is drawn on which a number is predicted
    """
    data: dict[str, Any] = (
        lesson_results.setup_data(step) if step else {"tokens": [], "marked": [], "note": "", "networks": []}
    )
    if not step or not asks:
        data["scale"] = None
    pop_event(SETUP, "moved")  # the event only requests this run of the page
    data |= {"step": name, "watched": list(watched)}
    _setup(data=data, key=SETUP, **event_callbacks(SETUP, "predicted", "moved"))
