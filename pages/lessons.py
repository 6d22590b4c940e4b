"""Lessons: a prediction first, then the measurement."""

from __future__ import annotations

import streamlit as st

from explorer.ui import class_form, lessons
from explorer.ui.lesson_card import open_step
from explorer.ui.page import explanation, lead, page_head
from explorer.ui.session import page_session, write_address


def list_of_lessons() -> None:
    """Every lesson: what it answers, how long it takes, and where it begins."""
    for number, lesson in enumerate(lessons.every().values(), start=1):
        with st.container(border=True):
            st.markdown(f"#### {number}. {lesson.title}\n\n{lesson.about}")
            with st.container(horizontal=True, vertical_alignment="center"):
                if st.button(
                    "Start", icon=":material/play_arrow:", key=f"lessons.start.{lesson.name}", help=lesson.title
                ):
                    open_step(lesson.name, 1)
                st.caption(f"{len(lesson.steps)} predictions, about {lesson.minutes} minutes")


session = page_session("lessons", class_form.Lectern)
page_head("What do you expect, and what is it really?")
lead(
    "Each lesson walks through these pages in a few steps. At every step you predict first; then the answer is "
    "measured, from runs that anybody can repeat, and stands beside what you said."
)
class_form.form(session)
list_of_lessons()
st.header("With a class", anchor=False)
class_form.join()
explanation(
    "Teachers: open a lesson and press **Give it to a class**, or press **Give this page to a class** at the end of "
    "any page. You get an address and its QR code. Everybody's predictions appear on your screen as they come, without "
    "names and without accounts; you reveal the answer when you like. Whatever was answered is gone when you end the "
    "class."
)
write_address(session)
