"""A run as a notebook: valid, and trained cell by cell in a namespace of its own."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from explorer.catalogue import TASKS, models_of
from explorer.export.notebook import as_notebook
from explorer.training.config import RunConfig, default_config, key, with_settings
from explorer.training.recorder import record_run

TINY: dict[str, dict[str, object]] = {
    "negation": {"epochs": 2, "train_size": 100, "replicas": 2},
    "recall": {"length": 5, "iterations": 4, "batch_size": 6},
    "reverse": {"width": 8, "hidden": 8, "iterations": 3, "batch_size": 6},
    "text": {"corpus": "toy", "width": 16, "iterations": 3, "batch_size": 4, "context": 16},
}

CORPORA = {"text": {"corpus": "toy"}, "word_vectors": {"corpus": "grammar"}}  # without a file


def tiny(task: str) -> RunConfig:
    return with_settings(default_config(task, models_of(task)[-1]), TINY[task])


def cells(config: RunConfig, kind: str, *run: Any) -> list[str]:
    book = json.loads(as_notebook(config, *run).program)
    return [cell["source"] for cell in book["cells"] if cell["cell_type"] == kind]


@pytest.mark.parametrize("task", TINY)
def test_its_cells_answer_and_train_to_the_same_losses(
    task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config, module = tiny(task), ModuleType("notebook")
    record = record_run(config)
    (tmp_path / "run.safetensors").write_bytes(as_notebook(config, record).tensors)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "notebook", module)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for source in cells(config, "code", record):
        exec(compile(source, "cell", "exec"), vars(module))
    np.testing.assert_allclose(module.losses, record.curves.losses[:, 0], rtol=2e-4)
    assert "With matplotlib there would be a figure of them here." in capsys.readouterr().out


@pytest.mark.parametrize("task", TASKS)
def test_every_task_makes_a_notebook_whose_cells_are_code(task: str) -> None:
    config = with_settings(default_config(task, models_of(task)[-1]), CORPORA.get(task, {}))
    book = json.loads(as_notebook(config).program)
    assert set(book) == {"cells", "metadata", "nbformat", "nbformat_minor"}
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
    assert [cell["id"] for cell in book["cells"]] == [f"cell-{i}" for i in range(1, len(book["cells"]) + 1)]
    for cell in book["cells"]:
        code = {"execution_count", "outputs"} if cell["cell_type"] == "code" else set()
        assert set(cell) == {"id", "cell_type", "metadata", "source"} | code
    for source in cells(config, "code"):
        compile(source, "cell", "exec")


def test_the_settings_are_in_a_cell_of_their_own() -> None:
    alone = [source for source in cells(tiny("text"), "code") if "TRAINING = SimpleNamespace(" in source]
    assert len(alone) == 1 and "def " not in alone[0] and "width=16" in alone[0]


def test_the_first_cell_names_the_run_and_the_losses_to_expect() -> None:
    config = tiny("negation")
    record = record_run(config)
    first = cells(config, "markdown", record)[0]
    assert key(config) in first
    assert f"{record.curves.losses[0, 0]:.3g} at step 1, " in first
    assert "at step 1" not in cells(config, "markdown")[0]
