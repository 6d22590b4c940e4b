"""Names are standard terms: words of a private vocabulary stand in no name of a function, class or module."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
RULES = tomllib.loads((ROOT / "tests" / "names.toml").read_text())
SOURCES = [*(ROOT / "explorer").rglob("*.py"), *(ROOT / "pages").glob("*.py"), *(ROOT / "benchmarks").rglob("*.py")]
TEXTS = [
    *SOURCES,
    *(ROOT / "lessons").glob("*.yaml"),
    *(file for file in (ROOT / "explorer" / "static").rglob("*.js") if "vendor" not in file.parts),
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
]


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
    words = [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]
    return found + [f"{name}: instead of “{w}” write {RULES['words'][w]}" for w in words if w in RULES["words"]]


def find_private_phrases(text: str) -> list[str]:
    """Return a sentence for every phrase of a text that the rules forbid."""
    words = " ".join(text.split())  # a phrase may go over the end of a line
    return [
        f"instead of “{found.group()}” write: {plain}"
        for pattern, plain in RULES["phrases"].items()
        for found in re.finditer(pattern, words, re.IGNORECASE)
    ]


def test_names_are_standard_terms() -> None:
    assert all(map(find_private_words, ("_told", "lanes", "HeadWorth", "_touched_heads")))
    assert not any(map(find_private_words, ("draw_chart", "RunView", "storage", "__init__", "interlaced")))
    found = {
        f"{file.relative_to(ROOT).as_posix()}:{name}": objections
        for file in SOURCES
        for name in names_in(file.read_text(), file.stem)
        if (objections := find_private_words(name))
    }
    assert {place: found[place] for place in found.keys() - set(RULES["exceptions"])} == {}
    assert set(RULES["exceptions"]) - found.keys() == set(), "these exceptions are not needed any more"


def test_texts_are_in_plain_words() -> None:
    assert all(map(find_private_phrases, ("Who races", "Rows ask,\n   columns answer.", "0.9 in an even look")))
    found = {file.relative_to(ROOT).as_posix(): find_private_phrases(file.read_text()) for file in TEXTS}
    assert {path: objections for path, objections in found.items() if objections} == {}
