"""A run as a notebook: valid, and trained cell by cell in a namespace of its own."""

from __future__ import annotations

import codeop
import json
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from explorer.catalogue import TASKS, models_of
from explorer.export.notebook import as_notebook
from explorer.training.config import RunConfig, branch_from, default_config, key, with_settings
from explorer.training.events import Step
from explorer.training.train import train

TINY: dict[str, dict[str, object]] = {
    "negation": {"epochs": 2, "train_size": 100, "replicas": 2},
    "recall": {"length": 5, "iterations": 4, "batch_size": 6},
    "reverse": {"width": 8, "hidden": 8, "iterations": 3, "batch_size": 6},
    "text": {"corpus": "toy", "width": 16, "iterations": 3, "batch_size": 4, "context": 16},
}


def tiny(task: str) -> RunConfig:
    return with_settings(default_config(task, models_of(task)[-1]), TINY[task])


def cells(config: RunConfig, kind: str, *losses: Any) -> list[str]:
    return [cell["source"] for cell in json.loads(as_notebook(config, *losses))["cells"] if cell["cell_type"] == kind]


@pytest.mark.parametrize("task", TINY)
def test_its_cells_train_to_exactly_the_same_losses(
    task: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The cells run as in Jupyter: the `__future__` import of one holds in those after it."""
    config, module, compiler = tiny(task), ModuleType("notebook"), codeop.Compile()
    monkeypatch.setitem(sys.modules, "notebook", module)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for source in cells(config, "code"):
        exec(compiler(source, "cell", "exec"), vars(module))
    assert module.losses == [event.losses.tolist() for event in train(config) if isinstance(event, Step)]
    assert "With matplotlib there would be a figure of them here." in capsys.readouterr().out


@pytest.mark.parametrize("task", TASKS)
def test_every_task_makes_a_notebook_whose_cells_are_code(task: str) -> None:
    config = default_config(task, models_of(task)[-1])
    book = json.loads(as_notebook(config))
    assert set(book) == {"cells", "metadata", "nbformat", "nbformat_minor"}
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
    assert [cell["id"] for cell in book["cells"]] == [f"cell-{i}" for i in range(1, len(book["cells"]) + 1)]
    for cell in book["cells"]:
        code = {"execution_count", "outputs"} if cell["cell_type"] == "code" else set()
        assert set(cell) == {"id", "cell_type", "metadata", "source"} | code
    compiler = codeop.Compile()
    for source in cells(config, "code"):
        compiler(source, "cell", "exec")
    assert "main()" in cells(config, "code")[-1]


def test_the_settings_are_in_a_cell_of_their_own() -> None:
    code = cells(tiny("text"), "code")
    alone = [source for source in code if "RUN = RunConfig(" in source]
    assert len(alone) == 1 and "def " not in alone[0] and "width=16" in alone[0]


def test_the_first_cell_names_the_run_and_the_losses_to_expect() -> None:
    config = tiny("negation")
    losses = np.array([[0.9, 0.7], [0.5, 0.3], [0.125, 0.25]])
    first = cells(config, "markdown", losses)[0]
    assert key(config) in first and "| the task | train_size | `100` |" in first
    assert "0.8 at step 1, 0.4 at step 2, 0.188 at step 3" in first
    assert "0.125 (seed 0), 0.25 (seed 1)" in first
    assert "came to" not in cells(config, "markdown")[0]
    branch = branch_from(config, 2, {"order": 7})
    assert "came to" not in cells(branch, "markdown", np.ones((2, 2)))[0]


def test_the_notebook_reads_a_text_that_is_not_generated() -> None:
    shakespeare = default_config("text", "rnn")
    assert 'sys.argv = ["this notebook", "input.txt"]' in cells(shakespeare, "code")[-1]
    assert "sys.argv" not in cells(tiny("text"), "code")[-1]
    assert "SHA-256" in "".join(cells(shakespeare, "code")) and "input.txt" in cells(shakespeare, "markdown")[0]


def test_what_a_visitor_typed_breaks_no_table() -> None:
    config = with_settings(default_config("string", "rnn"), {"text": "a|b`c"})
    rows = [line for line in cells(config, "markdown")[0].splitlines() if line.startswith("| the task | text")]
    assert rows == ["| the task | text | `'a\\|b'c'` |"]
