"""The program uses public names of Streamlit only, so that it runs with every version that the requirement allows."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = [ROOT / "app.py", *sorted(ROOT.glob("explorer/**/*.py")), *sorted(ROOT.glob("pages/*.py"))]
PUBLIC_MODULES = {"streamlit", "streamlit.errors"}


def private_names(source: str) -> list[str]:
    """Return what a module imports from Streamlit's inside, and what of Streamlit it reads or replaces there."""
    found, tree = [], ast.parse(source)
    aliases = {"streamlit"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                if name.name.split(".")[0] == "streamlit":
                    aliases.add(name.asname or "streamlit")
                    found += [name.name] * (name.name not in PUBLIC_MODULES)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "streamlit":
            names = [name.name for name in node.names]
            found += [str(node.module)] * (node.module not in PUBLIC_MODULES)
            found += [name for name in names if name.startswith("_")]
            aliases |= {name.asname or name.name for name in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            chain = ast.unparse(node).split(".")
            if chain[0] in aliases and "session_state" not in chain:
                found += [ast.unparse(node)] * any(part.startswith("_") for part in chain[1:])
                found += [f"{ast.unparse(node)} ="] * isinstance(node.ctx, ast.Store)
    return found


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_no_private_name_of_streamlit_is_imported_or_replaced(file: Path) -> None:
    assert private_names(file.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "source",
    [
        "from streamlit.runtime.scriptrunner import ScriptRunner",
        "import streamlit.runtime.state",
        "from streamlit import _main",
        "import streamlit as st\nst._config.get_option('x')",
        "import streamlit as st\nst.rerun = print",
    ],
)
def test_a_private_name_is_found(source: str) -> None:
    assert private_names(source)
