"""What every page has: its head, its sections, its empty panels, its code and its papers."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

import streamlit as st

from explorer.catalogue import ModelRow

LEAD, EXPLANATION = 860, 760  # widths of text in pixels
_PACKAGE = Path(__file__).parents[1]


def page_head(question: str) -> None:
    """The question as a sentence."""
    st.title(question, anchor=False)


def lead(text: str) -> None:
    """One or two sentences of what can be done about the question here."""
    with st.container(width=LEAD):
        st.markdown(text)


def explanation(text: str) -> None:
    """Prose at a width that can be read."""
    with st.container(width=EXPLANATION):
        st.markdown(text)


def problems(sentences: Iterable[str]) -> None:
    """What could not be done with an address or a setting: one sentence each, and nothing lost."""
    for sentence in sentences:
        st.warning(plain(sentence), icon=":material/link_off:")


def empty_panel(sentence: str, height: int) -> None:
    """A panel that has nothing to show yet and says what to do, as high as it will be when full."""
    with st.container(height=height, border=False, vertical_alignment="center", horizontal_alignment="center"):
        st.markdown(plain(sentence))


def code_section(rows: Iterable[ModelRow], key: str) -> None:
    """The source of a model, from its own file."""
    titles = {row.title: row for row in rows}
    chosen = st.pills("Model", list(titles), default=next(iter(titles)), key=key, label_visibility="collapsed")
    row = titles[chosen or next(iter(titles))]
    st.caption(f"explorer/{row.file}")
    st.code(source(row.file), language="python", height=420)


def papers(rows: Iterable[ModelRow]) -> None:
    """Where the models come from."""
    for row in rows:
        st.markdown(f"**{row.title}** · [{row.paper}]({row.link})")


@lru_cache
def source(file: str) -> str:
    """A source file of the package."""
    return (_PACKAGE / file).read_text()


def plain(text: str) -> str:
    """Text from outside, with nothing left that Markdown would take for markup."""
    return "".join("\\" + char if char in r"\`*_{}[]<>()#+-.!|~$:^&" else char for char in text)
