"""A run as a Python file with its weights beside it: it answers and trains as the run does."""

from __future__ import annotations

import runpy
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import explorer
from explorer.api.run import Run
from explorer.catalogue import TASKS, models_of
from explorer.export import contents
from explorer.export.python_file import as_python
from explorer.training.config import RunConfig, branch_from, default_config, key, with_settings
from explorer.training.recorder import record_run

MOST_LINES = 400
SMALL: dict[str, dict[str, object]] = {
    "negation": {"epochs": 2, "train_size": 90, "replicas": 2},
    "sentiment": {"reviews": 0, "composed": 300, "words": 0, "iterations": 4, "batch_size": 6, "replicas": 2},
    "text": {"corpus": "repeats", "size": 2_000, "context": 8, "iterations": 6, "batch_size": 4, "replicas": 2},
    "recall": {"length": 7, "iterations": 6, "batch_size": 8, "replicas": 2},
    "string": {"iterations": 6, "text": "abcabd"},
    "word_vectors": {"corpus": "grammar", "sentences": 300, "iterations": 6, "batch_size": 16, "replicas": 2},
}
OTHERS: dict[str, object] = {"iterations": 4, "batch_size": 6}
TEXTS = {  # one that each task reads
    "negation": "human not preserve nature",
    "sentiment": "The plot isn’t zyzzyvalike, won’t be ‘dull’ or slow… it’s not unwatchable!",
    "text": "",
    "recall": "abba",
    "string": "a",
    "reverse": "1230",
    "copy": "1230",
    "dates": "3rd of march 1997",
    "pairs": "clary",
    "noise": "abcab",
    "tale": "the ab",
    "echo": "123",
    "gloss": "the bank is near the deposit",
    "gist": "the _ is near the deposit",
    "place": "1234",
    "agreement": "the king near the queens is proud of",
    "word_vectors": "king",
    "induction": "abcab",
}
# Settings that change which code a program has.
SPECIAL: dict[str, tuple[str, str, dict[str, object]]] = {
    "eos": ("negation", "rnn", {"padding": "eos", "max_nots": 2, "batch_size": 7}),
    "sgd": ("negation", "feedforward", {"method": "sgd", "momentum": 0.9, "weight_decay": 0.1, "clip": 0.01}),
    "rmsprop": ("negation", "feedforward", {"method": "rmsprop", "average": 0.9, "end": 0.1, "schedule": "linear"}),
    "cosine": ("negation", "feedforward", {"schedule": "cosine", "warmup": 2, "order": 7}),
    "muon": ("negation", "transformer", {"method": "muon", "momentum": 0.9, "rest_decay": 0.1}),
    "orthogonal": ("recall", "gru", {"start": "forget-3"}),
    "gain": ("recall", "rnn", {"start": "orthogonal", "gain": 1.2}),
    "characters": ("string", "lstm", {"recurrent": False}),
    "pre": ("copy", "transformer_encoder_decoder", {"norm_place": "pre", "positions": "learned", "start": "zero"}),
    "additive": ("reverse", "encoder_decoder", {"attention": "additive"}),
    "reversed": ("echo", "transformer", {"again": "reverse", "positions": "rotary"}),
    "modified": ("text", "ngram", {"smoothing": "modified_kneser_ney", "cache": 0.1}),
    "stupid": ("text", "ngram", {"smoothing": "stupid_backoff", "rows": "sentences", "split": "pairs"}),
    "batch_norm": ("text", "feedforward", {"batch_norm": True, "dropout": 0.1}),
    "carried": ("text", "rnn", {"batches": "contiguous", "layers": 2, "dropout": 0.1, "average": 0.9, "seed": 5}),
    "everything": (
        "text",
        "transformer",
        {"dropout": 0.1, "average": 0.9, "norm": "rms", "positions": "learned", "method": "muon", "biases": True}
        | {"rows": "prefixes", "split": "pairs", "tokenizer": "bpe", "vocabulary": 60, "lower": True},
    ),
    "bytes": ("text", "lstm", {"rows": "sentences", "split": "sentences", "tokenizer": "bytes", "vocabulary": 270}),
    "bfloat16": ("text", "transformer", {"precision": "bfloat16", "dropout": 0.1, "context": 24}),
    "words": ("text", "gru", {"tokenizer": "word", "vocabulary": 40, "split": "windows"}),
}
SPECIAL |= {f"{task}-{model}": (task, model, {}) for task in TASKS for model in models_of(task)}


def small_config(task: str, model: str, changes: Mapping[str, object]) -> RunConfig:
    settings = dict(SMALL.get(task, OTHERS))
    if model == "ngram":
        settings = {name: settings[name] for name in ("corpus", "size", "context")}
    return with_settings(default_config(task, model), {**settings, **changes})


def write(folder: Path, config: RunConfig, run: Run | None = None) -> dict[str, Any]:
    """Write the export of a run into a folder and return the names of its program."""
    for path, content in as_python(config, run.source if run else None).by_path(folder / "run.py").items():
        path.write_bytes(content)
    return runpy.run_path(str(folder / "run.py"))


def assert_it_answers_like(run: Run, names: Mapping[str, Any], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Assert that the command of the program prints what the run answers."""
    capsys.readouterr()
    if run.task in ("text", "string"):
        for temperature in (0.0, 1.0):
            names["main"](["generate", text, "--tokens", "30", "--temperature", str(temperature), "--seed", "3"])
            expected = run.generate(text, tokens=30, temperature=temperature, sampling_seed=3)
            assert capsys.readouterr().out == f"{expected}\n"
        return
    names["main"](["predict", text])
    if run.task == "word_vectors":
        rows = [(row.word, row.cosine) for row in run.neighbours(text).itertuples()]
    else:
        table = run.predict(text)
        labelled = "token" in table and "label" in table
        answers = (
            table.token + "  " + table.label if labelled else table["output" if "output" in table else table.columns[0]]
        )
        rows = list(zip(answers, table.probability, strict=True))
    lines = capsys.readouterr().out.removesuffix("\n").split("\n")
    for line, (answer, number) in zip(lines, rows, strict=True):
        printed, rest = (line[-6:], line[:-8]) if line.startswith(f"{answer}  ") else (line[:6], line[8:])
        assert rest == answer and abs(float(printed) - number) < 2e-4


@pytest.mark.parametrize("name", SPECIAL)
def test_the_program_is_short_trains_to_the_same_losses_and_answers_like_the_run(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task, model, changes = SPECIAL[name]
    run = Run(record_run(small_config(task, model, changes)))
    names = write(tmp_path, run.config, run)
    lines = (tmp_path / "run.py").read_text("utf-8").splitlines()
    assert len(lines) <= MOST_LINES and max(map(len, lines)) <= 125
    names["main"](["train", "--seed", str(run.seeds[0])])
    losses = names["train"](run.seeds[0], tmp_path / "again.safetensors")
    np.testing.assert_allclose(losses, run.source.curves.losses[:, 0], rtol=2e-4, atol=2e-6)
    assert_it_answers_like(run, names, TEXTS[task], capsys)
    command = "generate" if task in ("text", "string") else "predict"
    names["main"]([command, TEXTS[task], "--weights", str(tmp_path / "run-trained.safetensors")])
    assert capsys.readouterr().out


@pytest.mark.parametrize("name", ["text-toy-transformer", "dates-additive", "negation-single-rnn", "agreement-heads"])
def test_an_included_run_answers_in_a_process_that_can_import_nothing_of_ours(name: str, tmp_path: Path) -> None:
    run = explorer.load(name)
    run.export(tmp_path / "run.py")
    generates = run.task == "text"
    words = ["generate", "", "--tokens", "20"] if generates else ["predict", TEXTS[run.task]]
    command = [sys.executable, "-I", str(tmp_path / "run.py"), *words]
    printed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    if generates:
        assert printed == run.generate("", tokens=20) + "\n"
    else:
        assert str(run.predict(TEXTS[run.task]).iloc[0]["output" if run.task == "dates" else "label"]) in printed


def test_without_a_stored_run_it_trains_and_then_predicts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = write(tmp_path, small_config("negation", "rnn", {}))
    with pytest.raises(SystemExit, match="Train the model first"):
        names["main"](["predict", TEXTS["negation"]])
    names["main"](["train"])
    names["main"](["predict", TEXTS["negation"], "--weights", str(tmp_path / "run-trained.safetensors")])
    assert "sustain" in capsys.readouterr().out


def test_a_long_training_reads_its_stored_examples_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "MAX_NUMBERS", 200)
    names = write(tmp_path, small_config("recall", "rnn", {"iterations": 12, "batch_size": 8}))
    batches = [batch["ids"].tolist() for batch in names["batches"]()]
    assert len(batches) == 12 and batches[3:6] == batches[:3] and batches[0] != batches[1]


def test_a_branch_trains_as_if_it_had_no_parent() -> None:
    parent = small_config("negation", "rnn", {})
    branch = branch_from(parent, 2, {"order": 7})
    alone = with_settings(parent, {"order": 7})
    assert as_python(branch).program.replace(key(branch), key(alone)) == as_python(alone).program
