"""What every page has: its head, its sections, its empty panels, its code and its papers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path

import streamlit as st

from explorer.catalogue import ModelRow, model_row, variant
from explorer.training import store
from explorer.training.config import RunConfig
from explorer.training.config import key as run_key
from explorer.training.export import as_python, needs
from explorer.training.notebook import as_notebook
from explorer.ui.visitors import visitor

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
        take_away(config, key, f"{config.title}: this run as one file")
    file = variant(config.model).file
    st.caption(f"explorer/{file}")
    st.code(source(file), language="python", height=420)


def take_away(config: RunConfig, key: str, label: str = "As one file") -> None:
    """A run as code that trains it again: one plain file, or a notebook."""
    name, ask = f"{model_row(config.model).name}_{run_key(config)}", visitor().id
    kinds: tuple[tuple[str, str, str, Callable[[], str]], ...] = (
        (label, "py", "text/x-python", lambda: _one_file(config)),
        ("As a notebook", "ipynb", "application/x-ipynb+json", lambda: _notebook(config, ask)),
    )
    with st.container(horizontal=True, width="content"):
        for title, ending, kind, make in kinds:
            st.download_button(
                title,
                make,  # made on demand: it is put together from two dozen files
                file_name=f"{name}.{ending}",
                mime=kind,
                icon=":material/download:",
                on_click="ignore",
                key=f"{key}.{ending}",
                help="Model, data and training in plain Python, "
                + ("in the cells of a Jupyter notebook. " if ending == "ipynb" else "in one file. ")
                + f"It needs {needs(config)}, and trains to the same curve.",
            )


_one_file = lru_cache(maxsize=256)(as_python)


def _notebook(config: RunConfig, me: str) -> str:
    stored = store.find_config(config, visitor=me)
    return as_notebook(config, stored.curves.losses if stored else None)


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
