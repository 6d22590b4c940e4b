"""Where a visitor chooses a text: what this machine has, or one of their own, pasted or as a file."""

from __future__ import annotations

import math
from typing import Any, Protocol, TypeVar, runtime_checkable

import streamlit as st

from explorer.environment import environment
from explorer.errors import CorpusMissing, NeedsText
from explorer.tasks import corpora
from explorer.tasks.text import TextConfig
from explorer.ui import texts
from explorer.ui.page import problems
from explorer.ui.session import PageSession, bound


@runtime_checkable
class Chooses(Protocol):
    """The state of a page that works on a text."""

    @property
    def corpus(self) -> str: ...
    @property
    def text(self) -> str:
        """The SHA-256 of an own text; empty until there is one."""

    def with_corpus(self, corpus: Any, text: str = "") -> Any: ...


State = TypeVar("State", bound=Chooses)


def corpus_row(session: PageSession[State], page: str) -> None:
    """Which text is read."""
    here = session.state.corpus

    def other(state: State, corpus: str | None) -> State:
        if corpus in (None, state.corpus):
            return state
        return state.with_corpus(corpus, texts.own() if corpus == "own" else "")  # type: ignore[no-any-return]

    ties = bound(session, f"{page}.corpus", here, other)
    st.segmented_control("Text", list(texts.NAMES), format_func=texts.NAMES.__getitem__, **ties)
    if here == "own":
        own_text(session, page)


def own_text(session: PageSession[State], page: str) -> None:
    """Where a visitor gives a text."""

    def use(content: bytes | str, name: str = "") -> None:
        session.change(lambda state: state.with_corpus("own", texts.take(content, name)))

    def uploaded() -> None:
        file = st.session_state[f"{page}.file"]
        if file is not None:
            use(file.getvalue(), file.name)

    most = environment().most_corpus
    with st.container(border=True):
        left, right = st.columns([3, 2], gap="medium")
        with left, st.form(f"{page}.paste", border=False):
            st.text_area("Paste a text", height=120, key=f"{page}.pasted", placeholder="At least 20 characters")
            st.form_submit_button(
                "Read it", icon=":material/menu_book:", on_click=lambda: use(st.session_state[f"{page}.pasted"])
            )
        with right:
            st.file_uploader(
                f"or take a file: .txt in UTF-8, up to {_size(most)}",
                type=["txt"],
                key=f"{page}.file",
                on_change=uploaded,
                max_upload_size=math.ceil(most / 1_000_000),  # whole MB: what is a little larger, the text's check says
            )
        st.caption(
            "Your text stays in this server's memory for your visit only, and is written to no disk. The address holds "
            "its fingerprint, not the text: whoever opens it elsewhere is asked for the same text."
        )


def _size(most: int) -> str:
    """So many bytes for a person, never more than there are."""
    return f"{most // 100_000 / 10:g} MB" if most >= 1_000_000 else f"{most:,} bytes"


def chosen_text(session: PageSession[State], page: str) -> TextConfig:
    """The text on screen: the chosen one, or another while that is not here; says so."""
    state = session.state
    instead = texts.NAMES[texts.INSTEAD]
    if not texts.here(state.corpus):
        missing(session, page, f"Tiny Shakespeare is not on this machine yet; meanwhile you see {instead}.")
        return TextConfig(corpus=texts.INSTEAD)
    try:
        if state.corpus == "own" and not state.text:
            st.caption(f"Until there is a text of yours you see {instead}.")
            return TextConfig(corpus=texts.INSTEAD)
        config = TextConfig(corpus=state.corpus, text=state.text)  # type: ignore[arg-type]  # each page checks its own
        corpora.text_of(config)
        return config
    except NeedsText as error:
        problems([f"{error} Meanwhile you see {instead}."])
    except CorpusMissing as error:
        problems([str(error)])
    return TextConfig(corpus=texts.INSTEAD)


def missing(session: PageSession[State], page: str, sentence: str) -> None:
    """Tiny Shakespeare is not here: one sentence, and a way to get it."""

    def download() -> None:
        def fetched(state: State) -> State:
            corpora.text_of(TextConfig())
            return state

        session.change(fetched)

    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(sentence)
        st.button("Download it (1.1 MB)", icon=":material/download:", on_click=download)
