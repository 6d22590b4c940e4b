"""A language model as one plain file: run where nothing of ours can be imported, it trains to the same curve."""

from __future__ import annotations

import ast
import hashlib
import runpy
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from explorer.experiments.presets import preset
from explorer.export.python_file import as_python, required_libraries
from explorer.tasks.text.corpora import TINYSHAKESPEARE_SHA256, TINYSHAKESPEARE_URL, store_text, validated_text
from explorer.training.config import RunConfig, branch_from, default_config, key, with_settings
from explorer.training.events import Evaluation, Step
from explorer.training.train import train

# As an editor of another system saves it: with a mark at its start, two characters at each line's end, page breaks.
OWN = b"\xef\xbb\xbf" + "Größe zählt nicht;\r\nwer zählt, der irrt.\x0c\r\rEin Vers bleibt hier…\n".encode() * 20
SHA = store_text(validated_text(OWN))
DATA: dict[str, object] = {"corpus": "repeats", "size": 2_000, "context": 8, "sample": 30}
LOOP: dict[str, object] = {"iterations": 6, "batch_size": 4, "evaluate_every": 4, "evaluation_size": 60}
SIZES: dict[str, dict[str, object]] = {
    "ngram": {"n": 3},
    "feedforward": {"width": 4, "hidden": 9, "window": 3},
    "rnn": {"width": 4, "hidden": 9},
    "lstm": {"width": 4, "hidden": 9},
    "gru": {"width": 4, "hidden": 9},
    "transformer": {"width": 8, "heads": 2, "layers": 2, "hidden": 12},
}
RUNS: dict[str, tuple[str, dict[str, object]]] = {
    "ngram": ("ngram", {}),
    "ngram_modified": ("ngram", {"smoothing": "modified_kneser_ney", "cache": 0.1}),
    "ngram_stupid": ("ngram", {"smoothing": "stupid_backoff"}),
    "ngram_lines": ("ngram", {"rows": "sentences", "split": "pairs"}),
    "feedforward": ("feedforward", {"corpus": "toy", "replicas": 2}),
    "batch_norm": ("feedforward", {"batch_norm": True, "dropout": 0.1, "method": "rmsprop", "beta2": 0.99}),
    "rnn": ("rnn", {"corpus": "toy", "start": "orthogonal", "schedule": "cosine", "end": 0.1, "order": 3}),
    "rnn_carried": ("rnn", {"batches": "contiguous", "replicas": 2, "layers": 2, "dropout": 0.1, "average": 0.9}),
    "lstm": ("lstm", {"layers": 2, "dropout": 0.2, "seed": 5}),
    "lstm_seeds": ("lstm", {"layers": 2, "dropout": 0.2, "replicas": 2, "evaluation_size": 0}),
    "gru": ("gru", {"batches": "contiguous", "method": "sgd", "learning_rate": 0.1, "momentum": 0.9, "clip": 0.1}),
    "transformer": ("transformer", {"average": 0.9, "context": 20}),
    "transformer_seeds": ("transformer", {"average": 0.9, "replicas": 2, "dropout": 0.1, "norm": "rms"}),
    "as_in_the_assignment": (
        "transformer",
        {**preset("assignment-original").settings, **LOOP, **DATA, **SIZES["transformer"], "vocabulary": 60}
        # Until it makes a difference to what is written whether a prefix is padded.
        | {"iterations": 30, "evaluate_every": 20, "learning_rate": 0.1},
    ),
    "pieces": ("transformer", {"rows": "sentences", "split": "pairs", "tokenizer": "bpe", "vocabulary": 60}),
    "lower_case": ("gru", {"rows": "sentences", "split": "sentences", "tokenizer": "bytes", "lower": True}),
    "words": ("feedforward", {"tokenizer": "word", "vocabulary": 40, "split": "windows"}),
    "bytes": ("rnn", {"corpus": "brackets", "tokenizer": "bytes", "vocabulary": 270}),
    "share": ("gru", {"training_share": 0.3}),
    "own": ("gru", {"corpus": "own", "text": SHA, "lower": True}),
    "low_enough": ("feedforward", {"corpus": "toy", "iterations": 200, "stop_at": 1.0, "learning_rate": 0.1}),
    "no_better": ("feedforward", {"iterations": 200, "patience": 2, "learning_rate": 0.5, "average": 0.5}),
}
CONFIGS = {
    name: with_settings(
        default_config("text", model), {**DATA, **SIZES[model], **({} if model == "ngram" else LOOP), **changes}
    )
    for name, (model, changes) in RUNS.items()
}
CONFIGS["tinyshakespeare"] = default_config("text", "rnn")


exported = cache(as_python)


@pytest.fixture
def run_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """A function that writes the file of a run and returns its names; it is started with arguments."""

    def run(name: str, *arguments: str) -> dict[str, Any]:
        file = tmp_path / f"{name}.py"
        file.write_text(exported(CONFIGS[name]), encoding="utf-8")
        (tmp_path / "input.txt").write_bytes(OWN)
        monkeypatch.setattr("sys.argv", [file.name, *(str(tmp_path / word) for word in arguments)])
        return runpy.run_path(str(file))

    return run


@cache
def expected_results(name: str) -> tuple[list[list[object]], Evaluation]:
    """Return the losses of our own training as the file prints them, and the last evaluation."""
    config = CONFIGS[name]
    lines: list[list[object]] = []
    last = None
    for event in train(config):
        if isinstance(event, Step):
            lines.append([event.step, "loss", event.losses.tolist()])
        elif isinstance(event, Evaluation):
            last = event
            if event.step < config.steps:
                lines.append([event.step, "validation loss", event.answers["val_loss_part"].tolist()])
    assert last
    return lines, last


@pytest.mark.parametrize("name", RUNS)
def test_the_file_trains_to_the_same_losses_and_generates_the_same_text(
    name: str, run_file: Callable[..., dict[str, Any]]
) -> None:
    names, (lines, last) = run_file(name, "input.txt"), expected_results(name)
    data = names["load_data"](names["read"]())
    model = names["build_models"](data)
    assert [list(line) for line in names["train_steps"](model, data)] == lines
    assert names["validation"](model, data).tolist() == last.answers["val_loss"].tolist()
    seeds = names["RUN"].seeds
    several = len(seeds) > 1 and "replica" in names
    alone = [names["replica"](model, i) if several else model for i in range(len(seeds))]
    written = [names["generate_text"](one, data, seed) for one, seed in zip(alone, seeds, strict=True)]
    assert not CONFIGS[name].sample or tuple(written) == last.samples


def test_the_short_runs_end_before_their_last_step() -> None:
    """Otherwise early stopping in the exported file would not be tested."""
    assert all(expected_results(name)[1].step < CONFIGS[name].steps for name in ("low_enough", "no_better"))


def test_running_the_file_where_nothing_of_ours_can_be_imported_prints_losses_and_text(tmp_path: Path) -> None:
    lines, last = expected_results("own")
    (tmp_path / "own.py").write_text(exported(CONFIGS["own"]), encoding="utf-8")
    (tmp_path / "input.txt").write_bytes(OWN)
    command = [sys.executable, "-I", "own.py", "input.txt"]
    printed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    expected = [" ".join([f"step {step}  {quantity}", *map(str, numbers)]) for step, quantity, numbers in lines]  # type: ignore[call-overload]
    assert printed.splitlines()[: len(lines)] == expected
    loss, bits = (float(last.answers[name]) for name in ("val_loss", "bits_per_char"))
    perplexity = float(last.answers["perplexity"])
    summary = f"seed 0  validation loss {loss}  perplexity {perplexity}  bits a character {bits}\n"
    assert printed.endswith(summary + last.samples[0] + "\n")


@pytest.mark.parametrize(
    ("name", "what"),
    [("own", f"the text of this run|{SHA}"), ("tinyshakespeare", f"Tiny Shakespeare|{TINYSHAKESPEARE_SHA256}")],
)
def test_a_file_names_the_expected_text_in_one_sentence(
    name: str, what: str, run_file: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    text, sha = what.split("|")
    (tmp_path / "other.txt").write_text("another text\n")
    (tmp_path / "binary.txt").write_bytes(b"\xff\xfe\x00")
    other = hashlib.sha256(b"another text\n").hexdigest()
    unreadable = " cannot be read as a text in UTF-8: "
    for file, message in (
        ("", f"Say which file holds {text} (SHA-256 {sha}): python {name}.py input.txt"),
        ("other.txt", f"other.txt does not hold {text}: SHA-256 {sha} is expected, and this is {other}."),
        ("binary.txt", f"binary.txt{unreadable}"),
        ("nowhere.txt", f"nowhere.txt{unreadable}"),
    ):
        with pytest.raises(SystemExit) as ended:
            run_file(name, *filter(None, [file]))["read"]()
        assert str(ended.value.code).removeprefix(f"{tmp_path}/").startswith(message)
    assert "python FILE input.txt" in exported(CONFIGS[name])
    assert name == "own" or TINYSHAKESPEARE_URL in exported(CONFIGS[name])
    assert "zählt" not in exported(CONFIGS[name]), "the text is not in the file"


@pytest.mark.parametrize("name", RUNS)
def test_the_file_imports_what_it_uses_and_nothing_else(name: str) -> None:
    text = exported(CONFIGS[name])
    tree = ast.parse(text)
    imported = {
        (node.module if isinstance(node, ast.ImportFrom) else alias.name, alias.asname or alias.name)
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    used_names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert {local.split(".")[0] for module, local in imported if module != "__future__"} <= used_names
    roots = {str(module).split(".")[0] for module, _ in imported} - {"__future__"} - set(sys.stdlib_module_names)
    assert roots == set(required_libraries(CONFIGS[name]).replace(",", "").replace(" and", "").split())
    assert "type: ignore" not in text


@pytest.mark.parametrize("name", RUNS)
def test_the_file_has_no_more_than_the_run_uses(name: str) -> None:
    config, text = CONFIGS[name], exported(CONFIGS[name])
    is_ngram = config.model_name == "ngram"
    expected = {
        "class Ngram(": is_ngram,
        "def modified_discounts(": getattr(config.model, "smoothing", "") == "modified_kneser_ney",
        "def _normalized_stupid_backoff(": getattr(config.model, "smoothing", "") == "stupid_backoff",
        "def sum_of_earlier(": getattr(config.model, "cache", 0) > 0,
        "class NeuralNgram(": config.model_name == "feedforward",
        "class RecurrentLanguageModel(": config.model_name in ("rnn", "lstm", "gru"),
        "class LSTMCell(": config.model_name == "lstm",
        "class RecurrentClassifier(": False,
        "class Adam(": not is_ngram and config.optimiser.method in ("adam", "muon"),
        "class SGD(": config.optimiser.method == "sgd",
        "def swap_averaged_weights(": config.average > 0,
        "def stack(": config.replicas > 1 and not is_ngram,
        "class EarlyStopping:": config.stop_at > 0 or config.patience > 0,
        "def rows_circular(": getattr(config.task, "batches", "") == "contiguous",
        "class Sentences(": getattr(config.task, "rows", "") != "blocks",
        "class Characters:": getattr(config.task, "tokenizer", "") == "char",
        "class WordLevel(": getattr(config.task, "tokenizer", "") == "word",
        "pydantic": False,
        "lru_cache": getattr(config.task, "rows", "") != "blocks",
    }
    assert {definition: definition in text for definition in expected} == expected


def test_a_branch_is_exported_as_if_it_had_no_parent() -> None:
    parent = CONFIGS["transformer"]
    branch: RunConfig = branch_from(parent, 3, {"order": 7})
    alone = with_settings(parent, {"order": 7})
    assert as_python(branch).replace(key(branch), key(alone)) == as_python(alone)
