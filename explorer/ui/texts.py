"""Which text a page works on: what this machine has, and a visitor's own, which lives as long as the visit.

An own text stays in this process's memory and in no file. The address of a page names it by its SHA-256 only.
"""

from __future__ import annotations

import threading
from collections import Counter
from typing import Final

import streamlit as st

from explorer.environment import environment
from explorer.errors import LineageError, NeedsText
from explorer.tasks import corpora
from explorer.tasks.text import TextConfig
from explorer.ui import packed, slowly, streams

NAMES = {
    "tinyshakespeare": "Tiny Shakespeare",
    "toy": "Toy",
    "repeats": "Repeats",
    "brackets": "Brackets",
    "own": "Your own",
}
ABOUT = {
    "tinyshakespeare": "Tiny Shakespeare: 40,000 lines of his plays, 1.1 million characters.",
    "toy": "Toy: “abca ” again and again. After an “a”, only memory knows what comes.",
    "repeats": "Repeats: lines of made-up words, each said twice.",
    "brackets": "Brackets: random letters, and in them brackets and quotes that close in order.",
    "own": "Your own text.",
}
INSTEAD: Final = "repeats"  # while Tiny Shakespeare is not here
_TEXT = "lineage.own_text"
_visits: Counter[str] = Counter()  # that have each own text
_lock = threading.Lock()


def here(corpus: str) -> bool:
    """Whether this machine has a corpus without a download."""
    if corpus != "tinyshakespeare":
        return True
    settings = environment()
    return any(folder and (folder / corpora.TINYSHAKESPEARE).exists() for folder in (settings.data_dir, settings.cache))


def readable(task: TextConfig) -> bool:
    """Whether the text of a task can be read without a download, and is still known if it is a visitor's own."""
    if task.corpus != "own":
        return here(task.corpus)
    try:
        return bool(corpora.text_of(task))
    except LineageError:
        return False


def take(content: bytes | str, name: str = "") -> str:
    """Keep what a visitor pasted or uploaded for this visit, and give its SHA-256. Raises TextError."""
    text = corpora.validated_text(content, name)
    sha = corpora.keep(text)
    st.session_state[_TEXT] = (sha, text)
    _visit(sha)
    return sha


def own() -> str:
    """The SHA-256 of the text that this visitor gave; empty if none."""
    held = st.session_state.get(_TEXT)
    return held[0] if held else ""


def remember() -> None:
    """Called at each run of a page that works on texts: this visit's own one may have been pushed out by others'."""
    held = st.session_state.get(_TEXT)
    if held is None:
        return
    sha, text = held
    _visit(sha)
    try:
        corpora.text_of(TextConfig(corpus="own", text=sha))
    except NeedsText:
        corpora.keep(text)


def _leave(sha: str) -> None:
    """A visit needs a text no more; with the last one it is forgotten, and all that was made of it."""
    with _lock:
        _visits[sha] -= 1
        if _visits[sha] > 0:
            return
        del _visits[sha]
    from explorer.tasks import windows

    windows.forget(sha)
    slowly.forget(sha)
    streams.forget(sha)
    packed.forget(sha)


@st.cache_resource(scope="session", max_entries=1, show_spinner=False, on_release=_leave)
def _visit(sha: str) -> str:
    """Lives as long as the visit, or until it has another text."""
    with _lock:
        _visits[sha] += 1
    return sha
