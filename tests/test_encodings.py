"""Text is read and written as UTF-8. Without an encoding, Python takes that of the system: cp1252 on many Windows."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = [
    ROOT / "app.py",
    *(file for place in ("explorer", "pages", "benchmarks") for file in ROOT.glob(f"{place}/**/*.py")),
]
# Position of `encoding` among the arguments, and that of `mode` where there is one.
POSITIONS: dict[str, tuple[int, int | None]] = {
    "Path.read_text": (0, None),
    "Path.write_text": (1, None),
    "Path.open": (2, 0),
    "open": (3, 1),
    "fdopen": (3, 1),
}


def calls_without_encoding(source: str) -> list[str]:
    """Return the calls that read or write text in the encoding of the system."""
    return [
        ast.unparse(node)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and _is_text(node) and not _names_encoding(node)
    ]


def _name(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        is_module = isinstance(call.func.value, ast.Name) and call.func.value.id in ("io", "os")
        return call.func.attr if is_module else f"Path.{call.func.attr}"
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _is_text(call: ast.Call) -> bool:
    keywords = {word.arg: word.value for word in call.keywords}
    if any(isinstance(value, ast.Constant) and value.value is True for value in (keywords.get("text"),)):
        return _name(call) in ("Path.run", "Path.Popen", "Path.check_output")
    if _name(call) not in POSITIONS:
        return False
    place = POSITIONS[_name(call)][1]
    if place is None:
        return True
    mode = keywords.get("mode", call.args[place] if len(call.args) > place else None)
    if mode is None:
        return _name(call) != "Path.open"  # `open` of something that is no path
    return isinstance(mode, ast.Constant) and isinstance(mode.value, str) and "b" not in mode.value


def _names_encoding(call: ast.Call) -> bool:
    place = POSITIONS.get(_name(call), (99, None))[0]
    return len(call.args) > place or "encoding" in {word.arg for word in call.keywords}


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_text_files_and_processes_have_an_encoding(file: Path) -> None:
    assert calls_without_encoding(file.read_text("utf-8")) == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("path.read_text()", True),
        ("path.read_text('utf-8')", False),
        ("path.write_text(text)", True),
        ("path.write_text(text, encoding='utf-8')", False),
        ("path.open('w')", True),
        ("path.open('rb')", False),
        ("open(path)", True),
        ("os.open(folder, os.O_RDONLY)", False),
        ("os.fdopen(number, 'w')", True),
        ("subprocess.run(command, text=True)", True),
        ("subprocess.run(command, text=True, encoding='utf-8')", False),
    ],
)
def test_calls_without_an_encoding_are_found(source: str, found: bool) -> None:
    assert bool(calls_without_encoding(source)) is found
