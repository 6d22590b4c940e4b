"""The program as a terminal sees it: start, output in any encoding, full pipes and disks, errors, exit codes."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import shellingham

from explorer.cli import program
from explorer.run_store import store
from explorer.training.config import default_config, with_settings
from explorer.training.recorder import record_run
from tests.terminal import RunCommand, parse_json_lines

ROOT = Path(__file__).parents[2]


def run_shell(command: str, home: Path) -> subprocess.CompletedProcess[bytes]:
    """Run a command of bash in which `$LINEAGE` is the program."""
    settings = {"LINEAGE_HOME": str(home), "PATH": os.environ["PATH"], "LINEAGE": f"{sys.executable} -m explorer"}
    return subprocess.run(["bash", "-c", command], cwd=ROOT, env=settings, capture_output=True)


def test_version_and_help_load_no_large_library(home: Path) -> None:
    code = """
import sys
from explorer.__main__ import main
for words in ("--version",), ("train", "-h"):
    sys.argv = ["lineage", *words]
    try:
        main()
    except SystemExit as ended:
        assert not ended.code
large = {"torch", "streamlit", "plotly", "numpy", "pandas", "pyarrow", "sqlalchemy", "rich"} & set(sys.modules)
assert not large, large
"""
    command = [sys.executable, "-c", code]
    process = subprocess.run(command, cwd=ROOT, env={"LINEAGE_HOME": str(home)}, capture_output=True, text=True)
    assert (process.returncode, process.stderr) == (0, "") and process.stdout
    assert not home.exists()


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_output_in_any_encoding(encoding: str, ask: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    config = with_settings(default_config("negation", "bag_of_words"), {"epochs": 1, "train_size": 64})
    run = store.save_run(record_run(config), store.run_folder(config))
    store.update_card(run, name="Größe “日本” \x1b[31mred\u202e", tags=("naïve",))
    streams = {name: io.TextIOWrapper(io.BytesIO(), encoding) for name in ("stdout", "stderr")}
    codes = []
    for name, stream in streams.items():
        monkeypatch.setattr(sys, name, stream)
    for words in (("list", "--own"), ("list", "--own", "--json"), ("settings", "--task", "negatoin")):
        codes.append(ask(*words)[0])
    assert codes == [0, 0, 2]
    for stream in streams.values():
        stream.flush()
    out, err = (stream.buffer.getvalue().decode(encoding) for stream in streams.values())  # type: ignore[attr-defined]
    listed, line = out.split("\n\n1 run.")[0], out.splitlines()[-1]
    assert "\x1b" not in out and "\u202e" not in out and "\\x1b[31mred" in listed
    assert {"ascii": 'Gr\\xf6\\xdfe "\\u65e5', "utf-8": "Größe “日本”"}.get(encoding, "Größe") in listed
    (entry,) = parse_json_lines(line)
    assert entry["title"] == "Größe “日本” \x1b[31mred\u202e"
    assert ("“negatoin”" if encoding in ("utf-8", "cp1252") else '"negatoin"') in err and "Traceback" not in err


def test_outputs_that_cannot_be_written_end_the_program_quietly(home: Path) -> None:
    process = run_shell("set -o pipefail; $LINEAGE settings --json | true", home)
    assert (process.returncode, process.stdout, process.stderr) == (program.UNWRITABLE, b"", b"")
    process = run_shell("$LINEAGE settings <&- >&- && $LINEAGE settings <&- 2>&-", home)
    assert process.returncode == 0 and b"negation" in process.stdout and process.stderr == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_behind_the_output_is_one_sentence(home: Path) -> None:
    process = run_shell("$LINEAGE settings --json > /dev/full", home)
    assert (process.returncode, process.stderr) == (1, b"The output cannot be used: No space left on device.\n")


def test_the_exit_codes_are_in_the_help(ask: RunCommand) -> None:
    out = ask("-h")[1]
    for code in (program.SUCCESS, program.UNWRITABLE, program.IMPOSSIBLE, program.INTERRUPTED):
        assert f"\n    {code:<5}" in out


def test_unexpected_ends_are_exit_codes_and_sentences(ask: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(name: str) -> store.StoredRun:
        raise KeyboardInterrupt

    monkeypatch.setattr(store, "find", interrupt)
    assert ask("predict", "negation-single-rnn", "human") == (130, "", "")

    def fail(name: str) -> store.StoredRun:
        raise PermissionError(13, "Permission denied", "/secret")

    monkeypatch.setattr(store, "find", fail)
    assert ask("predict", "negation-single-rnn", "human") == (1, "", "“/secret” cannot be used: Permission denied.\n")


def test_json_that_the_output_cannot_hold_is_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    program.print_json({"kind": "x", "text": "a\u202eb \udcff“"})
    out = capsys.readouterr().out
    assert "\\u202e" in out and "\\udcff“" in out and json.loads(out)["text"] == "a\u202eb \udcff“"


def test_completion_is_that_of_lineage_however_it_was_started(ask: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shellingham, "detect_shell", lambda *_: ("bash", "/bin/bash"))
    _, out, err = ask("--show-completion")
    assert err == "" and "_LINEAGE_COMPLETE=complete_" in out and out.rstrip().endswith(" lineage")
