"""The commands `list`, `settings`, `lessons --measures` and `where`, and the progress of a training."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace

import pytest
import torch

from explorer import __main__ as command_line
from explorer.catalogue import MODELS, TASKS
from explorer.cli import completion, progress
from explorer.cli.setting_rows import setting_rows
from explorer.environment import environment
from explorer.experiments.pretraining import shipped_configs
from explorer.lessons.measures import MEASURES
from explorer.run_store import index, store
from explorer.tasks.negation import NegationConfig
from explorer.training.config import default_config, with_settings
from explorer.training.events import Step
from explorer.training.recorder import record_run
from tests.terminal import RunCommand, parse_json_lines


@pytest.fixture
def own_run() -> store.StoredRun:
    config = with_settings(default_config("negation", "bag_of_words"), {"epochs": 1, "train_size": 64})
    run = store.save_run(record_run(config), store.run_folder(config))
    return store.update_card(run, name="My first run", tags=("course", "good"))


def rows(ask: RunCommand, *words: str) -> list[str]:
    """Return the first column of `list`."""
    code, out, err = ask("list", *words)
    assert (code, err) == (0, "")
    return [line.split()[0] for line in out.split("\n\n")[0].splitlines()[1:]]


def test_list_filters_and_sorts(ask: RunCommand, own_run: store.StoredRun, monkeypatch: pytest.MonkeyPatch) -> None:
    included = shipped_configs()
    of_negation = [name for name, config in included.items() if isinstance(config.task, NegationConfig)]
    negation_rnn = ("--task", "negation", "--model", "rnn")
    assert rows(ask, *negation_rnn) == [name for name in sorted(of_negation) if included[name].model_name == "rnn"]
    assert rows(ask, "--own") == [own_run.key] == rows(ask, "--tag", "course", "--tag", "good")
    assert own_run.key not in rows(ask, "--included", "--limit", "300")
    assert rows(ask, "--search", "FIRST run") == [own_run.key]
    assert rows(ask, "--task", "negation", "--limit", "2") == [own_run.key, "negation-double-bag_of_bigrams"]
    for order, sign in (("-seconds", -1), ("seconds", 1)):
        seconds = [sign * store.find(name).card.seconds for name in rows(ask, "--task", "dates", "--sort", order)]
        assert seconds == sorted(seconds) and len({*seconds}) > 1
    for task, score in (("text", "bits_per_byte"), ("negation", "exact_accuracy")):
        best_first = rows(ask, "--task", task, "--included", "--sort", "-accuracy")
        means = [store.find(name).card.metrics[score].mean or 0 for name in best_first]
        assert means == sorted(means, reverse=task == "negation") and len(means) > 50
    assert ask("list", "--tag", "bad")[1].startswith("No run matches.")
    assert f"2 of {1 + len(of_negation)} runs." in ask("list", "--task", "negation", "--limit", "2")[1]
    for columns in (20, 80):
        monkeypatch.setenv("COLUMNS", str(columns))
        _, out, _ = ask("list", "--task", "negation", "--model", "")  # an empty text is no filter
        lines = [line for line in out.splitlines() if line]
        assert all(len(line) <= max(columns, len(line.split()[0]) + 2) for line in lines) and len(lines) > 10


def test_rows_have_states_results_and_titles_and_where_names_folders(
    ask: RunCommand, own_run: store.StoredRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    line = ask("list", "--own")[1].splitlines()[1].rstrip()
    assert line.startswith(f"{own_run.key}  finished  accuracy 0.") and line.endswith("  My first run [course, good]")
    (entry,) = parse_json_lines(ask("list", "--own", "--json")[1])
    assert (entry["kind"], entry["title"], entry["tags"], entry["state"]) == (
        "run",
        "My first run",
        ["course", "good"],
        "finished",
    )
    assert entry["metrics"]["exact_accuracy"] == own_run.card.metrics["exact_accuracy"].mean
    (included,) = parse_json_lines(ask("list", "--search", "text-clipping-descent-none-0.3", "--json")[1])
    assert included["kind"] == "pretrained" and included["result"].endswith(" bits per byte, unigram 4.830")
    folders = {row["name"]: row for row in parse_json_lines(ask("where", "--json")[1]) if row["kind"] == "folder"}
    assert folders["home"]["path"] == str(environment().home)
    assert folders["home"]["bytes"] >= store.folder_size(own_run.folder) > 0
    assert (folders["cache"]["exists"], folders["cache"]["bytes"]) == (False, 0)
    out = " ".join(ask("where")[1].split())  # lines break where the length of the paths puts them
    assert str(environment().cache) in out and "does not exist yet" in out and "lineage delete KEY" in out


def test_list_names_models_tasks_and_runs(ask: RunCommand) -> None:
    _, out, _ = ask("list")
    assert all(name in out for name in [*MODELS, *shipped_configs(), "negation", str(environment().runs)])
    listed = parse_json_lines(ask("list", "--json")[1])
    assert [row["name"] for row in listed if row["kind"] == "model"] == list(MODELS)
    assert {row["name"] for row in listed if row["kind"] == "pretrained"} == set(shipped_configs())
    assert completion.ORDERS == index.ORDERS


@pytest.mark.parametrize("model", MODELS)
def test_every_listed_setting_can_be_given(model: str) -> None:
    task = list(MODELS[model].by_task)[-1]
    config = default_config(task, model)
    rows = setting_rows(task, model)
    assert len({row["key"] for row in rows}) == len(rows)
    for row in rows:
        key, default = row["key"], row["default"]
        section = config if row["section"] == "training" else getattr(config, row["section"])
        assert default == getattr(section, key.rpartition(".")[2]) and row["help"]
        assert with_settings(config, {key: default}) == config
        assert row.get("low") is None or row["low"] <= default <= row["high"]
        assert "options" not in row or str(default).lower() in row["options"]


def test_settings_and_measures_are_listed(ask: RunCommand) -> None:
    code, out, err = ask("settings", "--task", "negation", "--model", "transformer")
    assert (code, err) == (0, "")
    assert "\n  p_not = 0.35  (number, 0 to 1)\n      Probability of “not”" in out
    assert "epochs = " in out and "iterations = " not in out
    assert max(map(len, out.splitlines())) <= 80
    found = {
        row["key"]: row for row in parse_json_lines(ask("settings", "--task", "text", "--model", "gru", "--json")[1])
    }
    assert found["tokenizer"]["options"] == ["char", "word", "bpe", "bytes"] and "low" not in found["tokenizer"]
    assert (found["width"]["section"], found["width"]["type"], found["width"]["low"]) == ("model", "whole number", 1)
    assert found["iterations"]["kind"] == "setting" and "epochs" not in found
    _, out, _ = ask("settings")
    assert all(name in out for name in (*TASKS, *MODELS, "learning_rate")) and "p_not" not in out
    _, out, _ = ask("settings", "--task", "dates")
    assert "encoder_decoder" in out and "skip_gram" not in out
    _, out, _ = ask("settings", "--preset", "assignment")
    assert "vocabulary = 500 " in out and "width = 128 " in out
    found = {row["name"]: row for row in parse_json_lines(ask("lessons", "--measures", "--json")[1])}
    assert list(found) == list(MEASURES)
    assert found["reached"]["settings"]["least"] == {"type": "number", "low": 0.0, "high": 1.0, "default": 0.95}
    assert found["says"]["answers"] == ["collapse", "sustain"] and found["score"]["settings"]["run"]["type"] == "text"
    _, out, _ = ask("lessons", "--measures")
    assert all(f"\n{name}\n" in f"\n{out}" for name in MEASURES)
    assert "      least: number from 0 to 1, default 0.95\n" in out and max(map(len, out.splitlines())) <= 80


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    time = SimpleNamespace(now=0.0, monotonic=lambda: time.now)
    monkeypatch.setattr(progress, "time", time)
    return time


def test_progress_without_a_terminal_is_sparse_lines(
    clock: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    config = with_settings(default_config("negation", "rnn"), {"epochs": 100, "train_size": 640, "batch_size": 64})
    with progress.show_progress(config, 500) as add:
        for step in range(501, 1001):
            clock.now += 1.0
            add(Step(step, torch.tensor([1.0, 2.0]), 1.0))
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == "" and lines[0] == "step 510 of 1,000, loss 1.500, about 8 min left"
    assert [line.split()[1] for line in lines] == ["510", "530", "570", "650", "810"]


def test_progress_on_a_terminal_is_one_line(clock: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    config = with_settings(default_config("negation", "rnn"), {"epochs": 1, "train_size": 64})
    with progress.show_progress(config, 0) as add:
        clock.now += 1.0
        add(Step(1, torch.tensor([1.25]), 1.0))
    shown = terminal.getvalue()
    assert "loss 1.250" in shown and "1/1" in shown and shown.count("\n") <= 1
    assert shown.endswith(("\x1b[2K", "\x1b[?25h", "\x1b[1A\x1b[2K"))  # the line is removed at the end


COMPLETIONS = [
    ("tr", "train"),
    ("predict negation-half-r", "negation-half-rnn"),
    ("train --task wo", "word_vectors"),
    ("train --task dates --model tr", "transformer_encoder_decoder"),
    ("train --corpus br", "brackets"),
    ("train --task word_vectors --corpus gr", "grammar"),
    ("train --preset assignment-o", "assignment-original"),
    ("lessons word-v", "word-vectors"),
    ("train --task negation --model rnn --set p_", "p_not= p_not=0.35"),
    ("train --task negation --model rnn --set p_not =", "0.35"),
    ("train --task negation --model rnn --set padding = p", "pad"),
    ("train --set p_not = 0.5 --task = nega", "negation"),
    ("train --set p_not = 0.5 --task nega", "negation"),
    ("train --task negation --model rnn --set padding=p", "padding=pad"),
    ("list --sort se", "seconds"),
]


def complete(words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return what bash proposes for the last word of a command line."""
    monkeypatch.setattr(sys, "argv", ["lineage"])
    monkeypatch.setenv("_LINEAGE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "\n".join(("lineage", *words.split())))
    monkeypatch.setenv("COMP_CWORD", str(len(words.split())))
    with pytest.raises(SystemExit):
        command_line.main()
    out, err = capsys.readouterr()
    assert err == ""
    return out.split()


@pytest.mark.parametrize(("words", "expected"), COMPLETIONS)
def test_values_are_completed(
    words: str, expected: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert complete(words, monkeypatch, capsys) == expected.split()


def test_keys_of_own_runs_are_completed(
    own_run: store.StoredRun, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert complete(f"delete {own_run.key[:3]}", monkeypatch, capsys) == [own_run.key]
