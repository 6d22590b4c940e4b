"""Trainings that are interrupted, continued, repeated and refused; each signal goes to a real process."""

from __future__ import annotations

import errno
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from explorer.cli import interruption
from explorer.environment import environment
from explorer.experiments import pretraining
from explorer.jobs import disk_space
from explorer.run_store import store
from explorer.training import recorder
from explorer.training.config import default_config, key, with_settings
from explorer.training.recorder import record_run
from tests.terminal import RunCommand, parse_json_lines

ROOT = Path(__file__).parents[2]
# 400 steps, with a checkpoint every 40.
LONG = {"epochs": 40, "train_size": 640, "replicas": 2, "evaluate_every": 400}
OPTIONS = (
    "--task", "negation", "--model", "bag_of_words", *(w for k, v in LONG.items() for w in ("--set", f"{k}={v}"))
)  # fmt: skip


# The command line, which writes a line of JSON for each step, as if a second passed between any two of them.
EVERY_STEP = """
import itertools, types
from explorer.__main__ import main
from explorer.cli import training
training.time = types.SimpleNamespace(monotonic=itertools.count().__next__)
main()
"""


def interrupt_training(home: Path) -> tuple[int, list[dict[str, object]], str]:
    """Train in a process, send it SIGINT in the middle; return its exit code, its JSON lines and standard error.

    The process cannot finish before the signal comes: it waits while its output, a small pipe, is full.
    """
    command = [sys.executable, "-c", EVERY_STEP, "train", *OPTIONS, "--json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "pipesize": 4096}
    with subprocess.Popen(command, cwd=ROOT, env={"LINEAGE_HOME": str(home)}, text=True, **pipes) as process:  # type: ignore[call-overload]
        lines = []
        for line in process.stdout:
            lines.append(json.loads(line))
            if lines[-1]["kind"] == "step" and lines[-1]["step"] > 40:
                process.send_signal(signal.SIGINT)
                break
        lines += [json.loads(line) for line in process.stdout]
        return process.wait(), lines, process.stderr.read()


@pytest.mark.skipif(sys.platform != "linux", reason="The size of a pipe is set on Linux only.")
def test_an_interrupted_training_is_stored_and_continues_bit_for_bit(
    home: Path, ask: RunCommand, refuse: Callable[..., str]
) -> None:
    found, lines, err = interrupt_training(home)
    config = with_settings(default_config("negation", "bag_of_words"), LONG)
    run = key(config)
    assert found == 130 and "Traceback" not in err and "Press Ctrl-C again" in err
    stopped = store.find(run)
    assert lines[-1] == {"kind": "stopped", "run": run, "step": stopped.card.step, "of": 400}
    assert stopped.card.state == "stopped" and 0 < stopped.card.step < 400

    assert f"To continue: lineage train --resume {run}" in refuse("train", *OPTIONS)
    code, out, err = ask("train", "--resume", run, "--json")
    assert (code, err) == (0, "")
    *steps, finished = parse_json_lines(out)
    assert min(line["step"] for line in steps if line["kind"] == "step") > stopped.card.step
    expected, continued = record_run(config), store.find(run)
    np.testing.assert_array_equal(continued.curves.losses, expected.curves.losses)
    np.testing.assert_array_equal(continued.curves.evaluated, expected.curves.evaluated)
    for name, weights in expected.weights().items():
        np.testing.assert_array_equal(continued.weights()[name], weights)
    assert finished["run"] == run and continued.card.finished
    assert continued.snapshot_steps() == sorted(expected.snapshots)

    code, out, _ = ask("train", "--resume", run)
    assert code == 0 and out.startswith("This run has been trained to its end already.\nBag of words: ")


def stop_at(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """Let a training of this process stop as if SIGTERM came at a step."""

    class Requests:
        def __enter__(self) -> object:
            events = iter(range(10**9))
            return lambda: signal.SIGTERM if next(events) >= step else 0

        def __exit__(self, *error: object) -> None: ...

    monkeypatch.setattr(interruption, "stop_requests", Requests)


def test_a_stopped_run_in_a_folder_of_its_own_continues_there(
    ask: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "my run"
    with monkeypatch.context() as stopping:
        stop_at(stopping, 100)
        code, out, err = ask("train", *OPTIONS, "--out", str(folder))
    assert (code, err) == (143, "") and f"To continue: lineage train --resume '{folder}'\n" in out
    assert store.load(folder).card.state == "stopped" and not list(environment().home.glob("runs/*"))
    store.update_card(store.load(folder), name="mine")
    assert ask("train", "--resume", str(folder))[0] == 0
    assert (store.load(folder).card.finished, store.load(folder).card.name) == (True, "mine")


def test_a_stopped_training_stores_nothing_before_its_first_checkpoint_and_replaces_no_finished_run(
    ask: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as stopping:
        stop_at(stopping, 3)
        code, out, err = ask("train", *OPTIONS)
    assert (code, out) == (143, "") and "nothing is stored" in err
    assert list(environment().runs.iterdir()) == []
    assert ask("train", *OPTIONS)[0] == 0
    stop_at(monkeypatch, 100)
    code, out, err = ask("train", *OPTIONS, "--force")
    assert (code, out) == (143, "") and "the finished run that was there stays" in err
    (run,) = environment().runs.iterdir()
    assert store.load(run).card.finished


def test_the_second_signal_ends_at_once_and_the_handlers_come_back(capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), interruption.stop_requests() as stop_signal:
        assert stop_signal() == 0
        signal.raise_signal(signal.SIGINT)
        assert stop_signal() == signal.SIGINT
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before
    assert "Press Ctrl-C again to end at once." in capsys.readouterr().err


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signal.")
def test_a_signal_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        with interruption.stop_requests() as stop_signal:
            signal.raise_signal(signal.SIGHUP)
            assert stop_signal() == 0
    finally:
        signal.signal(signal.SIGHUP, before)


SHORT = ("train", "--task", "negation", "--model", "bag_of_words", "--set", "epochs=1", "--set", "train_size=64")


def test_a_run_that_exists_is_shown_and_trained_again_with_force_only(ask: RunCommand, tmp_path: Path) -> None:
    code, out, _ = ask("train", "--task", "negation", "--model", "transformer", "--replicas", "8")
    assert code == 0 and "included as negation-single-transformer" in out and not environment().home.exists()
    first = parse_json_lines(ask(*SHORT, "--json")[1])[-1]
    created = store.find(first["run"]).card.created
    code, out, err = ask(*SHORT)
    assert (code, err) == (0, "") and out.startswith("This run exists already: stored in ") and "--force" in out
    (again,) = parse_json_lines(ask(*SHORT, "--json")[1])
    assert again == first | {"existing": True} and store.find(first["run"]).card.created == created
    forced = parse_json_lines(ask(*SHORT, "--json", "--force")[1])[-1]
    assert forced["metrics"] == first["metrics"] and "existing" not in forced
    assert store.find(first["run"]).card.created > created
    (tmp_path / "empty").mkdir()  # an empty folder can become a run
    for message in ("", "exists already"):
        code, out, _ = ask(*SHORT, "--out", str(tmp_path / "empty"))
        assert code == 0 and message in out


@pytest.mark.skipif(os.name == "nt", reason="On Windows these folders can be written.")
def test_what_cannot_be_written_is_refused_before_the_training(
    ask: RunCommand, refuse: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(recorder, "record_run", None)
    for out in ("/proc/run", "/dev/null", "/dev/null/run", "a" * 300):
        assert "Give" in refuse(*SHORT, "--out", out)
    with monkeypatch.context() as changed:
        changed.setattr(disk_space.os, "posix_fallocate", fail)
        assert "The training was not started" in refuse(*SHORT)
    assert list(environment().runs.iterdir()) == []
    monkeypatch.setenv("LINEAGE_HOME", "/proc/home")
    err = refuse(*SHORT)
    assert "cannot be written to /proc/home/runs/" in err and "--out" in err and "set LINEAGE_HOME" in err
    code, out, err = ask("list", "--task", "negation")
    assert (code, err) == (0, "") and "negation-single-rnn" in out
    assert "LINEAGE_DATABASE_URL" not in os.environ


@pytest.mark.parametrize("words", ["export {run} {file}", "inspect {run} human --out {file}"])
def test_a_file_is_overwritten_with_force_only(
    words: str, ask: RunCommand, refuse: Callable[..., str], tmp_path: Path
) -> None:
    file = tmp_path / "file.npz"
    file.write_text("years of work")
    command = words.format(run="negation-single-transformer", file=file).split()
    assert "--force to overwrite it" in refuse(*command)
    assert file.read_text() == "years of work"
    assert ask(*command, "--force")[0] == 0
    assert file.read_bytes()[:2] == b"PK"


@pytest.fixture
def three_included(monkeypatch: pytest.MonkeyPatch, included_folder: Path) -> Path:
    """Three short runs that are to be included, of which one is there."""
    base = with_settings(default_config("negation", "bag_of_words"), {"epochs": 2, "train_size": 64})
    runs = {f"short-{seed}": with_settings(base, {"seed": seed}) for seed in range(3)}
    monkeypatch.setattr(pretraining, "shipped_configs", lambda: runs)
    store.save_run(record_run(runs["short-1"]), included_folder / "short-1")
    return included_folder


def test_pretrain_trains_the_missing_runs(
    ask: RunCommand, three_included: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as stopping:
        stop_at(stopping, 4)
        code, out, err = ask("pretrain", "--missing")
    assert (code, out) == (143, "")
    assert err == "short-0 is not stored. To continue: lineage pretrain --missing\n"
    assert [folder.name for folder in three_included.iterdir()] == ["short-1"]
    before = store.load(three_included / "short-1").card.created
    code, out, err = ask("pretrain", "--missing", "--json")
    assert (code, err) == (0, "")
    assert [line["kind"] for line in parse_json_lines(out)].count("finished") == 2
    assert sorted(file.parent.name for file in three_included.glob("*/weights.parquet")) == ["short-0", "short-2"]
    assert store.load(three_included / "short-1").card.created == before
    assert ask("pretrain", "--missing") == (0, "No included run is missing.\n", "")
    assert ask("pretrain", "--no-training", "short-1") == (0, "", "")
    assert (three_included / "short-1" / "weights.parquet").is_file()
    assert store.load(three_included / "short-1").card.created == before


@pytest.mark.parametrize("file", ["", "my file.txt"])
def test_a_killed_training_goes_on_from_its_checkpoint_with_the_printed_command(
    file: str, home: Path, ask: RunCommand, refuse: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(recorder, "CHECKPOINT_SECONDS", -1.0)
    options: tuple[str, ...] = OPTIONS
    if file:
        (tmp_path / file).write_text("to be or not to be that is the question\n" * 60)
        steps = ("--set", "iterations=60", "--set", "width=8", "--set", "hidden=8", "--set", "context=8")
        options = ("--task", "text", "--model", "feedforward", "--corpus", file, *steps)
    assert ask("train", *options)[0] == 0
    (expected,) = (store.load(folder) for folder in home.glob("runs/*"))
    shutil.rmtree(expected.folder)

    def kill() -> int:
        if list(home.glob("runs/*/card.json")):
            raise SystemExit(9)  # nothing else is stored, as after kill -9
        return 0

    with monkeypatch.context() as killing:
        killing.setattr(interruption, "stop_requests", lambda: nullcontext(kill))
        assert ask("train", *options)[0] == 9
    stopped = store.load(expected.folder)
    assert (stopped.card.state, stopped.card.step < stopped.config.steps) == ("stopped", True)
    command = refuse("train", *options).partition("To continue: lineage ")[2].partition(";")[0]
    assert ask(*shlex.split(command))[0] == 0
    continued = store.load(expected.folder)
    np.testing.assert_array_equal(continued.curves.losses, expected.curves.losses)
    assert continued.card.finished and continued.card.metrics == expected.card.metrics
