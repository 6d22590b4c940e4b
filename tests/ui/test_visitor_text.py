from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st

from explorer.errors import NeedsText, TextError
from explorer.tasks.text import corpora, rows
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.corpora import TINYSHAKESPEARE
from explorer.ui import visitor_text
from explorer.ui.state.visitor import current_visitor
from explorer.web import background

OWN_TEXT = "a text of mine, long enough to be read"


@pytest.fixture(autouse=True)
def visit(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, object]]:
    """Yield the session state of one visit, which the test ends by `_release_text`."""
    state: dict[str, object] = {}
    monkeypatch.setattr(st, "session_state", state)
    monkeypatch.setattr(visitor_text, "_visits", Counter())
    for hold in ("_hold_text", "_hold_sentences", "_hold_pairs"):
        monkeypatch.setattr(visitor_text, hold, lambda *held: visitor_text._visits.update([held]))
    yield state


def is_stored(sha: str) -> bool:
    try:
        corpora.load_text(TextConfig(corpus="own", text=sha))
    except NeedsText:
        return False
    return True


def test_a_text_and_its_results_are_stored_until_the_last_visit_with_it_ends() -> None:
    sha = visitor_text.keep_text(OWN_TEXT)
    assert visitor_text.own_text() == sha and is_stored(sha)
    background.submit(("cut", sha), lambda: 1).result()
    visitor = current_visitor().id
    visitor_text.keep_text(OWN_TEXT)  # another visit of the same visitor
    corpora.store_text(OWN_TEXT, "another visitor")
    visitor_text._release_text((sha, visitor))
    assert is_stored(sha)
    visitor_text._release_text((sha, visitor))
    assert not is_stored(sha) and ("cut", sha) in background.results()
    assert corpora.release_text(sha, "another visitor")
    rows.drop_text_data(sha)
    background.drop_results(sha)
    assert ("cut", sha) not in background.results()


def test_a_text_dropped_for_others_is_stored_again() -> None:
    sha = visitor_text.keep_text(OWN_TEXT)
    corpora.drop_text(sha)
    visitor_text.remember_text()
    assert is_stored(sha)


def test_an_unreadable_upload_does_not_replace_the_text_and_a_refused_table_is_not_stored() -> None:
    def refuse(text: str) -> None:
        raise TextError("Not this one.")

    sha = visitor_text.keep_text(OWN_TEXT)
    with pytest.raises(TextError):
        visitor_text.keep_text(b"\xff\xfeb\0a\0d\0", "notes.txt")
    assert visitor_text.own_text() == sha
    with pytest.raises(TextError, match="Not this one"):
        visitor_text.keep_text(OWN_TEXT, kind="sentences", check=refuse)
    assert visitor_text.own_text("sentences") == ""


def test_the_availability_of_tiny_shakespeare_is_known_without_a_download(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LINEAGE_DATA_DIR", raising=False)
    assert not corpora.is_corpus_available("tinyshakespeare")
    assert corpora.is_corpus_available("repeats") and corpora.is_corpus_available("own")
    for variable in ("LINEAGE_DATA_DIR", "LINEAGE_CACHE"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
        (tmp_path / variable).mkdir()
        (tmp_path / variable / TINYSHAKESPEARE).touch()
        assert corpora.is_corpus_available("tinyshakespeare")
        (tmp_path / variable / TINYSHAKESPEARE).unlink()


def test_a_text_of_another_visitor_is_not_adopted() -> None:
    sha = corpora.store_text(OWN_TEXT, "another visitor")
    visitor_text.adopt_text("pairs", sha)
    assert visitor_text.own_text("pairs") == "" and not is_stored(sha)
