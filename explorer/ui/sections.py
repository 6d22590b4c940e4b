"""Sections of a page: open ones, and folded ones that compute nothing until the visitor unfolds them.

Each section has a name that stays the same: lessons lead to it, the table of contents lists it
(`static/components/contents/view.js`), and the URL parameter `unfold=NAME,NAME` unfolds it. In the browser it is the
element with the CSS class `st-key-page-section-NAME`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial

import streamlit as st

from explorer.ui.components.base import register
from explorer.ui.glossary import mark_terms
from explorer.ui.state.session import set_shared_param, shared_url_params

MAX_FOLDS = 5  # of a page
_SECTIONS = "lineage.sections"  # titles of the sections that the page has drawn, by name
_contents = register("contents")


@contextmanager
def page_section(name: str, title: str, *, heading: bool = True) -> Iterator[None]:
    """Draw an open section of the page with this title; without `heading` the section draws its heading itself."""
    with _section_container(name, title):
        if heading:
            st.header(mark_terms(title), anchor=False)
        yield


def folded_section(name: str, question: str, draw: Callable[[], object], *, former_names: tuple[str, ...] = ()) -> None:
    """Draw a section that shows only its question until it is unfolded; `draw` runs only while it is.

    The page reruns when the visitor folds or unfolds a section, and its URL says which ones are unfolded. A URL may
    also give one of the `former_names`, those of sections that are now part of this one.
    """
    key = f"fold.{name}"
    st.session_state[key] = not {name, *former_names}.isdisjoint(unfolded_sections())
    with _section_container(name, question):
        fold = st.expander(question, key=key, on_change=partial(_record_fold, name, key, former_names))
        if fold.open:
            with fold:
                draw()


def unfolded_sections() -> tuple[str, ...]:
    """Return the names of the sections that the URL unfolds."""
    return tuple(filter(None, shared_url_params().get("unfold", "").split(",")[: 2 * MAX_FOLDS]))


def has_folded_sections() -> bool:
    """Return whether the page that was drawn has a section that is folded."""
    return any(not st.session_state.get(f"fold.{name}", True) for name in st.session_state.get(_SECTIONS, {}))


def forget_sections() -> None:
    """Forget the sections of the page; called before it is drawn."""
    st.session_state[_SECTIONS] = {}


def draw_contents() -> None:
    """Draw the table of contents of the page that was drawn, if it has more than three sections."""
    sections = [{"name": name, "title": title} for name, title in st.session_state.get(_SECTIONS, {}).items()]
    _contents(data={"sections": sections if len(sections) > 3 else []}, key="contents")


def _section_container(name: str, title: str) -> AbstractContextManager[object]:
    st.session_state.setdefault(_SECTIONS, {})[name] = title
    container: AbstractContextManager[object] = st.container(key=f"page-section-{name}")
    return container


def _record_fold(name: str, key: str, former_names: tuple[str, ...] = ()) -> None:
    """Write to the URL whether the visitor has unfolded this section."""
    others = [each for each in unfolded_sections() if each not in (name, *former_names)]
    set_shared_param("unfold", ",".join([*others, name] if st.session_state[key] else others))
