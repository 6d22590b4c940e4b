"""What stands around every page: the class or the lesson it is shown in, what an address hides, a way to a class."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from explorer.ui import class_card, class_form, lesson_card, lock
from explorer.ui.page import problems
from explorer.ui.session import around


def page_with_its_surroundings(page: str, run: Callable[[], None]) -> None:
    """Draw a page (`page` is its address) with what belongs above and below it."""
    locked = lock.names()
    lock.hide(locked)
    shown = _above(page)
    troubles = st.container() if "lock" in around() else None
    if shown:
        run()
        if troubles:  # only now is it known which controls there are
            with troubles:
                problems(lock.unknown(locked))
        if page not in ("", "lessons"):
            class_form.share(page)


def _above(page: str) -> bool:
    """The card of the class, or else of the lesson; whether the page may be shown."""
    if room := class_card.here(page):
        return class_card.card(room)
    class_card.way_back()
    if at := lesson_card.here():
        return lesson_card.card(*at, page)
    return True
