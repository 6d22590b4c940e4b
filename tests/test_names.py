"""Names are standard terms: words of a private vocabulary stand in no name of a function, class or module."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RULES = tomllib.loads((ROOT / "tests" / "names.toml").read_text())
SOURCES = sorted(
    [*(ROOT / "explorer").rglob("*.py"), *(ROOT / "pages").glob("*.py"), *(ROOT / "benchmarks").rglob("*.py")]
)


def names_in(source: str, module: str) -> Iterator[str]:
    """Yield the module's own name and the name of every function and class in it."""
    yield module
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name


def find_private_words(name: str) -> list[str]:
    """Return a sentence for every word of a name that the rules forbid."""
    bare = name.strip("_").lower()
    found = [f"{name}: a name needs a verb and its object, or a noun"] * (bare in RULES["alone"]["names"])
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)
    return found + [
        f"{name}: instead of “{word.lower()}” write {RULES['words'][word.lower()]}"
        for word in words
        if word.lower() in RULES["words"]
    ]


def test_names_are_standard_terms() -> None:
    found = []
    for file in SOURCES:
        path = file.relative_to(ROOT).as_posix()
        for name in names_in(file.read_text(), file.stem):
            if f"{path}:{name}" not in RULES["exceptions"]:
                found += [f"{path}: {objection}" for objection in find_private_words(name)]
    assert found == []


def test_every_exception_is_still_needed() -> None:
    for path in RULES["exceptions"]:
        file, name = path.split(":")
        assert name in names_in((ROOT / file).read_text(), Path(file).stem), f"{path} is not there any more"
        assert find_private_words(name), f"{path} breaks no rule"


@pytest.mark.parametrize("name", ["told", "_told", "lanes", "HeadWorth", "draw_insides", "_touched_heads"])
def test_private_words_are_found(name: str) -> None:
    assert find_private_words(name)


@pytest.mark.parametrize("name", ["draw_chart", "RunView", "words_drawn", "storage", "__init__", "interlaced"])
def test_standard_terms_pass(name: str) -> None:
    assert find_private_words(name) == []
