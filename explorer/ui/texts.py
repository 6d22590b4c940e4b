"""Which text a page works on: what this machine has, and a visitor's own, which lives as long as the visit.

An own text stays in this process's memory and in no file. The address of a page names it by its SHA-256 only.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable

import streamlit as st

from explorer.environment import environment
from explorer.errors import NeedsText
from explorer.tasks import corpora
from explorer.tasks.text import TextConfig
from explorer.ui import slowly

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
INSTEAD = "repeats"  # while Tiny Shakespeare is not here
_TEXT = "lineage.own_text"
_shared: Counter[str] = Counter()  # in how many visits each own text is
_lock = threading.Lock()


def here(corpus: str) -> bool:
    """Whether this machine has a corpus without a download."""
    if corpus != "tinyshakespeare":
        return True
    settings = environment()
    return any(
        folder and (folder / corpora.TINYSHAKESPEARE).exists() for folder in (settings.data_dir, settings.cache)
    )


def take(content: bytes | str, name: str = "") -> str:
    """Keep what a visitor pasted or uploaded for this visit, and give its SHA-256. Raises TextError."""
    text = corpora.validated_text(content, name)
    sha = corpora.keep(text)
    held = st.session_state.get(_TEXT)
    if held and held[0] != sha:
        _leave(held[0])
    if not held or held[0] != sha:
        with _lock:
            _shared[sha] += 1
    st.session_state[_TEXT] = (sha, text)
    return sha


def own() -> str:
    """The SHA-256 of the text that this visitor gave; empty if none."""
    held = st.session_state.get(_TEXT)
    return held[0] if held else ""


def remember() -> None:
    """Called at each run of a page that works on texts: the visit's own one may have been pushed out by others'."""
    held = st.session_state.get(_TEXT)
    if held is None:
        return
    sha, text = held
    try:
        corpora.text_of(TextConfig(corpus="own", text=sha))
    except NeedsText:
        corpora.keep(text)
    _stay(sha)


@st.cache_resource(scope="session", max_entries=4, show_spinner=False, on_release=lambda end: end())
def _stay(sha: str) -> Callable[[], None]:
    """Lives as long as the visit; its end is called by Streamlit."""
    return lambda: _leave(sha)


def _leave(sha: str) -> None:
    """One visit needs a text no more; with the last one it is forgotten, and all that was made of it."""
    with _lock:
        _shared[sha] -= 1
        last = _shared[sha] <= 0
        if last:
            del _shared[sha]
    if last:
        from explorer.tasks import windows

        windows.forget(sha)
        slowly.forget(sha)
