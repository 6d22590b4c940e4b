"""The first page does not import torch, and pages contain text and layout only."""

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
    """Return the modules that these statements import, without bodies of functions and TYPE_CHECKING blocks."""
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


def module_name(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts)


def top_level_imports(file: Path) -> set[str]:
    """Return the modules that a file imports at its top level."""
    return imported(iter(ast.parse(file.read_text(encoding="utf-8")).body))


def contains(module: str, packages: set[str]) -> bool:
    return any(module == package or module.startswith(package + ".") for package in packages)


NEEDS_TORCH = {
    "torch",
    *(module_name(file) for file in (ROOT / "explorer").rglob("*.py") if "torch" in top_level_imports(file)),
}


@pytest.mark.parametrize("file", ON_THE_WAY, ids=module_name)
def test_no_module_of_the_first_page_imports_torch(file: Path) -> None:
    assert [module for module in top_level_imports(file) if contains(module, NEEDS_TORCH)] == []


@pytest.mark.parametrize("file", PAGES, ids=module_name)
def test_pages_import_neither_torch_nor_plotly_nor_models(file: Path) -> None:
    everything = {
        name
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in imported(iter([node]))
    }
    assert [module for module in everything if contains(module, {"torch", "plotly", "explorer.models"})] == []
