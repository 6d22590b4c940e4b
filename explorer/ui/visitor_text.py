"""The corpora that a visitor can choose, and the visitor's own text, which is kept for the duration of the visit.

An own text is held in memory only and never written to a file, unless a teacher shares it with a class
(`web/classes/store.py`). URLs name it by its SHA-256, which lets nobody else read it.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Final, Literal, TypeAlias, get_args

import streamlit as st

from explorer.errors import NeedsText
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.ui.state.visitor import current_visitor, read_as_visitor
from explorer.web import own_texts

CORPUS_DESCRIPTIONS = {
    "tinyshakespeare": "Tiny Shakespeare: 40,000 lines of his plays, 1.1 million characters.",
    "english": "English: short sentences about films, food and people, which a grammar composes.",
    "toy": "Toy: “abca ” again and again. After an “a”, only memory knows what comes.",
    "repeats": "Repeats: lines of made-up words, each said twice.",
    "brackets": "Brackets: random letters, and in them brackets and quotes that close in order.",
    "own": "Your own text.",
}
FALLBACK_CORPUS: Final = "repeats"  # shown while the chosen corpus is not available
Kind: TypeAlias = Literal["text", "sentences", "pairs"]  # a visitor has one own text of each kind
KINDS: Final = get_args(Kind)
_visits: Counter[tuple[str, str]] = Counter()  # open visits that hold an own text, by its SHA-256 and the visitor
_lock = threading.Lock()


def keep_text(
    content: bytes | str, name: str = "", kind: Kind = "text", check: Callable[[str], object] = lambda text: None
) -> str:
    """Store a pasted or uploaded text for this visit and return its SHA-256. Raises TextError.

    `kind`: what the text is; it replaces the one of the same kind. `check` raises TextError for a text that cannot be
    used.
    """
    least = corpora.MIN_CHARACTERS if kind == "text" else 0  # a table that is too short is refused by `check`
    text, visitor = corpora.validated_text(content, name, least), current_visitor().id
    check(text)
    read_as_visitor()
    sha = corpora.store_text(text, visitor)
    st.session_state[_slot(kind)] = (sha, text)
    _hold(kind, sha, visitor)
    return sha


def adopt_text(kind: Kind, sha: str) -> None:
    """Hold the text that a page shows, if this visitor gave it in another browser tab or before a reload.

    Otherwise it would disappear as soon as the visit ends in which it was given. A text that this visit has already is
    kept.
    """
    visitor = current_visitor().id
    if own_text(kind) or not corpora.is_owner(sha, visitor):
        return
    st.session_state[_slot(kind)] = (sha, corpora.load_text(TextConfig(corpus="own", text=sha)))
    _hold(kind, sha, visitor)


def own_text(kind: Kind = "text") -> str:
    """Return the SHA-256 of this visitor's own text of a kind; empty without one."""
    stored = st.session_state.get(_slot(kind))
    return stored[0] if stored else ""


def _slot(kind: Kind) -> str:
    return f"lineage.own_{kind}"


def remember_text() -> None:
    """Store this visit's own texts again if others have displaced them; called at each run of a page with texts."""
    for kind in KINDS:
        stored = st.session_state.get(_slot(kind))
        if stored is None:
            continue
        (sha, text), visitor = stored, current_visitor().id
        _hold(kind, sha, visitor)
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
    own_texts.forget(sha)


def _count_visit(sha: str, visitor: str) -> tuple[str, str]:
    with _lock:
        _visits[sha, visitor] += 1
    return sha, visitor


@st.cache_resource(scope="session", max_entries=1, show_spinner=False, on_release=_release_text)
def _hold_text(sha: str, visitor: str) -> tuple[str, str]:
    """Count this visit as a holder of a text, until the visit ends or has a new text."""
    return _count_visit(sha, visitor)


@st.cache_resource(scope="session", max_entries=1, show_spinner=False, on_release=_release_text)
def _hold_sentences(sha: str, visitor: str) -> tuple[str, str]:
    return _count_visit(sha, visitor)


@st.cache_resource(scope="session", max_entries=1, show_spinner=False, on_release=_release_text)
def _hold_pairs(sha: str, visitor: str) -> tuple[str, str]:
    return _count_visit(sha, visitor)


def _hold(kind: Kind, sha: str, visitor: str) -> None:
    hold = {"text": _hold_text, "sentences": _hold_sentences, "pairs": _hold_pairs}[kind]
    hold(sha, visitor)
