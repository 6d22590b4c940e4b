"""The corpora that a visitor can choose, and the visitor's own text, which is kept for the duration of the visit.

An own text is held in memory only and never written to a file. URLs name it by its SHA-256, which lets nobody else
read it.
"""

from __future__ import annotations

import threading
from collections import Counter
from typing import Final

import streamlit as st

from explorer.environment import environment
from explorer.errors import LineageError, NeedsText
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.ui.state.visitor import current_visitor, read_as_visitor
from explorer.web import background, results

CORPUS_DESCRIPTIONS = {
    "tinyshakespeare": "Tiny Shakespeare: 40,000 lines of his plays, 1.1 million characters.",
    "toy": "Toy: “abca ” again and again. After an “a”, only memory knows what comes.",
    "repeats": "Repeats: lines of made-up words, each said twice.",
    "brackets": "Brackets: random letters, and in them brackets and quotes that close in order.",
    "own": "Your own text.",
}
FALLBACK_CORPUS: Final = "repeats"  # shown while the chosen corpus is not available
_TEXT = "lineage.own_text"
_visits: Counter[tuple[str, str]] = Counter()  # open visits that hold an own text, by its SHA-256 and the visitor
_lock = threading.Lock()


def is_corpus_available(corpus: str) -> bool:
    """Return whether a corpus is on this machine, without a download."""
    if corpus != "tinyshakespeare":
        return True
    settings = environment()
    return any(folder and (folder / corpora.TINYSHAKESPEARE).exists() for folder in (settings.data_dir, settings.cache))


def is_available(task: TextConfig) -> bool:
    """Return whether the text of a task is available without a download; an own text must still be in memory."""
    if task.corpus != "own":
        return is_corpus_available(task.corpus)
    try:
        return bool(corpora.load_text(task))
    except LineageError:
        return False


def keep_text(content: bytes | str, name: str = "") -> str:
    """Store a pasted or uploaded text for this visit and return its SHA-256. Raises TextError."""
    text, visitor = corpora.validated_text(content, name), current_visitor().id
    read_as_visitor()
    sha = corpora.store_text(text, visitor)
    st.session_state[_TEXT] = (sha, text)
    _hold_text(sha, visitor)
    return sha


def own_text() -> str:
    """Return the SHA-256 of this visitor's own text; empty without one."""
    stored = st.session_state.get(_TEXT)
    return stored[0] if stored else ""


def remember_text() -> None:
    """Store this visit's own text again if others have displaced it; called at each run of a page with texts."""
    stored = st.session_state.get(_TEXT)
    if stored is None:
        return
    (sha, text), visitor = stored, current_visitor().id
    _hold_text(sha, visitor)
    try:
        corpora.load_text(TextConfig(corpus="own", text=sha))
    except NeedsText:
        corpora.store_text(text, visitor)


def _release_text(held: tuple[str, str]) -> None:
    """Release a visit's own text; with the last visit, drop the text and everything computed from it."""
    sha, visitor = held
    with _lock:
        _visits[held] -= 1
        if _visits[held] > 0:
            return
        del _visits[held]
        if not corpora.release_text(sha, visitor):
            return
    from explorer.tasks import word_vectors_rows
    from explorer.tasks.text import rows

    rows.drop_text_data(sha)
    word_vectors_rows.drop_word_data(sha)
    background.drop_results(sha)
    results.drop(sha)


@st.cache_resource(scope="session", max_entries=1, show_spinner=False, on_release=_release_text)
def _hold_text(sha: str, visitor: str) -> tuple[str, str]:
    """Count this visit as a holder of a text, until the visit ends or has a new text."""
    with _lock:
        _visits[sha, visitor] += 1
    return sha, visitor
