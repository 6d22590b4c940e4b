"""Pages are read with AppTest, whose browsers bring no cookies: each is a visitor of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import streamlit as st

from explorer.jobs.scheduler import service
from explorer.tasks.text import corpora, rows, token_arrays
from explorer.web import background


@pytest.fixture(autouse=True)
def cookies(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What the browser of a test sends; AppTest itself answers with a mock."""
    sent: dict[str, str] = {}
    monkeypatch.setattr(type(st.context), "cookies", property(lambda _: sent))
    return sent


@pytest.fixture(autouse=True)
def no_jobs_of_others(home: object, patient: None) -> Iterator[None]:
    """A training ends with its test, and is forgotten."""
    yield
    service.reset()


@pytest.fixture
def no_text_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """No text of another test is here, and no Tiny Shakespeare."""
    monkeypatch.delenv("LINEAGE_DATA_DIR", raising=False)
    for module in (corpora, background, token_arrays, rows):
        module.reset()
