"""Fragments: the parts of a page that can rerun alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NoReturn

import streamlit as st
from streamlit.errors import StreamlitAPIException

from explorer.ui.state.visitor import read_as_visitor

_WEEK = 7 * 24 * 3600  # seconds
_DRAWN = "lineage.fragments"  # names of the fragments that the page has drawn
PAGE_RUNS = "lineage.page-runs"  # a component with new data knows the present identifier of its fragment


def forget_fragments() -> None:
    """Forget which fragments the page has; called at the beginning of each of its runs."""
    st.session_state[_DRAWN] = set()
    st.session_state[PAGE_RUNS] = st.session_state.get(PAGE_RUNS, 0) + 1


def draw_fragment(name: str, draw: Callable[[], object]) -> None:
    """Draw a part of the page as a fragment with this name."""
    st.session_state.setdefault(_DRAWN, set()).add(name)

    def draw_as_visitor() -> None:
        read_as_visitor()  # a fragment may run alone, on another thread than its page
        draw()

    # This container belongs to the page. Streamlit drops the elements of a fragment that it has not sent when the
    # fragment runs again; if its container was among them, what follows on the page would have no place.
    with st.container():
        st.fragment(draw_as_visitor, key=name)()


def run_after_reconnecting() -> None:
    """Let the browser request a run of the page when its connection was lost and is there again.

    Another server, or a server that was restarted, does not know the page; without this run, it would take the next
    event of a widget for the widget's first value and call no callback, so that the visitor's next action would be
    lost. Streamlit's page requests that run if it has a timer; this one ends only after the page was open for a week.
    """
    st.fragment(lambda: None, run_every=_WEEK)()


def rerun_fragments(names: Iterable[str]) -> NoReturn:
    """End this run and rerun those of the named fragments that the page has; without any, the whole page."""
    drawn = tuple(name for name in names if name in st.session_state.get(_DRAWN, ()))
    if drawn:
        with suppress(StreamlitAPIException):  # the run of the page that drew it was interrupted
            st.rerun(drawn)
    st.rerun()
