"""The end of a page: its source code, to read and to download, and the papers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TypeAlias

import streamlit as st

from explorer.byte_cache import cached
from explorer.catalogue import ModelRow, model_for_task, model_row
from explorer.errors import LineageError
from explorer.export.notebook import export_files
from explorer.export.python_file import required_libraries, zip_of
from explorer.program_files import PACKAGE
from explorer.run_store import store
from explorer.tasks.text import corpora
from explorer.training.config import RunConfig
from explorer.training.config import key as run_key
from explorer.ui.sections import folded_section
from explorer.ui.state.fragments import draw_fragment
from explorer.ui.state.visitor import current_visitor
from explorer.ui.state.widgets import draw_choice

Paper: TypeAlias = tuple[str, str, str]  # what it is about; authors, year and title; link

# Papers of several pages: authors, year and title; link
BENGIO_1994 = (
    "Bengio, Simard and Frasconi 1994, Learning long-term dependencies with gradient descent is difficult",
    "https://doi.org/10.1109/72.279181",
)
GERS_2000 = (
    "Gers, Schmidhuber and Cummins 2000, Learning to forget: continual prediction with LSTM",
    "https://doi.org/10.1162/089976600300015015",
)
PASCANU_2013 = (
    "Pascanu, Mikolov and Bengio 2013, On the difficulty of training recurrent neural networks",
    "https://arxiv.org/abs/1211.5063",
)
LINZEN_2016 = (
    "Linzen, Dupoux and Goldberg 2016, Assessing the ability of LSTMs to learn syntax-sensitive dependencies",
    "https://arxiv.org/abs/1611.01368",
)
MICHEL_2019 = (
    "Michel, Levy and Neubig 2019, Are sixteen heads really better than one?",
    "https://arxiv.org/abs/1905.10650",
)
LOGIT_LENS = (
    "nostalgebraist 2020, Interpreting GPT: the logit lens",
    "https://www.lesswrong.com/posts/AcKRB8wDpdaN6v6ru/interpreting-gpt-the-logit-lens",
)
XIONG_2020 = (
    "Xiong et al. 2020, On layer normalization in the Transformer architecture",
    "https://arxiv.org/abs/2002.04745",
)
OLSSON_2022 = ("Olsson et al. 2022, In-context learning and induction heads", "https://arxiv.org/abs/2209.11895")

_LANGUAGES = {".py": "python", ".js": "javascript"}


def code_and_papers(
    key: str, sources: Mapping[str, str] | Iterable[RunConfig], papers: Iterable[Paper], default: str = ""
) -> None:
    """Draw the folded section with the source code and the papers.

    key: key of the widget that selects a file.
    sources: the files of the package by title; or configurations, of which each can also be downloaded as a program.
    default: title of the file that is shown first; by default the first one.
    """

    def draw_section() -> None:
        draw_fragment(key, partial(_draw_code, key, sources, default))
        st.markdown("**Papers**")
        for topic, paper, link in papers:
            st.markdown(f"{topic}: [{paper}]({link})")

    folded_section("code", "Code and papers", draw_section)


def _draw_code(key: str, sources: Mapping[str, str] | Iterable[RunConfig], default: str) -> None:
    configs = {} if isinstance(sources, Mapping) else {config.title: config for config in sources}
    modules = {title: model_for_task(each.model).class_name.partition(":")[0] for title, each in configs.items()}
    files = sources if isinstance(sources, Mapping) else {title: f"models/{name}.py" for title, name in modules.items()}
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        default = default or next(iter(files))
        titles = {title: title for title in files}
        selected = draw_choice(st.pills, "File", titles, key=key, default=default, label_visibility="collapsed")
        if selected in configs:
            draw_downloads(configs[selected], key, f"{selected}: this run as Python")
    st.caption(f"explorer/{files[selected]}")
    st.code(_source_code(files[selected]), language=_LANGUAGES[Path(files[selected]).suffix], height=420)


def paper_of(row: ModelRow) -> Paper:
    """Return the paper of a model."""
    return row.title, row.paper, row.link


@cached()
def _source_code(file: str) -> str:
    return (PACKAGE / file).read_text("utf-8")


def draw_downloads(config: RunConfig, key: str, label: str = "As Python") -> None:
    """Draw buttons to download the code of a run with its weights: a Python file and a notebook, each in a zip."""
    name, visitor_id = f"{model_row(config.model).name}_{run_key(config)}", current_visitor().id
    with st.container(horizontal=True, width="content"):
        for title, suffix in ((label, "py"), ("As a notebook", "ipynb")):
            st.download_button(
                title,
                partial(_exported, config, visitor_id, f"{name}.{suffix}"),  # made on demand: it gathers the examples
                file_name=f"{name}.zip" if suffix == "py" else f"{name}_notebook.zip",
                mime="application/zip",
                icon=":material/download:",
                on_click="ignore",
                key=f"{key}.{suffix}",
                help="A zip with the model and its training in plain Python"
                + (", in the cells of a Jupyter notebook" if suffix == "ipynb" else "")
                + f", and with weights and examples beside it. It needs {required_libraries(config)}.",
            )


def _exported(config: RunConfig, visitor_id: str, file: str) -> bytes:
    """Return a zip with the code of a run and its weights, if it is trained; the sentence of an error otherwise."""
    with corpora.read_as(visitor_id):
        stored = store.find_by_config(config, visitor=visitor_id)
        try:
            return zip_of(export_files(config, stored, Path(file)))
        except LineageError as error:
            return zip_of({Path("README.txt"): f"{error}\n".encode()})
