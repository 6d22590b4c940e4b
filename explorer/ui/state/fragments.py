"""Fragments: the parts of a page that can rerun alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NoReturn

import streamlit as st
from streamlit.errors import StreamlitAPIException

from explorer.ui.state.visitor import read_as_visitor

_DRAWN = "lineage.fragments"  # names of the fragments that the page has drawn


def forget_fragments() -> None:
    """Forget which fragments the page has; called at the beginning of each of its runs."""
    st.session_state[_DRAWN] = set()


def draw_fragment(name: str, draw: Callable[[], object]) -> None:
    """Draw a part of the page as a fragment with this name."""
    st.session_state.setdefault(_DRAWN, set()).add(name)

    def draw_as_visitor() -> None:
        read_as_visitor()  # a fragment may run alone, on another thread than its page
        draw()

    st.fragment(draw_as_visitor, key=name)()


def rerun_fragments(names: Iterable[str]) -> NoReturn:
    """End this run and rerun those of the named fragments that the page has; without any, the whole page."""
    drawn = tuple(name for name in names if name in st.session_state.get(_DRAWN, ()))
    if drawn:
        with suppress(StreamlitAPIException):  # the run of the page that drew it was interrupted
            st.rerun(drawn)
    st.rerun()
