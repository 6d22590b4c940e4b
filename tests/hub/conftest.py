from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from explorer.hub import memory, opening


@pytest.fixture(autouse=True)
def no_loaded_models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Each test begins without loaded models, without the user's cache and login, and may ask no other server."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hf"), raising=False)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # the port "discard": nothing answers
    monkeypatch.setenv("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1")
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    yield
    opening.reset()
    memory.reset()
