from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st

from explorer.errors import NeedsText, TextError
from explorer.tasks import corpora
from explorer.tasks.corpora import TINYSHAKESPEARE
from explorer.tasks.text import TextConfig
from explorer.ui import slowly, texts

MINE = "a text of mine, long enough to be read"


@pytest.fixture(autouse=True)
def visit(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, object]]:
    """What one visit remembers; its end is called by the test."""
    state: dict[str, object] = {}
    monkeypatch.setattr(st, "session_state", state)
    monkeypatch.setattr(texts, "_visits", Counter())
    monkeypatch.setattr(texts, "_visit", lambda sha: texts._visits.update([sha]))
    yield state


def here(sha: str) -> bool:
    try:
        corpora.text_of(TextConfig(corpus="own", text=sha))
    except NeedsText:
        return False
    return True


def test_a_text_is_here_until_its_last_visit_ends_and_so_is_what_was_made_of_it() -> None:
    sha = texts.take(MINE)
    assert texts.own() == sha and here(sha)
    slowly.work(("cut", sha), lambda: 1).result()
    texts.take(MINE)  # somebody else has the same
    texts._leave(sha)
    assert here(sha)
    texts._leave(sha)
    assert not here(sha)
    assert ("cut", sha) not in slowly._works


def test_a_text_that_others_pushed_out_is_kept_anew() -> None:
    sha = texts.take(MINE)
    corpora.forget(sha)
    texts.remember()
    assert here(sha)


def test_without_a_text_there_is_nothing_to_remember() -> None:
    texts.remember()
    assert texts.own() == ""


def test_what_cannot_be_read_leaves_the_last_text() -> None:
    sha = texts.take(MINE)
    with pytest.raises(TextError):
        texts.take(b"\xff\xfeb\0a\0d\0", "notes.txt")
    assert texts.own() == sha


def test_whether_tiny_shakespeare_is_here_is_known_without_a_download(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LINEAGE_DATA_DIR", raising=False)
    assert not texts.here("tinyshakespeare")
    assert texts.here("repeats") and texts.here("own")
    for variable in ("LINEAGE_DATA_DIR", "LINEAGE_CACHE"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
        (tmp_path / variable).mkdir()
        (tmp_path / variable / TINYSHAKESPEARE).touch()
        assert texts.here("tinyshakespeare")
        (tmp_path / variable / TINYSHAKESPEARE).unlink()
