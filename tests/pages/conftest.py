"""Pages are read with AppTest, whose browsers bring no cookies: each is a visitor of its own."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

import pytest
import streamlit as st

from explorer.tasks import tokens, windows
from explorer.tasks.tokens import Once
from explorer.training.jobs import service
from explorer.ui import slowly


@pytest.fixture(autouse=True)
def cookies(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What the browser of a test sends; AppTest itself answers with a mock."""
    sent: dict[str, str] = {}
    monkeypatch.setattr(type(st.context), "cookies", property(lambda _: sent))
    return sent


@pytest.fixture(autouse=True)
def no_jobs_of_others(home: object) -> Iterator[None]:
    """A training ends with its test, and is forgotten."""
    yield
    service.close()
    service._jobs.clear()


@pytest.fixture
def no_text_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """No text of another test is here, and no Tiny Shakespeare."""
    monkeypatch.delenv("LINEAGE_DATA_DIR", raising=False)
    monkeypatch.setattr(slowly, "_works", OrderedDict())
    monkeypatch.setattr(tokens, "_made", Once(16))
    monkeypatch.setattr(windows, "_data", Once(16))
