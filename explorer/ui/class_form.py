"""Giving a page to a class: as it stands, with the controls that the class may see, and perhaps a question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import parse_qsl, urlencode

import streamlit as st

from explorer.catalogue import PAGES, page_title
from explorer.errors import InvalidSetting, LineageError, shortened
from explorer.lessons.lesson import Choice, Question, Scale
from explorer.ui import class_card, classes, states
from explorer.ui.classes import LENGTH, Stage
from explorer.ui.components import ears, heard, register
from explorer.ui.page import plain, problems
from explorer.ui.session import PageSession, page_address
from explorer.ui.visitors import visitor

_share = register("share")
_CONTROLS = "lineage.controls"  # what the last shared page has on it: label by name
_MOST_CONTROLS = 200
Kind = Literal["nothing", "a choice", "a number"]


def _given(text: object) -> None:
    page, _, _ = str(text).partition("?")
    if text and page not in {row.address for row in PAGES if row.address not in ("", "lessons")}:
        raise InvalidSetting(f"There is no page “{shortened(page)}” that could be given to a class.")


@dataclass(frozen=True)
class Lectern:
    """What a teacher is about to give to a class; a part of the address of the lessons."""

    give: str = field(
        default="", metadata={"check": _given, "longest": 1_500}
    )  # a page and its state: memory?length=10


def share(page: str) -> None:
    """At the end of a page: a quiet way to give it to a class, as it stands; see `assets/share.js`."""
    found = heard("share", "controls")
    if isinstance(found, list):
        st.session_state[_CONTROLS] = _named(found)
        st.switch_page("lessons.py", query_params={"give": f"{page}?{urlencode(page_address())}"})
    _share(data={}, key="share", **ears("share", "controls"))


def _named(found: list[Any]) -> dict[str, str]:
    pairs = [one for one in found if isinstance(one, Mapping) and isinstance(one.get("name"), str)]
    return {str(one["name"])[:80]: str(one.get("label", one["name"]))[:60] for one in pairs[:_MOST_CONTROLS]}


def form(session: PageSession[Lectern]) -> None:
    """What the class sees and is asked; nothing where no page is being given."""
    problems(session.problems)
    if not session.state.give:
        return
    page, _, query = session.state.give.partition("?")
    state = dict(parse_qsl(query))
    running = classes.of(visitor().id)
    with st.container(border=True):
        st.markdown(f"#### For your class: {plain(page_title(page))}")
        st.markdown("The page is given as you left it." if state else "The page is given as a newcomer finds it.")
        problems(states.problems(page, state))
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
        question, trouble = _question(kind)
        holds = kind != "nothing" and st.toggle("The page opens only when I reveal", value=True, key="give.holds")
        with st.container(horizontal=True):
            words = f"Show it to class {running.code}" if running else "Begin the class"
            if st.button(words, icon=":material/groups:", key="give.start"):
                if trouble:
                    problems([trouble])
                else:
                    class_card.give(Stage(page, state, tuple(hidden), question, holds=holds))
            st.button(
                "Not now", icon=":material/close:", key="give.not", on_click=lambda: session.change(lambda _: Lectern())
            )


def _question(kind: Kind) -> tuple[Question | None, str]:
    """The teacher's own question, or what is still missing of it."""
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


def join() -> None:
    """For those who have a code and no QR code."""
    with st.form("class.join", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        code = st.text_input("Join a class: its code", max_chars=2 * LENGTH, width=220, key="class.code")
        joined = st.form_submit_button("Join", icon=":material/login:")
    if joined:
        try:
            class_card.enter(code)
        except LineageError as error:
            problems([str(error)])
