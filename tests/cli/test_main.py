"""The commands `train`, `predict`, `evaluate`, `generate` and those for stored runs."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explorer.environment import environment
from explorer.experiments.pretraining import shipped_configs
from explorer.export.python_file import as_python
from explorer.run_store import store
from explorer.tasks.text.rows import drop_text_data
from explorer.training.config import default_config, key, with_settings
from tests.terminal import RunCommand

ROOT = Path(__file__).parents[2]
SHORT = {"epochs": 2, "train_size": 211}
AskJson = Callable[..., list[Any]]
Refuse = Callable[..., str]


def train(model: str, *options: str) -> tuple[str, ...]:
    return ("train", "--task", "negation", "--model", model, "--set", "epochs=2", "--set", "train_size=211", *options)


def test_train_stores_a_run_that_predict_can_use(ask: RunCommand, ask_json: AskJson) -> None:
    code, out, _ = ask(*train("gru", "--seed", "5", "--replicas", "3"))
    config = with_settings(default_config("negation", "gru"), {**SHORT, "seed": 5, "replicas": 3})
    assert code == 0
    assert "GRU: 2,586 parameters, 3 seed(s)" in out
    assert store.find(key(config)).config == config
    code, out, _ = ask("predict", key(config), "human not preserve nature")
    assert code == 0
    assert out.startswith("collapse ")
    assert [row["run"] for row in ask_json("list") if row["kind"] == "run"] == [key(config)]


def test_train_as_json_ends_with_the_metrics(ask_json: AskJson) -> None:
    *steps, last = ask_json(*train("bag_of_words", "--replicas", "3"))
    assert steps[-1]["kind"] == "step"
    assert (steps[-1]["step"], steps[-1]["of"], len(steps[-1]["loss"])) == (8, 8, 3)
    assert list(last) == ["kind", "run", "seconds", "metrics"]
    assert (last["kind"], len(last["run"])) == ("finished", 12)
    accuracy = last["metrics"]["test_accuracy"]
    assert len(accuracy["values"]) == 3
    assert accuracy["mean"] == pytest.approx(sum(accuracy["values"]) / 3)


def test_train_into_a_folder(ask: RunCommand, refuse: Refuse, tmp_path: Path) -> None:
    assert ask(*train("bag_of_words", "--out", str(tmp_path / "mine")))[0] == 0
    assert store.load(tmp_path / "mine").config.model == default_config("negation", "bag_of_words").model
    other = train("bag_of_words", "--out", str(tmp_path / "mine"), "--seed", "3")
    err = refuse(*other)
    assert "contains another run" in err and "--force" in err
    assert store.load(tmp_path / "mine").config.seed == 0
    assert ask(*other, "--force")[0] == 0
    assert store.load(tmp_path / "mine").config.seed == 3
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("years of work")
    assert "is not a run folder" in refuse(*train("rnn", "--out", str(tmp_path / "thesis")))
    assert (tmp_path / "thesis" / "chapter.txt").read_text() == "years of work"


def test_predict_and_evaluate_agree_with_the_card(ask_json: AskJson, ask: RunCommand, tmp_path: Path) -> None:
    (prediction,) = ask_json("predict", "negation-single-transformer", "Human NOT preserve nature!")
    assert list(prediction) == ["kind", "sentence", "tokens", "probabilities"]
    assert prediction["sentence"] == "Human NOT preserve nature!"
    assert prediction["tokens"] == ["<BOS>", "human", "not", "preserve", "nature", "<EOS>"]
    assert list(prediction["probabilities"]) == ["collapse", "sustain"]
    assert prediction["probabilities"]["collapse"] > 0.9
    assert sum(prediction["probabilities"].values()) == pytest.approx(1)
    (evaluation,) = ask_json("evaluate", "negation-held-out-rnn")
    card = store.find("negation-held-out-rnn").card
    assert (evaluation["kind"], evaluation["run"]) == ("evaluation", card.key)
    assert evaluation["metrics"]["exact_accuracy"]["values"] == pytest.approx(card.metrics["exact_accuracy"].values)
    out = ask("evaluate", "negation-single-bag_of_words")[1]
    assert re.search(r"exact_accuracy +0.883  \(0.883 to 0.883\); most frequent class: 0.550\n", out)
    # A copy of an included run has its rounded weights too.
    shutil.copytree(store.PRETRAINED / "negation-single-bag_of_words", copy := tmp_path / "copy")
    assert "\nequal to its card\n" in ask("evaluate", str(copy))[1]


def test_large_libraries_are_imported_when_they_are_needed(home: Path) -> None:
    """In a process of its own: what the first page and the program import, and what `predict` imports."""
    code = """
import sys
import explorer.catalogue, explorer.training.config, explorer.jobs.scheduler, explorer.run_store.store
import explorer.experiments.pretraining, explorer.export.python_file, explorer.tasks.ceiling, explorer.__main__
assert not {"torch", "streamlit", "plotly"} & set(sys.modules), "on import"
sys.argv = ["explorer", "predict", "negation-single-rnn", "human destroy nature", "--json"]
try:
    explorer.__main__.main()
finally:
    assert "torch" in sys.modules and not {"streamlit", "plotly"} & set(sys.modules), "on predict"
"""
    command = [sys.executable, "-c", code]
    process = subprocess.run(command, cwd=ROOT, env={"LINEAGE_HOME": str(home)}, capture_output=True, text=True)
    assert (process.returncode, process.stderr) == (0, "")


def test_an_exported_run_can_be_deleted_and_imported(ask: RunCommand, ask_json: AskJson, tmp_path: Path) -> None:
    run, file = ask_json(*train("bag_of_words"))[-1]["run"], tmp_path / "run.zip"
    assert ask_json("reindex") == [{"kind": "reindexed", "runs": len(shipped_configs()) + 1}]
    (exported,) = ask_json("export", run, str(file))
    assert (exported["run"], exported["bytes"]) == (run, file.stat().st_size)
    assert ask("delete", run)[0] == 0
    assert list(environment().runs.iterdir()) == list(environment().trash.iterdir()) == []
    assert ask_json("import", str(file)) == [{"kind": "imported", "run": run}]
    assert store.find(run).card.owner == ""


def test_importing_a_file_that_is_no_zip_leaves_nothing(refuse: Refuse, tmp_path: Path) -> None:
    (tmp_path / "run.zip").write_bytes(b"no zip")
    refuse("import", str(tmp_path / "run.zip"))
    assert not environment().runs.exists()


@pytest.mark.parametrize("name", ["run.py", "RUN.IPYNB"])
def test_the_file_extension_selects_the_format(name: str, tmp_path: Path, ask: RunCommand) -> None:
    file, stored = tmp_path / name, store.find("negation-single-rnn")
    code, out, err = ask("export", "negation-single-rnn", str(file))
    assert (code, err) == (0, "") and f"{file.stat().st_size:,} bytes" in out
    made = as_python(stored.config, stored)
    assert file.with_suffix(".safetensors").read_bytes() == made.tensors
    if name == "run.py":
        assert file.read_text() == made.program
    else:
        first = json.loads(file.read_text())["cells"][0]["source"]
        assert stored.key in first and f"{stored.curves.losses[-1][0]:.3g} at step" in first
    file.unlink()
    file.with_suffix(".safetensors").write_bytes(b"another")
    code, _, err = ask("export", "negation-single-rnn", str(file))
    assert code == 2 and ".safetensors exists" in err and not file.exists()


SMALL = ("--set", "iterations=12", "--set", "batch_size=4", "--set", "width=8", "--set", "hidden=12")


def train_text(model: str, *options: str) -> tuple[str, ...]:
    text = ("--corpus", "brackets", "--set", "size=3000", "--set", "context=8")
    return ("train", "--task", "text", "--model", model, *text, *(() if model == "ngram" else SMALL), *options)


@pytest.mark.parametrize("model", ["ngram", "gru"])
def test_a_language_model_is_trained_and_evaluated_and_generates_text(
    ask: RunCommand, ask_json: AskJson, model: str
) -> None:
    finished = ask_json(*train_text(model))[-1]
    assert {"val_loss", "perplexity", "bits_per_char"} <= finished["metrics"].keys()
    assert ask_json("evaluate", finished["run"])[0]["as_on_card"]
    write = ("generate", finished["run"], "--prompt", "(a", "--tokens", "30")
    first, again, other = (ask_json(*write, "--seed", seed)[0] for seed in ("1", "1", "2"))
    assert first == again
    assert first["prompt"] == "(a"
    assert len(first["texts"][0]) == 30
    assert first["texts"] != other["texts"]
    greedy = [ask_json(*write, "--greedy", "--seed", seed)[0]["texts"] for seed in ("1", "2")]
    assert greedy[0] == greedy[1]
    code, out, err = ask("generate", finished["run"], "--prompt", "(ZZ€a", "--tokens", "5")
    assert (code, out[:2], err) == (0, "(a", "Not in the vocabulary: 'Z', '€' (left out).\n")


def test_changes_to_the_prompt_are_reported(ask: RunCommand, ask_json: AskJson) -> None:
    tokens = ("--tokenizer", "bpe", "--set", "vocabulary=20", "--set", "lower=true")
    generate = ("generate", ask_json(*train_text("ngram", *tokens))[-1]["run"], "--tokens", "5", "--prompt")
    code, out, err = ask(*generate, "a日本")
    assert (code, err) == (0, "Not in the vocabulary: '日', '本' (read as <unk>).\n")
    generated = ask(*generate, "a日本", "--json")[1]
    assert '"dropped": [], "unknown": ["日", "本"]' in generated
    code, out, err = ask(*generate, "(A")
    assert code == 0 and out.replace(" ", "").startswith("(a")
    assert "lower-case letters only" in err and "prompt is lower-cased" in err and err.count("\n") == 1
    generated = ask(*generate, "(A", "--json")[1]
    assert '"prompt": "( a", ' in generated and '"lowered": true' in generated
    assert ask(*generate, "(a")[2] == ""
    code, out, err = ask("generate", "text-toy-transformer", "--tokens", "5")
    assert (code, err) == (0, "") and out.strip()


def test_a_run_trained_on_a_file_generates_without_it_and_is_evaluated_with_it(
    ask_json: AskJson, refuse: Refuse, tmp_path: Path
) -> None:
    own, file = "to be or not to be, that is the question. " * 50, tmp_path / "own.txt"
    file.write_text(own, encoding="utf-8")
    (tmp_path / "other.txt").write_text(own + "!")
    options = ("--task", "text", "--model", "gru", "--corpus", str(file), "--tokenizer", "char", *SMALL)
    run = ask_json("train", *options)[-1]["run"]
    drop_text_data(hashlib.sha256(own.encode()).hexdigest())  # as in another process
    assert ask_json("generate", run, "--tokens", "9")[0]["texts"]
    assert refuse("evaluate", run).endswith("On the command line, give its file with --corpus FILE.\n")
    for name, message in (
        ("other.txt", "is not the text of this run: its SHA-256 begins with"),
        ("none.txt", "There is no file"),
    ):
        assert message in refuse("evaluate", run, "--corpus", str(tmp_path / name))
    assert ask_json("evaluate", run, "--corpus", str(file))[0]["as_on_card"]


def test_early_ends_and_fewer_tokens_than_requested_are_reported(ask: RunCommand, ask_json: AskJson) -> None:
    (note,) = ask_json(*train_text("gru", "--stop-at", "val_loss=0.01"))[-1]["notes"]
    assert re.fullmatch(r"A validation loss of 0\.01 .*not reached.* 12 steps .*\d\.\d{3}\.", note)
    assert f"\n{note}\n" in ask(*train_text("gru", "--stop-at", "val_loss=0.01"))[1]  # the run exists now
    assert "was not reached" not in ask(*train_text("gru", "--stop-at", "val_loss=50"))[1]
    _, out, _ = ask(*train_text("ngram", "--tokenizer", "word", "--set", "vocabulary=5000"))
    assert re.search(r"^5,000 tokens were requested; .* (\d,)?\d{1,3}\.$", out, re.MULTILINE)
    # The vocabulary of characters has no requested size.
    for enough in (("--set", "vocabulary=5000"), ("--tokenizer", "word", "--set", "vocabulary=20")):
        assert "were requested" not in ask(*train_text("ngram", *enough))[1]


def test_a_time_budget_is_converted_into_a_number_of_steps(ask_json: AskJson) -> None:
    steps = [line["of"] for line in ask_json(*train_text("gru", "--max-seconds", "1")) if line["kind"] == "step"]
    assert len({*steps}) == 1
    assert steps[0] > 12


def test_a_file_of_labelled_sentences_is_trained_on_and_asked(
    ask: RunCommand, ask_json: AskJson, refuse: Refuse, tmp_path: Path
) -> None:
    file, arrays = tmp_path / "sentences.csv", tmp_path / "attention.npz"
    rows = [
        f"the {who} {verb} {what},{'good' if verb == 'likes' else 'bad'}"
        for who, verb, what in itertools.product(("cat", "dog", "bird"), ("likes", "hates"), ("rain", "snow", "sun"))
    ]
    file.write_text("\n".join(["text,label", *rows]))
    corpus = ("--task", "negation", "--corpus", str(file))
    run = ask_json("train", *corpus, "--model", "bag_of_words", "--replicas", "2", "--set", "epochs=30")[-1]["run"]
    other = ask_json("train", *corpus, "--model", "transformer", "--set", "epochs=1")[-1]["run"]
    drop_text_data(hashlib.sha256(file.read_bytes()).hexdigest())
    (prediction,) = ask_json("predict", run, "The bird likes snow!")
    assert list(prediction["probabilities"]) == ["bad", "good"]
    assert prediction["probabilities"]["good"] > 0.5 and sum(prediction["probabilities"].values()) == pytest.approx(1)
    assert prediction["tokens"] == ["<BOS>", "the", "bird", "likes", "snow", "<EOS>"]
    assert "\ngood " in ask("predict", run, "the cat hates rain")[1]
    assert ask("evaluate", run, "--corpus", str(file))[0] == 0
    code, _, err = ask("inspect", other, "the zebra likes snow", "--out", str(arrays))
    assert (code, err) == (0, "Not in the vocabulary: 'zebra' (read as <unk>).\n")
    with np.load(arrays) as found:
        assert found["tokens"].tolist() == ["<BOS>", "the", "<UNK>", "likes", "snow", "<EOS>"]
    file.write_text("one\ntwo\n" * 100)
    assert "text,label" in refuse("train", *corpus, "--model", "rnn")
