"""What surrounds every page: its title, the card of a class or lesson, hidden controls, and the next page."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from explorer.catalogue import next_page, page_row
from explorer.database.engine import stores_nothing
from explorer.ui.classroom import classroom_card, lesson_card, share_form
from explorer.ui.components.base import event_callbacks, register
from explorer.ui.glossary import mark_terms
from explorer.ui.page_sections import caption
from explorer.ui.sections import draw_contents, forget_sections
from explorer.ui.state.session import followed_search, shared_url_params


def draw_page_in_shell(page: str, run: Callable[[], None]) -> None:
    """Draw a page (`page` is its path) with the elements above and below it."""
    hidden = share_form.hidden_control_names()
    share_form.hide_controls(hidden)
    is_open = _draw_card_above(page)
    problems = st.container() if "lock" in shared_url_params() else None
    if is_open:
        forget_sections()
        st.title(mark_terms(page_row(page).question), anchor=False)
        if stores_nothing():
            caption("The disk of this server is full or cannot be written: the runs can be read, nothing is stored.")
        run()
        draw_contents()
        if problems:  # the controls of the page are known only after it is drawn
            with problems:
                share_form.show_unknown_controls(hidden)
        if not shared_url_params().keys() & {"lesson", "class"}:  # these lead on by themselves
            following = next_page(page)
            with st.container(key="next-page"):
                label = f"Next: {following.question}"
                st.page_link(following.file, label=label, icon=":material/arrow_forward:")


def _draw_card_above(page: str) -> bool:
    """Draw the card of the class or of the lesson; return whether the page may be shown."""
    if classroom := classroom_card.current_classroom(page):
        return classroom_card.draw_classroom_card(classroom)
    classroom_card.draw_return_button()
    if lesson_step := lesson_card.current_lesson_step():
        lesson_card.draw_lesson_card(*lesson_step, page)
    return True


_address = register("address")


def watch_address(page: str) -> None:
    """Mount the component on the page of this path; see `static/components/address/view.js`."""
    row = page_row(page)
    _address(
        data={"page": page, "section": row.section, "title": row.title, "followed": followed_search()},
        key="address",
        **event_callbacks("address", "visited"),
    )


_jobs = register("jobs_panel")


def draw_jobs_panel(key: str, current_run: str = "", version: int = 0) -> None:
    """Draw the panel of jobs, which polls the server by itself; see `static/components/jobs_panel/view.js`.

    `current_run` is the key of the run on this page. When `version` changes, the panel polls at once.
    """
    _jobs(data={"here": current_run, "news": version}, key=key)
