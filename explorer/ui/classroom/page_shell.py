"""What surrounds every page: the card of a class or lesson, hidden controls, and the share button."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from explorer.catalogue import PAGES
from explorer.errors import shorten
from explorer.ui.classroom import classroom_card, lesson_card, share_form
from explorer.ui.components.base import event_callbacks, register
from explorer.ui.page_sections import show_problems
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
        run()
        draw_contents()
        if problems:  # the controls of the page are known only after it is drawn
            with problems:
                share_form.show_unknown_controls(hidden)
        if page not in ("", "lessons"):
            share_form.draw_share_button(page, hidden)


def _draw_card_above(page: str) -> bool:
    """Draw the card of the class or of the lesson; return whether the page may be shown."""
    if classroom := classroom_card.current_classroom(page):
        return classroom_card.draw_classroom_card(classroom)
    classroom_card.draw_return_button()
    if lesson_step := lesson_card.current_lesson_step():
        return lesson_card.draw_lesson_card(*lesson_step, page)
    return True


_address = register("address")


def watch_address(page: str) -> None:
    """Mount the component on the page of this path; see `static/components/address/view.js`."""
    row = next(row for row in PAGES if row.address == page)
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


_projector = register("presentation")


def draw_presentation_mode(page: str) -> None:
    """Draw the button for presentation mode, which runs in the browser (`static/components/presentation/view.js`)."""
    screen = shared_url_params().get("screen", "projector")
    if screen != "projector":
        show_problems([f"There is no screen “{shorten(screen)}”. There is projector; without it the page is as usual."])
    _projector(data={"page": page}, key="projector")
