from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from explorer import __main__ as command_line
from tests.terminal import RunCommand, parse_json_lines


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> RunCommand:
    """Run a command; answers with its exit code and what it wrote."""

    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["explorer", *words])
        with pytest.raises(SystemExit) as stopped:
            command_line.main()
        out, err = capsys.readouterr()
        return int(stopped.value.code or 0), out, err

    return run


@pytest.fixture
def ask_json(ask: RunCommand) -> Callable[..., list[Any]]:
    """Run a command that works, with --json; answers with the objects that it printed."""

    def run(*words: str) -> list[Any]:
        code, out, err = ask(*words, "--json")
        assert (code, err) == (0, "")
        lines = parse_json_lines(out)
        assert all(line["kind"] for line in lines)
        return lines

    return run


@pytest.fixture
def refuse(ask: RunCommand) -> Callable[..., str]:
    """Run a command that is not possible; answers with the one sentence that says why."""

    def run(*words: str) -> str:
        code, out, err = ask(*words)
        assert (code, out, err.count("\n")) == (2, "", 1), err
        return err

    return run
