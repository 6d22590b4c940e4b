"""What every test stands on: a home of its own, and one torch thread."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from tests.terminal import Ask

torch.set_num_threads(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Spread the files with a browser, which wait half of their time, evenly between those that compute.

    Workers that take one file after the other then have both kinds in hand at any time, and the machine is busy.
    """
    files = dict.fromkeys(item.path for item in items)
    place: dict[Path, float] = {}
    for waits in (True, False):
        kind = [file for file in files if (file.parent.name == "browser") == waits]
        place |= {file: i / len(kind) for i, file in enumerate(kind)}
    items.sort(key=lambda item: place[item.path])


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
