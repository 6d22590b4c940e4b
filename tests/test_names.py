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


TEXTS = sorted(
    [
        *SOURCES,
        *(ROOT / "lessons").glob("*.yaml"),
        *(ROOT / "explorer" / "static").rglob("*.js"),
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
    ]
)


def find_private_phrases(text: str) -> list[str]:
    """Return a sentence for every phrase of a text that the rules forbid."""
    words = " ".join(text.split())  # a phrase may go over the end of a line
    return [
        f"instead of “{found.group()}” write: {plain}"
        for pattern, plain in RULES["phrases"].items()
        for found in re.finditer(pattern, words, re.IGNORECASE)
    ]


def test_texts_are_in_plain_words() -> None:
    texts = {file.relative_to(ROOT).as_posix(): file.read_text() for file in TEXTS if "vendor" not in file.parts}
    assert [f"{path}: {objection}" for path, text in texts.items() for objection in find_private_phrases(text)] == []


@pytest.mark.parametrize("text", ["Who races", "Rows ask,\n   columns answer.", "0.9 in an even look"])
def test_private_phrases_are_found(text: str) -> None:
    assert find_private_phrases(text)
