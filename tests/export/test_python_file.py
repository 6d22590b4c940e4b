"""A run as one plain file: run where nothing of ours can be imported."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from explorer.catalogue import models_of
from explorer.export.python_file import as_python, file_parts
from explorer.training.config import RunConfig, branch_from, default_config, key, with_settings
from explorer.training.events import Step
from explorer.training.train import train

SHORT: dict[str, object] = {"epochs": 2, "train_size": 211}
RUNS = {
    "bag_of_words": {"replicas": 2},
    "bag_of_words_hidden": {"replicas": 2, "hidden": 3},
    "bag_of_bigrams": {"padding": "eos", "max_nots": 2},
    "rnn": {"replicas": 2, "padding": "eos"},
    "lstm": {"seed": 5},
    "transformer": {"replicas": 2, "layers": 2, "heads": 2, "max_nots": 2},
}
SCHEDULES: dict[str, dict[str, object]] = {
    "linear": {"schedule": "linear"},
    "cosine": {"schedule": "cosine", "learning_rate": 0.0123},
    "warmup": {"warmup": 5},
    "linear_after_warmup": {"schedule": "linear", "warmup": 3, "replicas": 2},
    "cosine_after_warmup": {"schedule": "cosine", "warmup": 3},
    "another_order": {"order": 7, "replicas": 2},
}
METHODS: dict[str, dict[str, object]] = {
    "sgd": {"method": "sgd", "momentum": 0.9, "weight_decay": 0.1, "clip": 0.01},
    "rmsprop": {"method": "rmsprop", "average": 0.9, "end": 0.1, "schedule": "linear"},
    "adamw": {"weight_decay": 0.3, "beta2": 0.9, "clip": 0.01, "replicas": 2},
    "muon": {"method": "muon", "momentum": 0.9, "replicas": 2},
}
CONFIGS = {
    model: with_settings(default_config("negation", model), {**SHORT, **RUNS.get(model, {"replicas": 2})})
    for model in models_of("negation")
    if model != "feedforward"  # whose runs have the schedules and methods below
}
CONFIGS |= {
    name: with_settings(default_config("negation", "feedforward"), {**SHORT, **changes})
    for name, changes in (SCHEDULES | METHODS).items()
}
RECALL: dict[str, dict[str, object]] = {
    "rnn": {"start": "orthogonal", "gain": 1.2, "replicas": 2},
    "lstm": {"start": "chrono"},
    "gru": {"start": "forget-3", "sequences": 20, "batch_size": 20, "replicas": 2},
    "transformer": {"positions": "sinusoidal", "symbols": 3},
}
CONFIGS |= {
    f"recall_{model}": with_settings(
        default_config("recall", model), {"length": 7, "iterations": 6, "batch_size": 8, **changes}
    )
    for model, changes in RECALL.items()
}
TRANSLATION: dict[str, tuple[str, dict[str, object]]] = {
    "reverse": ("encoder_decoder", {"attention": "additive", "replicas": 2}),
    "copy": ("encoder_decoder", {"longest": 5}),
    "dates": ("transformer_encoder_decoder", {"replicas": 2, "layers": 1}),
    "pairs": ("encoder_decoder", {"attention": "additive"}),
}
CONFIGS |= {
    task: with_settings(
        default_config(task, model), {"width": 8, "hidden": 8, "iterations": 4, "batch_size": 6, **changes}
    )
    for task, (model, changes) in TRANSLATION.items()
}
LABELLING: dict[str, tuple[str, dict[str, object]]] = {
    "noise": ("transformer", {"replicas": 2, "causal": True}),
    "tale": ("transformer", {"replicas": 2, "causal": False}),
    "echo": ("transformer", {"positions": "rotary", "attention": True, "longest": 4}),
    "gloss": ("gru", {"replicas": 2}),
    "gist": ("transformer", {"positions": "learned", "norm": "rms", "norm_place": "pre"}),
}
CONFIGS |= {
    task: with_settings(default_config(task, model), {"iterations": 4, "batch_size": 6, **changes})
    for task, (model, changes) in LABELLING.items()
}
RUN_ALL = """
import json, runpy, sys
from pathlib import Path
losses = {file.stem: list(runpy.run_path(str(file))["train"]()) for file in Path().glob("*.py")}
assert not {"explorer", "jaxtyping"} & set(sys.modules)
print(json.dumps(losses))
"""


def losses(config: RunConfig) -> list[list[float]]:
    return [event.losses.tolist() for event in train(config) if isinstance(event, Step)]


def run(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-I", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def losses_of_the_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[list[float]]]:
    """What each file trains to, in one process for all, in a folder with nothing else."""
    folder = tmp_path_factory.mktemp("files")
    for model, config in CONFIGS.items():
        (folder / f"{model}.py").write_text(as_python(config))
    return json.loads(run(folder, "-c", RUN_ALL))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("model", CONFIGS)
def test_the_file_trains_to_exactly_the_same_losses(
    model: str, losses_of_the_files: dict[str, list[list[float]]]
) -> None:
    assert losses_of_the_files[model] == losses(CONFIGS[model])


@pytest.mark.slow
def test_running_the_file_prints_the_last_loss_of_each_epoch(tmp_path: Path) -> None:
    config = with_settings(default_config("negation", "feedforward"), {**SHORT, "replicas": 2})
    (tmp_path / "run.py").write_text(as_python(config))
    first, last = losses(config)[3], losses(config)[7]
    assert run(tmp_path, "run.py").splitlines() == [
        f"epoch 1  loss {first[0]} {first[1]}",
        f"epoch 2  loss {last[0]} {last[1]}",
    ]


@pytest.mark.parametrize("model", ["bag_of_words", "feedforward", "rnn", "lstm", "gru", "transformer"])
def test_the_file_is_plain_and_keeps_its_comments(model: str) -> None:
    text = as_python(default_config("negation", model))
    compile(text, "run.py", "exec")
    imports = [line for line in text.splitlines() if line.startswith(("import ", "from "))]
    ours = {line.split()[1].split(".")[0] for line in imports}
    assert ours <= {"__future__", "torch"} | set(sys.stdlib_module_names)
    assert "# Cross-entropy is the sum of" in text
    assert "type: ignore" not in text
    assert "SentenceTooLong" not in text


def test_the_file_has_no_more_than_the_run_uses() -> None:
    text = as_python(default_config("negation", "rnn"))
    assert text.count("learning_rate=") == 1
    for name in ("class SGD", "SGD |", "class Muon", "def _clip", "def stack", "baddbmm(self.bias", "class Embedding("):
        assert (name in text) == (name == "class Embedding(")
    text = as_python(CONFIGS["adamw"])
    for name in ("class SGD", "class Muon", "def _clip", "def stack", "baddbmm(self.bias"):
        assert (name in text) == (name not in ("class SGD", "class Muon"))


@pytest.mark.parametrize("name", ["bag_of_words", "recall_rnn", "recall_lstm", "noise", "echo", "reverse", "copy"])
def test_the_training_loop_is_in_the_last_section_without_branches_that_are_never_entered(name: str) -> None:
    sections = file_parts(CONFIGS[name]).sections
    title, _, code = sections[-1]
    assert title == "the training"
    assert not [other for other, *_ in sections if "export" in other]
    functions = [node.name for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)]
    assert functions == ["build_model", "batches", "batch_losses", "train", "main"]
    assert "RUN.replicas > 1" not in code and "RUN.iterations" not in code
    assert ('print(f"epoch ' in code) == (name in RUNS)


def test_a_file_is_made_without_torch() -> None:
    program = """
import sys
from explorer.training.config import default_config
from explorer.catalogue import models_of
from explorer.export.python_file import as_python
as_python(default_config("negation", "rnn"))
as_python(default_config("text", "rnn"))
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], cwd=Path(__file__).parents[2], check=True)


def test_a_branch_is_exported_as_if_it_had_no_parent() -> None:
    parent = CONFIGS["linear"]
    branch = branch_from(parent, 3, {"order": 7})
    alone = with_settings(parent, {"order": 7})
    one, other = as_python(branch), as_python(alone)
    assert key(branch) in one
    assert one.replace(key(branch), key(alone)) == other
