"""Elements that all pages share: texts, warnings, empty panels, code and papers.

Texts link each technical term to its definition in the glossary.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import streamlit as st

from explorer.ui.glossary import mark_terms

LEAD, EXPLANATION = 860, 760  # widths of text in pixels


def lead(text: str) -> None:
    """Draw the introduction of a page."""
    with st.container(width=LEAD):
        st.markdown(mark_terms(text))


def explanation(text: str) -> None:
    """Draw text at a readable line width."""
    with st.container(width=EXPLANATION):
        st.markdown(mark_terms(text))


def caption(text: str, width: int | Literal["stretch", "content"] = "stretch") -> None:
    """Draw a small text, for example under a figure; `width` is as in `st.caption`."""
    st.caption(mark_terms(text), width=width)


def headline(sentence: str) -> None:
    """Draw the finding of a section as a heading, if there is one; markup stays text."""
    if sentence:
        st.subheader(mark_terms(escape_markdown(sentence)), anchor=False)


def paragraph(sentence: str) -> None:
    """Draw a sentence at a readable line width, if there is one; markup stays text."""
    if sentence:
        explanation(escape_markdown(sentence))


def show_problems(sentences: Iterable[str]) -> None:
    """Show each message as a warning."""
    for sentence in sentences:
        st.warning(escape_markdown(sentence), icon=":material/link_off:")


def empty_panel(sentence: str, height: int) -> None:
    """Draw a message in an empty panel of the given height (pixels)."""
    with st.container(height=height, border=False, vertical_alignment="center", horizontal_alignment="center"):
        st.markdown(escape_markdown(sentence))


def perplexity_link() -> None:
    """Draw the link to the page on comparing losses of language models."""
    st.page_link("perplexity.py", label="When can two perplexities be compared?", icon=":material/arrow_forward:")


def escape_markdown(text: str) -> str:
    """Return text with all characters escaped that Markdown would interpret."""
    return "".join("\\" + char if char in r"\`*_{}[]<>()#+-.!|~$:^&" else char for char in text)
