"""Controls to choose a text: a corpus, or a visitor's own text, pasted or uploaded."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import streamlit as st

from explorer.environment import environment
from explorer.errors import CorpusMissing, NeedsText
from explorer.tasks.text import corpora
from explorer.tasks.text.config import CORPUS_NAMES, TextConfig
from explorer.ui import visitor_text
from explorer.ui.page_sections import caption, escape_markdown, show_problems
from explorer.ui.state.session import PageSession
from explorer.ui.state.widgets import bind_widget

# The functions below take the session of a page whose state has `corpus`, `text` (the SHA-256 of the visitor's own
# text) and `with_corpus(corpus, text)`.


def with_other_corpus(state: Any, corpus: str) -> Any:
    """Return the state with another corpus: for “own” with the text that this visitor has given."""
    if corpus == state.corpus:
        return state
    return state.with_corpus(corpus, visitor_text.own_text() if corpus == "own" else "")


def draw_corpus_row(session: PageSession[Any], folded: bool = False) -> None:
    """Draw the choice of the corpus, behind a button if it is `folded`, and for an own text the form to enter it."""
    corpus = session.state.corpus
    with st.popover("Another text", icon=":material/description:") if folded else st.container():
        bind_widget(
            session,
            "corpus",
            st.segmented_control,
            shown=corpus,
            update=with_other_corpus,
            label="Text",
            options=CORPUS_NAMES,
            help=escape_markdown(visitor_text.CORPUS_DESCRIPTIONS[corpus]),
        )
    if corpus == "own":
        draw_own_text_form(session)


def draw_own_text_form(session: PageSession[Any]) -> None:
    """Draw the form in which a visitor pastes or uploads a text."""

    def set_text(content: bytes | str, name: str) -> None:
        session.change(lambda state: state.with_corpus("own", visitor_text.keep_text(content, name)))

    draw_paste_or_upload(
        session.prefix,
        set_text,
        field="Paste a text",
        placeholder="At least 20 characters",
        button="Use this text",
        what="your text",
    )


def draw_table_form(
    session: PageSession[Any],
    kind: visitor_text.Kind,
    read: Callable[[str], object],
    with_table: Callable[[Any, str], Any],
    *,
    title: str,
    explanation: str,
    placeholder: str,
    example: str,
    expanded: bool,
) -> None:
    """Draw the form in which a visitor gives a table (CSV).

    kind: what its rows are
    read: raises TextError for a table that cannot be used
    with_table: returns the state with the table of this SHA-256
    title, explanation: of the form, which is unfolded if `expanded`
    placeholder, example: a table in the field, and one to download
    """

    def set_text(content: bytes | str, name: str) -> None:
        def keep_table() -> None:
            sha = visitor_text.keep_text(content, name, kind, read)
            session.change(lambda state: with_table(state, sha))

        session.attempt(keep_table)

    with st.expander(title, expanded=expanded):
        st.markdown(explanation)
        draw_paste_or_upload(
            session.prefix,
            set_text,
            field="Paste a table",
            placeholder=placeholder,
            button=f"Use these {kind}",
            what="your table",
            file_type="csv",
        )
        icon = ":material/download:"
        st.download_button("Download an example", example, f"{kind}.csv", "text/csv", icon=icon, on_click="ignore")


def draw_paste_or_upload(
    page: str,
    set_text: Callable[[bytes | str, str], None],
    *,
    field: str,
    placeholder: str,
    button: str,
    what: str,
    file_type: str = "txt",
) -> None:
    """Draw a field to paste a text and a button to upload a file.

    page: the start of the keys of the widgets
    set_text: is called with the content, and the name of an uploaded file
    field, placeholder, button: labels of the field for a text
    what: what the visitor gives, as in “your text”
    file_type: the ending of a file's name
    """

    def set_uploaded_text() -> None:
        file = st.session_state[f"{page}.file"]
        if file is not None:
            set_text(file.getvalue(), file.name)
        st.session_state[f"{page}.windows"] = file is not None and corpora.is_windows_encoding(file.getvalue())

    max_bytes = environment().most_corpus
    with st.container(border=True):
        left, right = st.columns([3, 2], gap="medium")
        with left, st.form(f"{page}.paste", border=False):
            st.text_area(field, height=120, key=f"{page}.pasted", placeholder=placeholder)
            st.form_submit_button(
                button,
                icon=":material/menu_book:",
                on_click=lambda: set_text(st.session_state[f"{page}.pasted"], ""),
            )
        with right:
            st.file_uploader(
                f"or upload a file: .{file_type}, best in UTF-8, up to {_describe_size(max_bytes)}",
                type=[file_type],
                key=f"{page}.file",
                on_change=set_uploaded_text,
                max_upload_size=math.ceil(max_bytes / 1_000_000),  # whole MB; `validated_text` checks the exact size
            )
        show_problems([corpora.WINDOWS_NOTE] if st.session_state.get(f"{page}.windows") else [])
        caption(
            f"{what[0].upper()}{what[1:]} stays in this server's memory while your visit lasts, and is never written "
            "to a disk. The visit ends when you close or reload the last browser tab with it. Only you can read it and "
            "train on it, unless you share it with a class that you lead. The address contains only a fingerprint of "
            f"it: whoever opens it is asked for the same {what.split()[-1]}."
        )


def _describe_size(size: int) -> str:
    return f"{size // 100_000 / 10:g} MB" if size >= 1_000_000 else f"{size:,} bytes"


def selected_text(session: PageSession[Any]) -> TextConfig:
    """Return the chosen text; if it is not available, say so and return the fallback corpus."""
    state, fallback = session.state, CORPUS_NAMES[visitor_text.FALLBACK_CORPUS]
    try:
        if not corpora.is_corpus_available(state.corpus):
            draw_missing_corpus(session, f"Tiny Shakespeare is not on this machine yet; {fallback} is shown instead.")
        elif state.corpus == "own" and not state.text:
            caption(f"Showing {fallback} until you paste or upload a text.")
        else:
            config = TextConfig(corpus=state.corpus, text=state.text)  # each page checks its own
            corpora.load_text(config)
            if config.corpus == "own":
                visitor_text.adopt_text("text", config.text)
            return config
    except NeedsText as error:
        show_problems([f"{error} {fallback} is shown instead."])
    except CorpusMissing as error:
        show_problems([str(error)])
    return TextConfig(corpus=visitor_text.FALLBACK_CORPUS)


def draw_missing_corpus(session: PageSession[Any], sentence: str) -> None:
    """Draw a message and a button that downloads Tiny Shakespeare."""

    def download() -> None:
        def with_fetched_text(state: Any) -> Any:
            corpora.load_text(TextConfig())
            return state

        session.change(with_fetched_text)

    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(sentence)
        st.button("Download it (1.1 MB)", icon=":material/download:", on_click=download)
