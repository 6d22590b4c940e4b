"""What the cards of a lesson and of a class share: opening a step, and its title, text and setup."""

from __future__ import annotations

import streamlit as st

from explorer.lessons.lesson import Step
from explorer.ui.components.base import register
from explorer.ui.glossary import mark_terms
from explorer.ui.state.session import open_page, shared_url_params
from explorer.web import lesson_results

setup_component = register("lesson_setup")


def open_step(name: str, number: int, **more_params: str) -> None:
    """Open the page of a lesson step in its state; `more_params` are added to the URL."""
    step = lesson_results.find_part(name, number)
    unfold = {"unfold": step.section} if step.section else {}
    params = {**step.state, "lesson": name, "part": str(number), **unfold, **presentation_params(), **more_params}
    open_page(step.page, params)


def leave_lesson() -> None:
    """Open the list of all lessons."""
    open_page("lessons", presentation_params())


def presentation_params() -> dict[str, str]:
    """Return the URL parameter that keeps a page on the projector."""
    return {name: text for name, text in shared_url_params().items() if name == "screen"}


def draw_step_text(step: Step, alone: bool) -> None:
    """Draw the title and the text of a step; with `alone` the title is the page's title."""
    if alone:
        st.title(step.title, anchor=False)
        st.markdown(mark_terms(step.text))
    else:
        st.markdown(mark_terms(f"#### {step.title}\n\n{step.text}"))


def draw_step_setup(step: Step, name: str = "", with_axis: bool = False) -> None:
    """Draw what the step is about; see `static/components/lesson_setup/view.js`.

    name: of the step, whose title gets the keyboard focus when it is new
    with_axis: whether the axis of the answer is drawn, too
    """
    data = lesson_results.setup_data(step)
    if not with_axis:
        data |= {"axis": None, "edges": []}
    setup_component(data={"step": name, **data}, key="lesson.setup")
