"""What every page has: its head, its sections, its empty panels, its code and its papers."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

import streamlit as st

from explorer.catalogue import ModelRow, model_row, variant
from explorer.training.config import RunConfig
from explorer.training.config import key as run_key
from explorer.training.export import as_python, needs

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


def code_section(configs: Iterable[RunConfig], key: str) -> None:
    """The source of a model, from its own file, and the whole run as one file to take away."""
    by_title = {config.title: config for config in configs}
    titles = list(by_title)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        chosen = st.pills("Model", titles, default=titles[0], key=key, label_visibility="collapsed")
        config = by_title.get(chosen or "", by_title[titles[0]])
        st.download_button(
            f"{config.title}: this run as one file",
            lambda: _one_file(config),  # made on demand: it is put together from two dozen files
            file_name=f"{model_row(config.model).name}_{run_key(config)}.py",
            mime="text/x-python",
            icon=":material/download:",
            on_click="ignore",
            help=f"Model, data and training in plain Python. It needs {needs(config)}, and trains to the same curve.",
        )
    file = variant(config.model).file
    st.caption(f"explorer/{file}")
    st.code(source(file), language="python", height=420)


_one_file = lru_cache(maxsize=256)(as_python)


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
