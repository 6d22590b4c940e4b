"""The form in which a teacher gives a page to a class, with hidden controls and a question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import parse_qsl, urlencode

import streamlit as st

from explorer.catalogue import PAGES, page_title
from explorer.errors import InvalidSetting, LineageError, shorten
from explorer.lessons.lesson import Choice, Question, Scale
from explorer.ui.classroom import classroom_card
from explorer.ui.components.base import event_callbacks, pop_event, register
from explorer.ui.page_sections import escape_markdown, show_problems
from explorer.ui.state import page_states
from explorer.ui.state.fields import PageState, setting
from explorer.ui.state.session import PageSession, open_page, page_url_params
from explorer.ui.state.visitor import current_visitor
from explorer.web import class_store
from explorer.web.class_store import CODE_LENGTH, ClassroomQuestion

_share = register("share_button")
_CONTROLS = "lineage.controls"  # controls of the last shared page: label by name
_MAX_CONTROLS = 200
Kind = Literal["nothing", "a choice", "a number"]


def _question_from_form(text: object) -> None:
    page, _, _ = str(text).partition("?")
    if text and page not in {row.address for row in PAGES if row.address not in ("", "lessons")}:
        raise InvalidSetting(f"There is no page “{shorten(page)}” that could be given to a class.")


@dataclass(frozen=True)
class ShareForm(PageState):
    """The page that a teacher is about to give to a class; part of the URL of the lessons page."""

    give: str = setting("", check=_question_from_form, longest=1_500)  # a page and its state: memory?length=10


def draw_share_button(page: str) -> None:
    """Draw the button that gives the page to a class; see `static/components/share_button/view.js`."""
    controls = pop_event("share", "controls")
    if isinstance(controls, list):
        st.session_state[_CONTROLS] = _control_labels(controls)
        open_page("lessons", {"give": f"{page}?{urlencode(page_url_params())}"})
    _share(data={}, key="share", **event_callbacks("share", "controls"))


def _control_labels(controls: list[Any]) -> dict[str, str]:
    entries = [one for one in controls if isinstance(one, Mapping) and isinstance(one.get("name"), str)]
    return {str(one["name"])[:80]: str(one.get("label", one["name"]))[:60] for one in entries[:_MAX_CONTROLS]}


def draw_share_form(session: PageSession[ShareForm]) -> None:
    """Draw the form for the page being given to a class; nothing if there is none."""
    show_problems(session.problems)
    if not session.state.give:
        return
    page, _, query = session.state.give.partition("?")
    state = dict(parse_qsl(query))
    current = class_store.classroom_of_teacher(current_visitor().id)
    with st.container(border=True):
        st.markdown(f"#### For your class: {escape_markdown(page_title(page))}")
        st.markdown("The page is given as you left it." if state else "The page is given as a newcomer finds it.")
        show_problems(page_states.url_problems(page, state))
        controls: dict[str, str] = st.session_state.get(_CONTROLS, {})
        hidden = st.multiselect(
            "Hide these controls from the class",
            list(controls),
            format_func=lambda name: controls[name],
            key="give.locked",
            placeholder="all stay",
            disabled=not controls,
        )
        kind: Kind = st.segmented_control(
            "Ask the class for", ["nothing", "a choice", "a number"], default="nothing", required=True, key="give.kind"
        )
        question, problem = _draw_question_fields(kind)
        opens_at_reveal = kind != "nothing" and st.toggle(
            "The page opens only when I reveal", value=True, key="give.holds"
        )
        with st.container(horizontal=True):
            label = f"Show it to class {current.code}" if current else "Begin the class"
            if st.button(label, icon=":material/groups:", key="give.start"):
                if problem:
                    show_problems([problem])
                else:
                    classroom_card.show_question_to_class(
                        ClassroomQuestion(page, state, tuple(hidden), question, opens_at_reveal=opens_at_reveal)
                    )
            st.button(
                "Not now",
                icon=":material/close:",
                key="give.not",
                on_click=lambda: session.change(lambda _: ShareForm()),
            )


def _draw_question_fields(kind: Kind) -> tuple[Question | None, str]:
    """Draw the fields of the teacher's own question; return it, or None and what is still missing."""
    if kind == "nothing":
        return None, ""
    text = st.text_input("Your question", max_chars=200, key="give.text").strip()
    if kind == "a choice":
        lines = st.text_area("The choices, one a line", max_chars=600, height=120, key="give.choices").splitlines()
        choices = [line.strip() for line in lines if line.strip()]
        if not (text and 2 <= len(choices) <= 6):
            return None, "Write a question and two to six choices, one a line."
        return Question(text, tuple(Choice(str(i), plain_text) for i, plain_text in enumerate(choices))), ""
    with st.container(horizontal=True):
        low = st.number_input("from", value=0.0, format="%g", width=140, key="give.low")
        high = st.number_input("to", value=100.0, format="%g", width=140, key="give.high")
        unit = st.text_input("Unit", max_chars=20, width=140, key="give.unit").strip()
    if not text or not low < high:
        return None, "Write a question, and two numbers of which the second is larger."
    return Question(text, scale=Scale(low, high, (high - low) / 100, unit)), ""


def draw_join_form() -> None:
    """Draw the form in which students join a class by its code."""
    with st.form("class.join", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        code = st.text_input("Join a class: its code", max_chars=2 * CODE_LENGTH, width=220, key="class.code")
        joined = st.form_submit_button("Join", icon=":material/login:")
    if joined:
        try:
            classroom_card.enter_classroom(code)
        except LineageError as error:
            show_problems([str(error)])
