"""The documentation of the Python API: every example runs, in the order of the page."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "python.md").read_text(encoding="utf-8")


def run_cells(cells: list[str]) -> dict[str, Any]:
    """Run cells as a notebook does: an expression at the end of a line is shown."""
    names: dict[str, Any] = {}
    for cell in cells:
        for node in ast.parse(cell).body:
            if isinstance(node, ast.Expr):
                value = eval(compile(ast.Expression(node.value), cell, "eval"), names)
                for show in ("_repr_html_", "_repr_mimebundle_"):
                    if hasattr(value, show):
                        getattr(value, show)()
                repr(value)
            else:
                exec(compile(ast.Module([node], []), cell, "exec"), names)
    return names


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LINEAGE_HOME", str(tmp_path / "home"))


def test_every_example_of_the_page_runs(tmp_path: Path) -> None:
    cells = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    for long, short in (
        ('"transformer", seeds=2)', '"transformer", seeds=2, epochs=2)'),
        ('"rnn", {"learning_rate": [1e-3, 3e-3, 1e-2, 3e-2], "hidden": [8, 16]}', '"rnn", {"hidden": [8, 16]}'),
        ("seeds=2, epochs=5, learning_rate=1e-2)", "seeds=2, epochs=1, learning_rate=1e-2)"),
        ("seeds=2, epochs=5\n", "seeds=2, epochs=1, finalists=0\n"),
    ):
        (at,) = (i for i, cell in enumerate(cells) if long in cell)
        cells[at] = cells[at].replace(long, short)
    names = run_cells(cells)
    assert len(cells) > 9 and names["lstm"].folder == tmp_path / "home" / "runs" / names["lstm"].key
    assert {file.name for file in tmp_path.iterdir()} == {
        "home",
        "transformer.py",
        "transformer.safetensors",
        "transformer.zip",
        "curves.csv",
        "attention.html",
    }
    assert names["lstm"].settings == {"epochs": 1, "learning_rate": 0.01, "replicas": 2}


def test_the_notebook_runs_and_contains_no_outputs() -> None:
    cells = json.loads((DOCS / "lineage.ipynb").read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in code)
    run_cells(["".join(cell["source"]) for cell in code])
