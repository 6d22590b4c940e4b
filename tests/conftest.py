"""What every test stands on: a home of its own, and one torch thread."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from tests.terminal import Ask

torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Runs that a test makes are kept in a folder of that test."""
    folder = tmp_path / "home"
    monkeypatch.setenv("LINEAGE_HOME", str(folder))
    monkeypatch.setenv("LINEAGE_CACHE", str(tmp_path / "cache"))
    return folder


@pytest.fixture(autouse=True)
def one_thread() -> None:
    """A training sets the number of threads of the thread it runs on."""
    torch.set_num_threads(1)


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Run a command; answers with its exit code and what it wrote."""

    from explorer import __main__ as command_line

    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["explorer", *words])
        with pytest.raises(SystemExit) as stopped:
            command_line.main()
        out, err = capsys.readouterr()
        return int(stopped.value.code or 0), out, err

    return run
