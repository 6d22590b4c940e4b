"""Elements that all pages share: title, texts, warnings, empty panels, code and papers."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from explorer.database.engine import stores_nothing

LEAD, EXPLANATION = 860, 760  # widths of text in pixels


def page_head(question: str) -> None:
    """Draw the title of a page, a question, and say if the server can store nothing."""
    st.title(question, anchor=False)
    if stores_nothing():
        st.caption("The disk of this server is full or cannot be written: the runs can be read, and nothing is stored.")


def lead(text: str) -> None:
    """Draw the introduction of a page."""
    with st.container(width=LEAD):
        st.markdown(text)


def explanation(text: str) -> None:
    """Draw text at a readable line width."""
    with st.container(width=EXPLANATION):
        st.markdown(text)


def headline(sentence: str) -> None:
    """Draw the finding of a section as a heading, if there is one; markup stays text."""
    if sentence:
        st.subheader(escape_markdown(sentence), anchor=False)


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
