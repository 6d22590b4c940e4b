"""The program as a terminal sees it: start, output in any encoding, full pipes and disks, errors, exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from explorer.cli import program
from explorer.run_store import store
from explorer.training.config import default_config, with_settings
from explorer.training.recorder import record_run
from tests.terminal import RunCommand, parse_json_lines

ROOT = Path(__file__).parents[2]
SLOW = pytest.mark.slow


def run_shell(command: str, home: Path, **variables: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command of bash in which `$LINEAGE` is the program."""
    settings = {"LINEAGE_HOME": str(home), "PATH": os.environ["PATH"], "LINEAGE": f"{sys.executable} -m explorer"}
    return subprocess.run(["bash", "-c", command], cwd=ROOT, env=settings | variables, capture_output=True)


@pytest.mark.parametrize("words", [("--version",), ("train", "-h")])
def test_version_and_help_load_no_large_library(words: tuple[str, ...], home: Path) -> None:
    code = f"""
import sys
sys.argv = ["lineage", *{words!r}]
from explorer.__main__ import main
try:
    main()
finally:
    large = {{"torch", "streamlit", "plotly", "numpy", "pandas", "pyarrow", "sqlalchemy", "rich"}} & set(sys.modules)
    assert not large, large
"""
    process = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env={"LINEAGE_HOME": str(home)}, capture_output=True, text=True
    )
    assert (process.returncode, process.stderr) == (0, "") and process.stdout
    assert not home.exists()


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", *(pytest.param(e, marks=SLOW) for e in ("cp1252", "latin-1", "utf-8"))])
def test_output_in_any_encoding(encoding: str, home: Path) -> None:
    config = with_settings(default_config("negation", "bag_of_words"), {"epochs": 1, "train_size": 64})
    run = store.save_run(record_run(config), store.run_folder(config))
    store.update_card(run, name="Größe “日本” \x1b[31mred\u202e", tags=("naïve",))
    process = run_shell(
        "$LINEAGE list --own && $LINEAGE list --own --json && $LINEAGE settings --task negatoin",
        home,
        PYTHONIOENCODING=encoding,
    )
    assert process.returncode == 2
    out, err = process.stdout.decode(encoding), process.stderr.decode(encoding)
    listed, line = out.split("\n\n1 run.")[0], out.splitlines()[-1]
    assert "\x1b" not in out and "\u202e" not in out and "\\x1b[31mred" in listed
    assert {"ascii": 'Gr\\xf6\\xdfe "\\u65e5', "utf-8": "Größe “日本”"}.get(encoding, "Größe") in listed
    (entry,) = parse_json_lines(line)
    assert entry["title"] == "Größe “日本” \x1b[31mred\u202e"
    assert ("“negatoin”" if encoding in ("utf-8", "cp1252") else '"negatoin"') in err and "Traceback" not in err


@pytest.mark.slow
@pytest.mark.parametrize("command", ["list --json", "lessons --measures", pytest.param("train -h", marks=SLOW)])
def test_a_reader_that_ends_early_ends_the_program_quietly(command: str, home: Path) -> None:
    process = run_shell(f"set -o pipefail; $LINEAGE {command} | true", home)
    assert (process.returncode, process.stdout, process.stderr) == (program.UNWRITABLE, b"", b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("command", ["settings --json", "-h"])
def test_a_full_disk_behind_the_output_is_one_sentence(command: str, home: Path) -> None:
    process = run_shell(f"$LINEAGE {command} > /dev/full", home)
    assert (process.returncode, process.stderr) == (1, b"The output cannot be used: No space left on device.\n")


@pytest.mark.slow
def test_closed_streams_do_not_matter(home: Path) -> None:
    process = run_shell("$LINEAGE settings <&- >&-; $LINEAGE lessons <&- 2>&-", home)
    assert process.returncode == 0 and b"counting" in process.stdout and b"Traceback" not in process.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("lis",), "No such command 'lis'. Did you mean 'list'? See lineage --help."),
        (("list", "--tsk", "text"), "--task"),
        (("generate", "text-ngram", "--tokens", "0"), "--tokens"),
        (("predict",), "RUN"),
    ],
)
def test_wrong_words_are_one_sentence_with_a_suggestion(words: tuple[str, ...], message: str, ask: RunCommand) -> None:
    code, out, err = ask(*words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err and err.endswith(" --help.\n")
    code, out, again = ask(*words, "--json")
    assert (code, again) == (2, err.replace("lineage --help", "lineage --help"))
    assert parse_json_lines(out) == [{"kind": "error", "message": err.strip(), "code": 2}]


def test_a_message_cannot_control_the_terminal(ask: RunCommand) -> None:
    code, _, err = ask("predict", "\x1b]0;title\x07\u202e", "x")
    assert code == 2 and not {"\x1b", "\x07", "\u202e"} & set(err) and err.count("\n") == 1


def test_the_exit_codes_are_in_the_help(ask: RunCommand) -> None:
    out = ask("-h")[1]
    for code in (program.SUCCESS, program.UNWRITABLE, program.IMPOSSIBLE, program.INTERRUPTED):
        assert f"\n    {code:<5}" in out


def test_an_interruption_ends_quietly(ask: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(name: str) -> store.StoredRun:
        raise KeyboardInterrupt

    monkeypatch.setattr(store, "find", interrupt)
    assert ask("predict", "negation-single-rnn", "human") == (130, "", "")


@pytest.mark.slow
def test_every_json_line_of_every_command_has_a_kind(ask: RunCommand, tmp_path: Path) -> None:
    file = str(tmp_path / "run.zip")
    for words in (
        ("list", "--limit", "3"),
        ("settings",),
        ("lessons",),
        ("lessons", "window"),
        ("lessons", "--measures"),
        ("where",),
        ("export", "negation-single-rnn", file),
        ("evaluate", "negation-single-rnn"),
        ("predict", "negation-single-rnn", "human not preserve nature"),
        ("predict", "dates-additive", "3rd of march 1997"),
        ("predict", "recall-50-gru-chrono", "abba"),
        ("predict", "gloss-two", "the bank is near the boat and the reed"),
        ("generate", "text-ngram", "--tokens", "3"),
        ("inspect", "reverse-transformer", "314"),
        ("inspect", "place-turns-gru", "0123"),
        ("inspect", "negation-single-transformer", "human destroy nature"),
        ("reindex",),
        ("delete", "aaaaaaaaaaaa"),
    ):
        lines = parse_json_lines(ask(*words, "--json")[1])
        assert lines and all(line["kind"] for line in lines), words


def test_json_that_the_output_cannot_hold_is_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    program.print_json({"kind": "x", "text": "a\u202eb \udcff“"})
    out = capsys.readouterr().out
    assert "\\u202e" in out and "\\udcff“" in out and json.loads(out)["text"] == "a\u202eb \udcff“"


def test_an_unexpected_error_of_a_file_is_a_sentence(ask: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> store.StoredRun:
        raise PermissionError(13, "Permission denied", "/secret")

    monkeypatch.setattr(store, "find", fail)
    assert ask("predict", "negation-single-rnn", "human") == (1, "", "“/secret” cannot be used: Permission denied.\n")


def test_completion_is_that_of_lineage_however_it_was_started(home: Path) -> None:
    process = run_shell("$LINEAGE --show-completion", home)
    assert (process.returncode, process.stderr) == (0, b"")
    assert b"_LINEAGE_COMPLETE=complete_" in process.stdout and process.stdout.rstrip().endswith(b" lineage")
