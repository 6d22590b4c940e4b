from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st

from explorer.errors import NeedsText, TextError
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.corpora import TINYSHAKESPEARE
from explorer.ui import visitor_text
from explorer.web import background

MINE = "a text of mine, long enough to be read"


@pytest.fixture(autouse=True)
def visit(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, object]]:
    """What one visit remembers; its end is called by the test."""
    state: dict[str, object] = {}
    monkeypatch.setattr(st, "session_state", state)
    monkeypatch.setattr(visitor_text, "_visits", Counter())
    monkeypatch.setattr(visitor_text, "_hold_text", lambda sha: visitor_text._visits.update([sha]))
    yield state


def here(sha: str) -> bool:
    try:
        corpora.load_text(TextConfig(corpus="own", text=sha))
    except NeedsText:
        return False
    return True


def test_a_text_is_here_until_its_last_visit_ends_and_so_is_what_was_made_of_it() -> None:
    sha = visitor_text.keep_text(MINE)
    assert visitor_text.own_text() == sha and here(sha)
    background.submit(("cut", sha), lambda: 1).result()
    visitor_text.keep_text(MINE)  # somebody else has the same
    visitor_text._release_text(sha)
    assert here(sha)
    visitor_text._release_text(sha)
    assert not here(sha)
    assert ("cut", sha) not in background.results()


def test_a_text_that_others_pushed_out_is_kept_anew() -> None:
    sha = visitor_text.keep_text(MINE)
    corpora.drop_text(sha)
    visitor_text.remember_text()
    assert here(sha)


def test_without_a_text_there_is_nothing_to_remember() -> None:
    visitor_text.remember_text()
    assert visitor_text.own_text() == ""


def test_what_cannot_be_read_leaves_the_last_text() -> None:
    sha = visitor_text.keep_text(MINE)
    with pytest.raises(TextError):
        visitor_text.keep_text(b"\xff\xfeb\0a\0d\0", "notes.txt")
    assert visitor_text.own_text() == sha


def test_whether_tiny_shakespeare_is_here_is_known_without_a_download(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LINEAGE_DATA_DIR", raising=False)
    assert not visitor_text.is_corpus_available("tinyshakespeare")
    assert visitor_text.is_corpus_available("repeats") and visitor_text.is_corpus_available("own")
    for variable in ("LINEAGE_DATA_DIR", "LINEAGE_CACHE"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
        (tmp_path / variable).mkdir()
        (tmp_path / variable / TINYSHAKESPEARE).touch()
        assert visitor_text.is_corpus_available("tinyshakespeare")
        (tmp_path / variable / TINYSHAKESPEARE).unlink()
