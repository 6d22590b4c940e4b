"""The page that lists the lessons and lets a teacher start a class."""

from __future__ import annotations

import streamlit as st

from explorer.lessons.plans import PERIODS, format_plan
from explorer.ui.classroom import share_form
from explorer.ui.classroom.lesson_card import draw_lesson_list
from explorer.ui.page_sections import explanation, lead
from explorer.ui.state.session import page_session, write_url
from explorer.web import lesson_results


def class_section() -> None:
    """Draw the form to join a class, and how a teacher starts one."""
    st.header("With a class", anchor=False)
    share_form.draw_join_form(session)
    explanation(
        "Teachers: open a lesson and press **Give it to a class**, or open **Share** on a page and press "
        "**Give to a class**. Students need no account, and their answers have no names."
    )
    with st.expander("Plans for teachers: 45 and 90 minutes"):
        for minutes in PERIODS:
            st.markdown(format_plan(lesson_results.all_lessons(), minutes))


session = page_session("lessons", share_form.ShareForm)
lead("Each lesson goes through these pages: you predict, then the answer is measured on trained models.")
share_form.draw_share_form(session)
draw_lesson_list()
class_section()
write_url(session)
