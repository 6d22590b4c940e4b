"""A run as one plain file: run where nothing of ours can be imported."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from explorer.training.config import RunConfig, changed, default
from explorer.training.events import Step
from explorer.training.export import as_python
from explorer.training.train import train

SHORT: dict[str, object] = {"epochs": 2, "train_size": 211}
ONLY_TORCH = "import json, runpy, sys; losses = list(runpy.run_path('run.py')['train']()); print(json.dumps(losses))"


def run(folder: Path, config: RunConfig, *arguments: str) -> str:
    (folder / "run.py").write_text(as_python(config))
    command = [sys.executable, "-I", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("model", "changes"),
    [
        ("bag_of_words", {"replicas": 2}),
        ("rnn", {"replicas": 2, "padding": "eos"}),
        ("lstm", {"seed": 5}),
        ("transformer", {"replicas": 2, "layers": 2, "heads": 2, "max_nots": 2}),
    ],
    ids=["bag_of_words", "rnn", "lstm", "transformer"],
)
def test_the_file_trains_to_exactly_the_same_losses(model: str, changes: dict[str, object], tmp_path: Path) -> None:
    config = changed(default("negation", model), {**SHORT, **changes})
    theirs = json.loads(run(tmp_path, config, "-c", ONLY_TORCH))
    assert theirs == [event.losses.tolist() for event in train(config) if isinstance(event, Step)]


def test_running_the_file_prints_the_last_loss_of_each_epoch(tmp_path: Path) -> None:
    config = changed(default("negation", "feedforward"), {**SHORT, "replicas": 2})
    losses = torch.stack([event.losses for event in train(config) if isinstance(event, Step)]).tolist()
    lines = run(tmp_path, config, "run.py").splitlines()
    assert lines == [f"epoch 1  loss {losses[3][0]} {losses[3][1]}", f"epoch 2  loss {losses[7][0]} {losses[7][1]}"]


@pytest.mark.parametrize("model", ["bag_of_words", "feedforward", "rnn", "lstm", "gru", "transformer"])
def test_the_file_is_plain_and_keeps_its_comments(model: str) -> None:
    text = as_python(default("negation", model))
    compile(text, "run.py", "exec")
    imports = [line for line in text.splitlines() if line.startswith(("import ", "from "))]
    ours = {line.split()[1].split(".")[0] for line in imports}
    assert ours <= {"__future__", "torch"} | set(sys.stdlib_module_names)
    assert "# Cross-entropy is the sum of" in text
    assert "type: ignore" not in text
    assert "SentenceTooLong" not in text
