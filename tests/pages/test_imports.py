"""Torch is not on the way to the first page, and pages hold words and layout only."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "pages").glob("*.py"))
UI = sorted(file for folder in ("labs", "ui", "web") for file in (ROOT / "explorer" / folder).rglob("*.py"))
ON_THE_WAY = [*PAGES, *UI, ROOT / "app.py", ROOT / "explorer" / "inspection" / "compare.py"]


def imported(nodes: Iterator[ast.AST]) -> set[str]:
    """Modules that these statements import; a function's body and what is for type checkers only are left out."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}", *(f"{node.module}.{name.name}" for name in node.names)}
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            found |= imported(iter(node.orelse))
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            found |= imported(ast.iter_child_nodes(node))
    return found


def named(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts)


def top(file: Path) -> set[str]:
    """Modules that a file imports when it is imported."""
    return imported(iter(ast.parse(file.read_text()).body))


def holds(module: str, packages: set[str]) -> bool:
    return any(module == package or module.startswith(package + ".") for package in packages)


NEEDS_TORCH = {"torch", *(named(file) for file in (ROOT / "explorer").rglob("*.py") if "torch" in top(file))}


@pytest.mark.parametrize("file", ON_THE_WAY, ids=named)
def test_nothing_on_the_way_to_the_first_page_imports_torch(file: Path) -> None:
    assert [module for module in top(file) if holds(module, NEEDS_TORCH)] == []


@pytest.mark.parametrize("file", PAGES, ids=named)
def test_a_page_holds_no_tensor_and_draws_no_figure_itself(file: Path) -> None:
    everything = {
        name
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in imported(iter([node]))
    }
    assert [module for module in everything if holds(module, {"torch", "plotly", "explorer.models"})] == []
