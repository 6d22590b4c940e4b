"""The first page does not import torch, and pages contain text and layout only."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "pages").glob("*.py"))
UI = sorted(file for folder in ("labs", "ui", "web") for file in (ROOT / "explorer" / folder).rglob("*.py"))


def is_lazy(package: str | None) -> bool:
    """Return whether a package imports its modules when they are first used; see `explorer.lazy_exports`."""
    return isinstance(getattr(sys.modules.get(package or ""), "__getattr__", None), partial)


def find_imports(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the modules that these statements import, without bodies of functions and TYPE_CHECKING blocks."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            names = () if is_lazy(node.module) else node.names
            found |= {f"{node.module}", *(f"{node.module}.{name.name}" for name in names)}
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            found |= find_imports(node.orelse)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            found |= find_imports(ast.iter_child_nodes(node))
    return found


def parse(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def test_no_module_of_the_first_page_imports_torch() -> None:
    imports = {file: find_imports(parse(file).body) for file in (ROOT / "explorer").rglob("*.py")}
    modules = {file: ".".join(file.relative_to(ROOT).with_suffix("").parts) for file in imports}
    needs_torch = {"torch", *(modules[file] for file, found in imports.items() if "torch" in found)}
    imports |= {file: find_imports(parse(file).body) for file in (*PAGES, ROOT / "app.py")}
    for file in (*PAGES, *UI, ROOT / "app.py", ROOT / "explorer" / "inspection" / "compare.py"):
        assert [name for name in imports[file] if name.startswith("torch.") or name in needs_torch] == [], file


def test_pages_import_neither_torch_nor_plotly_nor_models() -> None:
    for file in PAGES:
        nodes = (node for node in ast.walk(parse(file)) if isinstance(node, ast.Import | ast.ImportFrom))
        everything = find_imports(nodes)
        assert not re.search(r"^(torch|plotly|explorer\.models)\b", "\n".join(everything), re.MULTILINE), file
