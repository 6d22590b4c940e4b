"""The form in which a teacher gives a page to a class, with a question and without some of the controls.

The URL parameter `lock=KEY,KEY` hides controls. This is no protection: without it the page shows all controls.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal
from urllib.parse import parse_qsl, urlencode

import streamlit as st

from explorer.catalogue import PAGES, page_title
from explorer.errors import InvalidSetting, LineageError, StoreError, shorten
from explorer.lessons.lesson import Choice, Question, Scale
from explorer.ui.classroom import classroom_card
from explorer.ui.components.base import event_callbacks, pop_event, register
from explorer.ui.page_sections import caption, escape_markdown, show_problems
from explorer.ui.sections import has_folded_sections
from explorer.ui.state import page_states
from explorer.ui.state.fields import PageState, setting
from explorer.ui.state.session import PageSession, open_page, page_url_params, shared_url_params
from explorer.ui.state.visitor import current_visitor
from explorer.ui.state.widgets import original_key
from explorer.web.classes import store
from explorer.web.classes.classroom import Classroom, ClassroomQuestion

_share = register("presentation")
_CONTROLS = "lineage.controls"  # controls of the last shared page, as `_read_controls` returns them
_MAX_CONTROLS = 300
MAX_NAMES = 60  # hidden controls
_CONTROL_NAME = re.compile(r"[A-Za-z0-9_-]{1,80}")
Kind = Literal["nothing", "a choice", "a number", "sentences"]
_KINDS: dict[Kind, str] = {
    "nothing": "no question",
    "a choice": "multiple choice",
    "a number": "a number",
    "sentences": "sentences of the class",
}
Controls = Mapping[str, Mapping[str, str]]  # label of each control by its name, by the title of its section


def _question_from_form(text: object) -> None:
    page, _, _ = str(text).partition("?")
    if text and page not in {row.address for row in PAGES if row.address not in ("", "lessons")}:
        raise InvalidSetting(f"There is no page “{shorten(page)}” that could be given to a class.")


@dataclass(frozen=True)
class ShareForm(PageState):
    """What the URL of the lessons page says of a class: a page that a teacher gives to it, and a code to join it."""

    give: str = setting("", check=_question_from_form, longest=1_500)  # a page and its state: memory?length=10
    join: str = setting("", longest=40)


def draw_share_menu(page: str) -> None:
    """Draw the menu Share, which also gives the page to a class; see `static/components/presentation/view.js`."""
    screen = shared_url_params().get("screen", "projector")
    if screen != "projector":
        show_problems([f"There is no screen “{shorten(screen)}”. There is projector; without it the page is as usual."])
    controls = pop_event("share", "controls")
    if isinstance(controls, list) and page not in ("", "lessons"):
        st.session_state[_CONTROLS] = _read_controls(controls)
        open_page("lessons", {"give": f"{page}?{urlencode(page_url_params())}"})
    # Controls inside components and popovers, which the browser has to mark first (`presentation/controls.js`).
    inner = [name for name in hidden_control_names() if "--in--" in name]
    _share(data={"page": page, "mark": inner}, key="share", **event_callbacks("share", "controls"))


def _read_controls(entries: list[Any]) -> Controls:
    """Return the controls that the browser lists as {name, label, section}; entries of another form are left out."""
    controls: dict[str, dict[str, str]] = {}
    for entry in entries[:_MAX_CONTROLS]:
        if not isinstance(entry, Mapping):
            continue
        name, label, section = (entry.get(part) for part in ("name", "label", "section"))
        if not (isinstance(name, str) and isinstance(label, str) and isinstance(section, str) and label.strip()):
            continue
        if _CONTROL_NAME.fullmatch(name) and not any(name in group for group in controls.values()):
            controls.setdefault(shorten(section, 80), {})[name] = shorten(label, 60)
    return controls


def draw_share_form(session: PageSession[ShareForm]) -> None:
    """Draw the form for the page being given to a class; nothing if there is none."""
    show_problems(session.problems)
    if not session.state.give:
        return
    page, _, query = session.state.give.partition("?")
    state = dict(parse_qsl(query))
    current = _current_class()
    with st.container(border=True):
        st.markdown(f"#### For your class: {escape_markdown(page_title(page))}")
        settings = "your current settings" if state else "its default settings"
        st.markdown(f"Students get the page with {settings}.")
        show_problems(page_states.url_problems(page, state))
        hidden = _draw_hidden_controls(st.session_state.get(_CONTROLS, {}))
        kind: Kind = st.segmented_control(
            "Ask the class",
            list(_KINDS),
            format_func=_KINDS.__getitem__,
            default="nothing",
            required=True,
            key="give.kind",
        )
        question, problem = _draw_question_fields(kind)
        opens_at_reveal = kind != "nothing" and st.toggle(
            "Hide the page until I show the result", value=kind != "sentences", key=f"give.holds.{kind}"
        )
        with st.container(horizontal=True):
            label = f"Show it to class {current.code}" if current else "Start the class"
            is_started = st.button(label, icon=":material/groups:", key="give.start")
            st.button(
                "Cancel",
                icon=":material/close:",
                key="give.not",
                on_click=lambda: session.change(lambda state: replace(state, give="")),
            )
        if len(hidden) > MAX_NAMES:
            problem = f"At most {MAX_NAMES} controls can be hidden. Hide whole sections instead."
        if is_started and problem:
            show_problems([problem])
        elif is_started:
            classroom_card.show_question_to_class(
                ClassroomQuestion(page, state, tuple(hidden), question, opens_at_reveal=opens_at_reveal)
            )


def _current_class() -> Classroom | None:
    try:
        return store.classroom_of_teacher(current_visitor().id)
    except StoreError as error:
        show_problems([str(error)])
        return None


def _draw_hidden_controls(controls: Controls) -> list[str]:
    """Draw the list of all controls by section; return the names of those to hide from the class."""
    if not controls:
        caption("To hide controls, open the page and choose “Give to a class” in its menu “Share”.")
        return []
    count = sum(len(st.session_state.get(f"give.hide.{i}") or ()) for i in range(len(controls)))
    hidden: list[str] = []
    with st.expander(f"Controls to hide from the class: {count or 'none'}", key="give.hide"):
        caption("Controls in a folded section are listed if you unfold the section before you give the page.")
        for i, (section, labels) in enumerate(controls.items()):
            shown = {name: escape_markdown(label) for name, label in labels.items()}
            selected = st.pills(
                escape_markdown(section),
                list(shown),
                format_func=shown.__getitem__,
                selection_mode="multi",
                key=f"give.hide.{i}",
            )
            hidden += [name for name in selected if name in labels]
    return hidden


def _draw_question_fields(kind: Kind) -> tuple[Question | None, str]:
    """Draw the fields of the teacher's own question; return it, or None and what is still missing."""
    if kind == "nothing":
        return None, ""
    text = st.text_input("Your question", max_chars=200, key="give.text").strip()
    if kind == "a choice":
        lines = st.text_area("Choices, one per line", max_chars=600, height=120, key="give.choices").splitlines()
        choices = [line.strip() for line in lines if line.strip()]
        if not (text and 2 <= len(choices) <= 6):
            return None, "Write a question and two to six choices, one per line."
        return Question(text, tuple(Choice(str(i), plain_text) for i, plain_text in enumerate(choices))), ""
    if kind == "sentences":
        return (Question(text, collects=True), "") if text else (None, "Write what the sentences should be about.")
    with st.container(horizontal=True):
        low = st.number_input("From", value=0.0, format="%g", width=140, key="give.low")
        high = st.number_input("To", value=100.0, format="%g", width=140, key="give.high")
        unit = st.text_input("Unit", max_chars=20, width=140, key="give.unit").strip()
    if not text or not low < high:
        return None, "Write a question, and two numbers of which the second is larger."
    return Question(text, scale=Scale(low, high, (high - low) / 100, unit)), ""


def draw_join_form(session: PageSession[ShareForm]) -> None:
    """Draw the form in which students join a class by its code, and a teacher takes control of it by another one."""
    given = session.state.join
    with st.form("class.join", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        code = st.text_input("Join a class: type its code", given, max_chars=500, width=220, key=f"class.code{given}")
        joined = st.form_submit_button("Join", icon=":material/login:")
    if joined:
        try:
            classroom = classroom_card.find_class_to_join(code)
        except LineageError as error:
            show_problems([str(error)])
        else:
            session.change(lambda state: replace(state, join=""))
            classroom_card.open_classroom(classroom)


def hidden_control_names() -> tuple[str, ...]:
    """Return the names of the controls that the URL hides, as used in CSS classes."""
    return tuple(
        name for name in shared_url_params().get("lock", "").split(",")[:MAX_NAMES] if _CONTROL_NAME.fullmatch(name)
    )


def hide_controls(names: Iterable[str]) -> None:
    """Hide these controls by CSS; Streamlit gives each keyed element the class st-key-KEY."""
    rules = ", ".join(f'.st-key-{name}, [class*="st-key-{name}--v"]' for name in names)  # of any version of a widget
    if rules:
        st.html(f"<style>{rules} {{ display: none !important; }}</style>")


def show_unknown_controls(names: Iterable[str]) -> None:
    """Show a message for each name in the URL that is not a control of the page just drawn.

    The components inside a section are known to the browser only, where a style hides the message about them. The
    controls in a folded section are not known before it is unfolded, so a page with one shows no such message.
    """
    # The keys as Streamlit writes them in CSS classes, without their versions.
    keys = {re.sub(r"[^A-Za-z0-9_-]", "-", original_key(str(key))) for key in st.session_state}
    requested = [name for name in shared_url_params().get("lock", "").split(",") if name]
    show_problems(map(_unknown_message, (name for name in requested if name not in names)))
    for name in names:
        if name not in keys and not has_folded_sections():
            with st.container(key=f"unknown-{name}"):
                show_problems([_unknown_message(name)])
                st.html(f"<style>:root:has(.st-key-{name}) .st-key-unknown-{name} {{ display: none; }}</style>")


def _unknown_message(name: str) -> str:
    return f"There is no control “{shorten(name)}” on this page to hide; that part of the address was left out."
