"""AppTest opens pages without cookies, so each page belongs to a new visitor."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import streamlit as st
from streamlit.components.v2 import manifest_scanner

from explorer.database.engine import close_database
from explorer.jobs.service import service
from explorer.run_store import index
from explorer.tasks.text import corpora, rows, token_arrays

# Each page that is opened looks for components in all installed packages, which takes a third of its time.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)


@pytest.fixture(autouse=True)
def cookies(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return the cookies that the browser of a test sends; AppTest itself would return a mock."""
    sent: dict[str, str] = {}
    monkeypatch.setattr(type(st.context), "cookies", property(lambda _: sent))
    monkeypatch.setattr(type(st.context), "headers", property(lambda _: {}))
    return sent


@pytest.fixture(scope="session")
def included_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with the included runs, which takes as long as opening several pages."""
    folder = tmp_path_factory.mktemp("index")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LINEAGE_HOME", str(folder))
        index.refresh()
        close_database()
    return folder / "index.db"


@pytest.fixture(autouse=True)
def reset_jobs(home: Path, included_index: Path) -> Iterator[None]:
    """Begin with the included runs; stop and remove all jobs at the end of a test."""
    home.mkdir()
    shutil.copy(included_index, home)
    yield
    service.reset()


@pytest.fixture
def no_loaded_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the texts of other tests and Tiny Shakespeare."""
    monkeypatch.delenv("LINEAGE_DATA_DIR", raising=False)
    for module in (corpora, token_arrays, rows):
        module.reset()
