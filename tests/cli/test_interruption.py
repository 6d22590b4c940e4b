"""Trainings that are interrupted, continued, repeated and refused; each signal goes to a real process."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from explorer.cli import interruption
from explorer.environment import environment
from explorer.experiments import pretraining
from explorer.jobs import disk_space
from explorer.run_store import store
from explorer.training.config import RunConfig, default_config, key, with_settings
from explorer.training.recorder import record_run
from tests.terminal import RunCommand, parse_json_lines

ROOT = Path(__file__).parents[2]
# 4,000 steps of about a millisecond, with a checkpoint every 40.
LONG = {"epochs": 400, "train_size": 640, "replicas": 2, "evaluate_every": 400}
OPTIONS = (
    "--task",
    "negation",
    "--model",
    "bag_of_words",
    *(w for k, v in LONG.items() for w in ("--set", f"{k}={v}")),
)


SHORT_OPTIONS = (*OPTIONS, "--set", "epochs=40")


def configuration() -> RunConfig:
    return with_settings(default_config("negation", "bag_of_words"), LONG)


def interrupt_training(home: Path, number: int, *options: str) -> tuple[int, list[dict[str, object]], str]:
    """Train in a process, send it a signal in the middle; return its exit code, its JSON lines and standard error."""
    command = [sys.executable, "-m", "explorer", "train", *OPTIONS, "--json", *options]
    environment = {"LINEAGE_HOME": str(home)}
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout and process.stderr
        lines = []
        for line in process.stdout:
            lines.append(json.loads(line))
            if lines[-1]["kind"] == "step" and lines[-1]["step"] > 40:
                process.send_signal(number)
                break
        lines += [json.loads(line) for line in process.stdout]
        return process.wait(), lines, process.stderr.read()


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows ends a process that is sent a signal.")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_training_is_stored_and_continues_bit_for_bit(
    number: int, code: int, home: Path, ask: RunCommand
) -> None:
    found, lines, err = interrupt_training(home, number)
    run = key(configuration())
    assert found == code and "Traceback" not in err and ("Press Ctrl-C again" in err) == (number == signal.SIGINT)
    stopped = store.find(run)
    assert lines[-1] == {"kind": "stopped", "run": run, "step": stopped.card.step, "of": 4_000}
    assert stopped.card.state == "stopped" and 0 < stopped.card.step < 4_000

    code, out, err = ask("train", *OPTIONS)
    assert (code, out) == (2, "") and f"To continue: lineage train --resume {run}" in err
    code, out, err = ask("train", "--resume", run, "--json")
    assert (code, err) == (0, "")
    *steps, finished = parse_json_lines(out)
    assert min(line["step"] for line in steps if line["kind"] == "step") > stopped.card.step
    expected, continued = record_run(configuration()), store.find(run)
    np.testing.assert_array_equal(continued.curves.losses, expected.curves.losses)
    np.testing.assert_array_equal(continued.curves.evaluated, expected.curves.evaluated)
    for name, weights in expected.weights().items():
        np.testing.assert_array_equal(continued.weights()[name], weights)
    assert finished["run"] == run and continued.card.finished
    assert continued.snapshot_steps() == sorted(expected.snapshots)

    code, out, _ = ask("train", "--resume", run)
    assert code == 0 and out.startswith("This run has been trained to its end already.\nBag of words: ")


def stop_at(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """Let a training of this process stop as if a signal came at a step."""
    from explorer.cli import interruption

    class Requests:
        def __enter__(self) -> object:
            events = iter(range(10**9))
            return lambda: signal.SIGINT if next(events) >= step else 0

        def __exit__(self, *error: object) -> None: ...

    monkeypatch.setattr(interruption, "stop_requests", Requests)


def test_a_stopped_run_in_a_folder_of_its_own_continues_there(
    ask: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "my run"
    with monkeypatch.context() as stopping:
        stop_at(stopping, 100)
        code, out, err = ask("train", *SHORT_OPTIONS, "--out", str(folder))
    assert (code, err) == (130, "") and f"To continue: lineage train --resume '{folder}'\n" in out
    assert store.load(folder).card.state == "stopped" and not list(environment().home.glob("runs/*"))
    store.update_card(store.load(folder), name="mine")
    assert ask("train", "--resume", str(folder))[0] == 0
    assert (store.load(folder).card.finished, store.load(folder).card.name) == (True, "mine")


def test_a_training_without_a_checkpoint_leaves_nothing(ask: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    stop_at(monkeypatch, 3)
    code, out, err = ask("train", *OPTIONS)
    assert (code, out) == (130, "") and "nothing is stored" in err
    assert list(environment().runs.iterdir()) == []


def test_a_stopped_repetition_does_not_replace_the_finished_run(
    ask: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = ("train", "--task", "negation", "--model", "rnn", "--set", "epochs=40", "--set", "train_size=640")
    assert ask(*short)[0] == 0
    stop_at(monkeypatch, 100)
    code, out, err = ask(*short, "--force")
    assert (code, out) == (130, "") and "the finished run that was there stays" in err
    (run,) = environment().runs.iterdir()
    assert store.load(run).card.finished


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--resume", ""), "There is no run “”"),
        (("--resume", "nonsense"), "There is no run “nonsense”"),
        (("--resume", "negation-single-rnn", "--seed", "3"), "Leave all other settings out."),
        (("--resume", "negation-single-rnn", "--task", "text"), "Leave all other settings out."),
        (("--resume", "negation-single-rnn", "--corpus", "x.txt"), "Leave --corpus out."),
    ],
)
def test_impossible_ways_to_continue_are_one_sentence(options: tuple[str, ...], message: str, ask: RunCommand) -> None:
    code, out, err = ask("train", *options)
    assert (code, out, err.count("\n")) == (2, "", 1) and message in err


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


# ---- what exists already, and where it cannot be written

SHORT = ("train", "--task", "negation", "--model", "bag_of_words", "--set", "epochs=1", "--set", "train_size=64")


def test_a_run_that_exists_is_shown_and_trained_again_with_force_only(ask: RunCommand) -> None:
    first = parse_json_lines(ask(*SHORT, "--json")[1])[-1]
    created = store.find(first["run"]).card.created
    code, out, err = ask(*SHORT)
    assert (code, err) == (0, "") and out.startswith("This run exists already: stored in ") and "--force" in out
    (again,) = parse_json_lines(ask(*SHORT, "--json")[1])
    assert again == first | {"existing": True} and store.find(first["run"]).card.created == created
    forced = parse_json_lines(ask(*SHORT, "--json", "--force")[1])[-1]
    assert forced["metrics"] == first["metrics"] and "existing" not in forced
    assert store.find(first["run"]).card.created > created


def test_an_included_run_is_not_trained_again(ask: RunCommand) -> None:
    code, out, _ = ask("train", "--task", "negation", "--model", "rnn", "--replicas", "8")
    assert code == 0 and "included as negation-single-rnn" in out and not environment().home.exists()


def test_an_empty_folder_can_become_a_run(ask: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert ask(*SHORT, "--out", str(tmp_path / "empty"))[0] == 0
    code, out, _ = ask(*SHORT, "--out", str(tmp_path / "empty"))
    assert code == 0 and "exists already" in out


@pytest.mark.skipif(os.name == "nt", reason="On Windows these folders can be written.")
@pytest.mark.parametrize("out", ["/proc/run", "/dev/null", "/dev/null/run", "a" * 300])
def test_a_folder_that_cannot_be_written_is_refused_before_the_training(
    out: str, ask: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    from explorer.training import recorder

    monkeypatch.setattr(recorder, "record_run", None)
    code, printed, err = ask(*SHORT, "--out", out)
    assert (code, printed, err.count("\n")) == (2, "", 1) and "Give" in err


@pytest.mark.skipif(os.name == "nt", reason="On Windows these folders can be written.")
def test_a_home_that_cannot_be_written_is_refused_before_the_training(
    ask: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    from explorer.training import recorder

    monkeypatch.setattr(recorder, "record_run", None)
    monkeypatch.setenv("LINEAGE_HOME", "/proc/home")
    code, out, err = ask(*SHORT)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "cannot be written to /proc/home/runs/" in err and "--out" in err and "set LINEAGE_HOME" in err
    code, out, err = ask("list", "--task", "negation")
    assert (code, err) == (0, "") and "negation-single-rnn" in out
    assert "LINEAGE_DATABASE_URL" not in os.environ


def test_a_full_disk_is_noticed_before_the_training(ask: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    from explorer.training import recorder

    def refuse(*args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(recorder, "record_run", None)
    monkeypatch.setattr(disk_space.os, "posix_fallocate", refuse)
    code, out, err = ask(*SHORT)
    assert (code, out, err.count("\n")) == (2, "", 1) and "The training was not started" in err
    assert list(environment().runs.iterdir()) == []


@pytest.mark.parametrize("command", ["export", "inspect"])
def test_a_file_is_overwritten_with_force_only(command: str, ask: RunCommand, tmp_path: Path) -> None:
    file = tmp_path / "file.npz"
    file.write_text("years of work")
    run = "negation-single-transformer"
    words = {
        "export": ("export", run, str(file)),
        "inspect": ("inspect", run, "human destroy nature", "--out", str(file)),
    }[command]
    code, out, err = ask(*words)
    assert (code, out, err.count("\n")) == (2, "", 1) and "--force to overwrite it" in err
    assert file.read_text() == "years of work"
    assert ask(*words, "--force")[0] == 0
    assert file.read_bytes()[:2] == b"PK"


# ---- the included runs


@pytest.fixture
def three_included(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Three short runs that are to be included, of which one is there."""
    runs = {
        f"short-{seed}": with_settings(
            default_config("negation", "bag_of_words"), {"epochs": 2, "train_size": 64, "seed": seed}
        )
        for seed in range(3)
    }
    monkeypatch.setattr(pretraining, "shipped_configs", lambda: runs)
    monkeypatch.setattr(store, "PRETRAINED", tmp_path / "pretrained")
    store.save_run(record_run(runs["short-1"]), tmp_path / "pretrained" / "short-1")
    return tmp_path / "pretrained"


def test_pretrain_trains_the_missing_runs(ask: RunCommand, three_included: Path) -> None:
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


def test_pretrain_that_is_interrupted_leaves_no_unfinished_run(
    ask: RunCommand, three_included: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_at(monkeypatch, 4)
    code, out, err = ask("pretrain", "--missing")
    assert (code, out) == (130, "")
    assert err == "short-0 is not stored. To continue: lineage pretrain --missing\n"
    assert [folder.name for folder in three_included.iterdir()] == ["short-1"]


@pytest.mark.parametrize("words", [(), ("--all", "--missing"), ("short-0", "--missing")])
def test_pretrain_needs_one_choice(words: tuple[str, ...], ask: RunCommand, three_included: Path) -> None:
    code, out, err = ask("pretrain", *words)
    assert (code, out, err.count("\n")) == (2, "", 1) and "Name the runs to train, or give --all or --missing." in err
