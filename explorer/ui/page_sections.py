"""Elements that all pages share: title, texts, warnings, empty panels, code and papers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path

import streamlit as st

from explorer.catalogue import ModelRow, model_for_task, model_row
from explorer.export.notebook import as_notebook
from explorer.export.python_file import as_python, required_libraries
from explorer.run_store import store
from explorer.training.config import RunConfig
from explorer.training.config import key as run_key
from explorer.ui.state.visitor import current_visitor

LEAD, EXPLANATION = 860, 760  # widths of text in pixels
_PACKAGE = Path(__file__).parents[1]


def page_head(question: str) -> None:
    """Draw the title of a page, a question."""
    st.title(question, anchor=False)


def lead(text: str) -> None:
    """Draw the introduction of a page."""
    with st.container(width=LEAD):
        st.markdown(text)


def explanation(text: str) -> None:
    """Draw text at a readable line width."""
    with st.container(width=EXPLANATION):
        st.markdown(text)


def show_problems(sentences: Iterable[str]) -> None:
    """Show each message as a warning."""
    for sentence in sentences:
        st.warning(escape_markdown(sentence), icon=":material/link_off:")


def empty_panel(sentence: str, height: int) -> None:
    """Draw a message in an empty panel of the given height (pixels)."""
    with st.container(height=height, border=False, vertical_alignment="center", horizontal_alignment="center"):
        st.markdown(escape_markdown(sentence))


def code_section(configs: Iterable[RunConfig], key: str) -> None:
    """Draw the source code of a model and download buttons for the whole run."""
    by_title = {config.title: config for config in configs}
    titles = list(by_title)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        chosen = st.pills("Model", titles, default=titles[0], key=key, label_visibility="collapsed")
        config = by_title.get(chosen or "", by_title[titles[0]])
        draw_downloads(config, key, f"{config.title}: this run as one file")
    file = model_for_task(config.model).source_file
    st.caption(f"explorer/{file}")
    st.code(source_code(file), language="python", height=420)


def draw_downloads(config: RunConfig, key: str, label: str = "As one file") -> None:
    """Draw buttons to download the code that trains a run: a Python file and a notebook."""
    name, visitor_id = f"{model_row(config.model).name}_{run_key(config)}", current_visitor().id
    kinds: tuple[tuple[str, str, str, Callable[[], str]], ...] = (
        (label, "py", "text/x-python", lambda: _one_file(config)),
        ("As a notebook", "ipynb", "application/x-ipynb+json", lambda: _notebook_text(config, visitor_id)),
    )
    with st.container(horizontal=True, width="content"):
        for title, suffix, mime_type, make in kinds:
            st.download_button(
                title,
                make,  # made on demand: it is assembled from two dozen files
                file_name=f"{name}.{suffix}",
                mime=mime_type,
                icon=":material/download:",
                on_click="ignore",
                key=f"{key}.{suffix}",
                help="Model, data and training in plain Python, "
                + ("in the cells of a Jupyter notebook. " if suffix == "ipynb" else "in one file. ")
                + f"It needs {required_libraries(config)}, and trains to the same curve.",
            )


_one_file = lru_cache(maxsize=256)(as_python)


def _notebook_text(config: RunConfig, visitor_id: str) -> str:
    stored = store.find_by_config(config, visitor=visitor_id)
    return as_notebook(config, stored.curves.losses if stored else None)


def papers(rows: Iterable[ModelRow]) -> None:
    """Draw the title, the paper and its link for each model."""
    for row in rows:
        st.markdown(f"**{row.title}** · [{row.paper}]({row.link})")


@lru_cache
def source_code(file: str) -> str:
    """Return the text of a source file of the package."""
    return (_PACKAGE / file).read_text()


def escape_markdown(text: str) -> str:
    """Return text with all characters escaped that Markdown would interpret."""
    return "".join("\\" + char if char in r"\`*_{}[]<>()#+-.!|~$:^&" else char for char in text)
