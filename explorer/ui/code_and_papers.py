"""The end of a page: its source code, to read and to download, and the papers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeAlias

import streamlit as st

from explorer.catalogue import ModelRow, model_for_task, model_row
from explorer.export.notebook import as_notebook
from explorer.export.python_file import as_python, required_libraries
from explorer.program_files import PACKAGE
from explorer.run_store import store
from explorer.training.config import RunConfig
from explorer.training.config import key as run_key
from explorer.ui.sections import folded_section
from explorer.ui.state.fragments import draw_fragment
from explorer.ui.state.visitor import current_visitor

Paper: TypeAlias = tuple[str, str, str]  # what it is about; authors, year and title; link
_LANGUAGES = {".py": "python", ".js": "javascript"}


def code_and_papers(
    key: str, sources: Mapping[str, str] | Iterable[RunConfig], papers: Iterable[Paper], default: str = ""
) -> None:
    """Draw the folded section with the source code and the papers.

    key: key of the widget that selects a file.
    sources: the files of the package by title; or configurations, of which each can also be downloaded as one file.
    default: title of the file that is shown first; by default the first one.
    """
    folded_section("code", "Code and papers", lambda: _draw_section(key, sources, papers, default))


def _draw_section(
    key: str, sources: Mapping[str, str] | Iterable[RunConfig], papers: Iterable[Paper], default: str
) -> None:
    draw_fragment(key, partial(_draw_code, key, sources, default))
    st.markdown("**Papers**")
    for topic, paper, link in papers:
        st.markdown(f"{topic}: [{paper}]({link})")


def _draw_code(key: str, sources: Mapping[str, str] | Iterable[RunConfig], default: str) -> None:
    """Draw the choice of a file, its downloads, and its text."""
    configs = {} if isinstance(sources, Mapping) else {config.title: config for config in sources}
    files = sources if isinstance(sources, Mapping) else {title: _model_file(each) for title, each in configs.items()}
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        default = default or next(iter(files))
        selected = st.pills("File", list(files), default=default, key=key, label_visibility="collapsed") or default
        if selected in configs:
            draw_downloads(configs[selected], key, f"{selected}: this run as one file")
    st.caption(f"explorer/{files[selected]}")
    st.code(_source_code(files[selected]), language=_LANGUAGES[Path(files[selected]).suffix], height=420)


def paper_of(row: ModelRow) -> Paper:
    """Return the paper of a model."""
    return row.title, row.paper, row.link


def _model_file(config: RunConfig) -> str:
    return model_for_task(config.model).source_file


@lru_cache
def _source_code(file: str) -> str:
    """Return the text of a source file of the package."""
    return (PACKAGE / file).read_text("utf-8")


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
                + f"It needs {required_libraries(config)}, and gives the same curve on the same kind of machine.",
            )


_one_file = lru_cache(maxsize=256)(as_python)


def _notebook_text(config: RunConfig, visitor_id: str) -> str:
    stored = store.find_by_config(config, visitor=visitor_id)
    return as_notebook(config, stored.curves.losses if stored else None)
