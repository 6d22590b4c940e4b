"""The page that lists the lessons and lets a teacher start a class."""

from __future__ import annotations

import streamlit as st

from explorer.ui.classroom import share_form
from explorer.ui.classroom.lesson_card import open_step
from explorer.ui.page_sections import explanation, lead, page_head
from explorer.ui.state.session import page_session, write_url
from explorer.web import lesson_results


def list_of_lessons() -> None:
    """Draw every lesson with its description, its duration and a start button."""
    for number, lesson in enumerate(lesson_results.all_lessons().values(), start=1):
        with st.container(border=True):
            st.markdown(f"#### {number}. {lesson.title}\n\n{lesson.about}")
            with st.container(horizontal=True, vertical_alignment="center"):
                if st.button(
                    "Start", icon=":material/play_arrow:", key=f"lessons.start.{lesson.name}", help=lesson.title
                ):
                    open_step(lesson.name, 1)
                st.caption(f"{len(lesson.steps)} predictions, about {lesson.minutes} minutes")


session = page_session("lessons", share_form.ShareForm)
page_head("What do you expect, and what is it really?")
lead(
    "Each lesson walks through these pages in a few steps. At every step you predict first; then the answer is "
    "measured, from runs that anybody can repeat, and stands beside what you said."
)
share_form.draw_share_form(session)
list_of_lessons()
st.header("With a class", anchor=False)
share_form.draw_join_form()
explanation(
    "Teachers: open a lesson and press **Give it to a class**, or press **Give this page to a class** at the end of "
    "any page. You get an address and its QR code. Everybody's predictions appear on your screen as they come, without "
    "names and without accounts; you reveal the answer when you like. Whatever was answered is gone when you end the "
    "class."
)
write_url(session)
