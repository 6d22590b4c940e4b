"""A run as one plain file: run where nothing of ours can be imported."""

from __future__ import annotations

import ast
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from explorer.export.python_file import as_python, file_parts
from explorer.training.config import RunConfig, branch_from, default_config, key, with_settings
from explorer.training.events import Step
from explorer.training.train import train

SHORT: dict[str, object] = {"epochs": 2, "train_size": 90}
SMALL: dict[str, object] = {"iterations": 4, "batch_size": 6}
TINY: dict[str, object] = {**SMALL, "width": 8, "hidden": 8}
RECALL: dict[str, object] = {"length": 7, "iterations": 6, "batch_size": 8}
NEGATION: dict[str, tuple[str, dict[str, object]]] = {
    "bag_of_words": ("bag_of_words", {"replicas": 2}),
    "bag_of_words_hidden": ("bag_of_words_hidden", {"replicas": 2, "hidden": 3}),
    "bag_of_bigrams": ("bag_of_bigrams", {"padding": "eos", "max_nots": 2}),
    "rnn": ("rnn", {"replicas": 2, "padding": "eos"}),
    "lstm": ("lstm", {"seed": 5}),
    "gru": ("gru", {"replicas": 2}),
    "convolution": ("convolution", {"replicas": 2}),
    "transformer": ("transformer", {"replicas": 2, "layers": 2, "heads": 2, "max_nots": 2}),
    "linear": ("feedforward", {"schedule": "linear"}),
    "cosine": ("feedforward", {"schedule": "cosine", "learning_rate": 0.0123}),
    "warmup": ("feedforward", {"warmup": 2}),
    "linear_after_warmup": ("feedforward", {"schedule": "linear", "warmup": 2, "replicas": 2}),
    "cosine_after_warmup": ("feedforward", {"schedule": "cosine", "warmup": 2}),
    "another_order": ("feedforward", {"order": 7, "replicas": 2}),
    "sgd": ("feedforward", {"method": "sgd", "momentum": 0.9, "weight_decay": 0.1, "clip": 0.01}),
    "rmsprop": ("feedforward", {"method": "rmsprop", "average": 0.9, "end": 0.1, "schedule": "linear"}),
    "adamw": ("feedforward", {"weight_decay": 0.3, "beta2": 0.9, "clip": 0.01, "replicas": 2}),
    "muon": ("feedforward", {"method": "muon", "momentum": 0.9, "replicas": 2}),
}
OTHERS: dict[str, tuple[str, str, dict[str, object]]] = {
    "recall_rnn": ("recall", "rnn", {**RECALL, "start": "orthogonal", "gain": 1.2, "replicas": 2}),
    "recall_lstm": ("recall", "lstm", {**RECALL, "start": "chrono"}),
    "recall_gru": ("recall", "gru", {**RECALL, "start": "forget-3", "sequences": 20, "batch_size": 20, "replicas": 2}),
    "recall_transformer": ("recall", "transformer", {**RECALL, "positions": "sinusoidal", "symbols": 3}),
    "reverse": ("reverse", "encoder_decoder", {**TINY, "attention": "additive", "replicas": 2}),
    "copy": ("copy", "encoder_decoder", {**TINY, "longest": 5}),
    "dates": ("dates", "transformer_encoder_decoder", {**TINY, "replicas": 2, "layers": 1}),
    "pairs": ("pairs", "encoder_decoder", {**TINY, "attention": "additive"}),
    "noise": ("noise", "transformer", {**SMALL, "replicas": 2, "causal": True}),
    "tale": ("tale", "transformer", {**SMALL, "replicas": 2, "causal": False}),
    "echo": ("echo", "transformer", {**SMALL, "positions": "rotary", "attention": True, "longest": 4}),
    "gloss": ("gloss", "gru", {**SMALL, "replicas": 2}),
    "gist": ("gist", "transformer", {**SMALL, "positions": "learned", "norm": "rms", "norm_place": "pre"}),
}
CONFIGS = {
    name: with_settings(default_config(task, model), changes)
    for name, (task, model, changes) in (
        {name: ("negation", model, {**SHORT, **more}) for name, (model, more) in NEGATION.items()} | OTHERS
    ).items()
}


def losses(config: RunConfig) -> list[list[float]]:
    return [event.losses.tolist() for event in train(config) if isinstance(event, Step)]


@pytest.mark.parametrize("model", CONFIGS)
def test_the_file_trains_to_exactly_the_same_losses(model: str, tmp_path: Path) -> None:
    file = tmp_path / "run.py"
    file.write_text(as_python(CONFIGS[model]), encoding="utf-8")
    assert list(runpy.run_path(str(file))["train"]()) == losses(CONFIGS[model])


def test_running_the_file_where_nothing_of_ours_can_be_imported_prints_the_last_loss_of_each_epoch(
    tmp_path: Path,
) -> None:
    config = with_settings(default_config("negation", "feedforward"), {**SHORT, "replicas": 2})
    (tmp_path / "run.py").write_text(as_python(config))
    command = [sys.executable, "-I", "run.py"]
    printed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    first, last = losses(config)[1], losses(config)[3]
    assert printed.splitlines() == [f"epoch 1  loss {first[0]} {first[1]}", f"epoch 2  loss {last[0]} {last[1]}"]


@pytest.mark.parametrize("name", CONFIGS)
def test_the_file_is_plain_and_keeps_its_comments(name: str) -> None:
    text = as_python(CONFIGS[name])
    compile(text, "run.py", "exec")
    imports = [line for line in text.splitlines() if line.startswith(("import ", "from "))]
    ours = {line.split()[1].split(".")[0] for line in imports}
    assert ours <= {"__future__", "torch"} | set(sys.stdlib_module_names)
    assert name not in NEGATION or "# Cross-entropy is the sum of" in text
    assert "type: ignore" not in text
    assert "SentenceTooLong" not in text
    title, _, code = file_parts(CONFIGS[name]).sections[-1]
    assert title == "the training"
    functions = [node.name for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)]
    assert functions[-5:] == ["build_model", "batches", "batch_losses", "train", "main"]
    assert "RUN.replicas > 1" not in code and "RUN.iterations" not in code
    assert ('print(f"epoch ' in code) == (name in NEGATION)


def test_the_file_has_no_more_than_the_run_uses() -> None:
    text = as_python(default_config("negation", "rnn"))
    assert text.count("learning_rate=") == 1
    for name in ("class SGD", "SGD |", "class Muon", "def _clip", "def stack", "baddbmm(self.bias", "class Embedding("):
        assert (name in text) == (name == "class Embedding(")
    text = as_python(CONFIGS["adamw"])
    for name in ("class SGD", "class Muon", "def _clip", "def stack", "baddbmm(self.bias"):
        assert (name in text) == (name not in ("class SGD", "class Muon"))


def test_a_branch_is_exported_as_if_it_had_no_parent() -> None:
    parent = CONFIGS["linear"]
    branch = branch_from(parent, 3, {"order": 7})
    alone = with_settings(parent, {"order": 7})
    one, other = as_python(branch), as_python(alone)
    assert key(branch) in one
    assert one.replace(key(branch), key(alone)) == other
