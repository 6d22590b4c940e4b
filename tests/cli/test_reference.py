"""The help of the commands: docs/command-line.md is up to date, and every example is possible."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from benchmarks.command_line import FILE, reference
from explorer.__main__ import COMMANDS, app
from explorer.cli.examples import EXAMPLES, PROGRAM
from tests.terminal import RunCommand

LINES = [line for examples in (PROGRAM, *EXAMPLES.values()) for line in examples]
# These take seconds, need a file, or belong to one machine; what they do is tested elsewhere.
SLOW_OR_SPECIAL = (
    "train", "sweep", "mytext.txt", "k3jx5m2abcde", "pretrain", "rnn.zip", "app", "reindex", "text-best",
    "open ", "close",
)  # fmt: skip


def test_the_reference_is_that_of_the_program() -> None:
    assert FILE.read_text(encoding="utf-8") == reference(), "write it again: python -m benchmarks.command_line"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_help_has_examples_in_imperative_sentences(name: str, ask: RunCommand) -> None:
    code, out, err = ask(name, "-h")
    assert (code, err) == (0, "") and out == ask(name, "--help")[1]
    assert f"Examples:\n    # {next(iter(EXAMPLES[name].values()))}\n    lineage {name}" in out
    assert max(map(len, out.split("Examples:")[0].splitlines())) <= 80
    first = out.splitlines()[2].split()[0]
    assert first[0].isupper() and not first.endswith("s"), "“List runs”, not “Lists runs”"


def test_every_example_has_possible_options() -> None:
    group = get_command(app)
    for program, *words in map(shlex.split, LINES):
        assert program == "lineage"
        if words:
            name, command, rest = group.resolve_command(group.make_context("lineage", words), words)  # type: ignore[attr-defined]
            command.make_context(name, rest)


@pytest.mark.parametrize("line", [line for line in LINES if not any(word in line for word in SLOW_OR_SPECIAL)])
def test_cheap_examples_run(line: str, ask: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = shlex.split(line)[1:]
    if words:
        monkeypatch.chdir(tmp_path)
        code, out, err = ask(*words)
        assert code == 0 and "Traceback" not in err and bool(out) == ("--own" not in words)


def test_the_usage_names_the_program_as_it_was_started(
    ask: RunCommand, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "Usage: lineage train" in ask("train", "-h")[1]
    from explorer import __main__ as command_line

    for file, name in (("/usr/bin/lineage", "lineage"), ("/x/explorer/__main__.py", "python -m explorer")):
        monkeypatch.setattr(sys, "argv", [file, "train", "--help"])
        with pytest.raises(SystemExit):
            command_line.main()
        out = capsys.readouterr().out
        assert out.startswith(f"Usage: {name} train") and f"    {name} train --task" in out
