"""Rules for the source code that the usual tools do not check."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
RULES = tomllib.loads((ROOT / "tests" / "names.toml").read_text("utf-8"))


def read_files(*places: str) -> dict[str, str]:
    """Return the texts of the files that match patterns, by their paths; files of others are left out."""
    files = [file for place in places for file in ROOT.glob(place) if "vendor" not in file.parts and file.is_file()]
    return {file.relative_to(ROOT).as_posix(): file.read_text("utf-8") for file in files}


PROGRAM = read_files("app.py", "pages/*.py", "explorer/**/*.py")
BENCHMARKS = read_files("benchmarks/**/*.py")
SHOWN = read_files(
    "lessons/*.yaml", "benchmarks/*.yaml", *(f"explorer/**/*.{kind}" for kind in ("js", "css", "html", "svg"))
)


def find_in(files: dict[str, str], find: Callable[[str], list[str]]) -> dict[str, list[str]]:
    """Return what a function finds in each file in which it finds anything."""
    return {path: found for path, text in files.items() if (found := find(text))}


# A link, request, style sheet, image, import or Markdown link to a path that begins at the root of the host.
ROOTED = re.compile(
    r"""(?:fetch\(|import\(|EventSource\(|URL\(|url\(|href"?\s*[=:,]|src\s*=|\]\()\s*f?["'`]?/(?![/*]).*"""
)


def test_every_address_is_relative_so_that_the_site_can_stand_below_any_path() -> None:
    for rooted in ("fetch(`/class/${code}`)", '"href": f"/{page}"', "[Sign in](/operator)", 'new URL("/assets/x.js")'):
        assert ROOTED.search(rooted)
    assert find_in(PROGRAM | SHOWN, ROOTED.findall) == {}


# A private module or name that is imported, or an attribute of `st` or one of its modules that is private or replaced.
PRIVATE = re.compile(
    r"from streamlit\.(?!errors import)\S+|import streamlit\.(?!errors\b)\S+|from streamlit import .*\b_\w+"
    r"|import streamlit as (?!st\n).*"
    r"|\b(?:st|streamlit)\.(?!session_state)(?:\w+\.)*_\w+|^\s*(?:st|streamlit)\.(?!session_state)[\w.]+ = .*",
    re.MULTILINE,
)


def test_private_names_of_streamlit_are_not_used_so_that_every_allowed_version_works() -> None:
    for private in (
        "from streamlit.runtime.scriptrunner import ScriptRunner",
        "from streamlit import _main",
        "import streamlit as st\nst._config.get_option('x')",
        "import streamlit as st\nst.rerun = print",
        "import streamlit as s\n",
    ):
        assert PRIVATE.search(private)
    assert find_in(PROGRAM, PRIVATE.findall) == {}


FUNCTIONS = re.compile("open|fdopen|read_text|write_text|run|Popen|check_output")


def calls_without_encoding(source: str) -> list[str]:
    """Return the calls that read or write text in the encoding of the system, which is cp1252 on many Windows."""
    if not re.search(rf"\b({FUNCTIONS.pattern})\(", source):
        return []
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    named = ((call, getattr(call.func, "attr", getattr(call.func, "id", ""))) for call in calls)
    texts = [ast.unparse(call) for call, name in named if FUNCTIONS.fullmatch(name)]
    return [text for text in texts if _is_text(text) and not re.search("encoding=|'utf-8", text)]


def _is_text(call: str) -> bool:
    function, _, arguments = call.partition("(")
    if not function.endswith(("open", "fdopen")):
        return "text=True" in arguments or call.endswith("read_text()") or ".write_text(" in call
    modes = re.findall(r"""(?:^|[ =])'([rwax+bt]+)'""", arguments)
    return (function in ("open", "os.fdopen") or bool(modes)) and not any("b" in mode for mode in modes)


def test_text_files_and_processes_have_an_encoding() -> None:
    right = ["path.read_text('utf-8')", "path.open('rb')", "os.open(folder, os.O_RDONLY)", "run(x, encoding='utf-8')"]
    wrong = ["path.read_text()", "path.write_text(text)", "path.open('w')", "open(path)", "os.fdopen(number, 'w')"]
    wrong.append("subprocess.run(command, text=True)")
    assert calls_without_encoding("; ".join([*wrong, *right])) == wrong
    assert find_in(PROGRAM | BENCHMARKS, calls_without_encoding) == {}


def find_private_words(name: str) -> list[str]:
    """Return a sentence for every word of a name that the rules forbid."""
    bare = name.strip("_").lower()
    found = [f"{name}: a name needs a verb and its object, or a noun"] * (bare in RULES["alone"]["names"])
    words = [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]
    return found + [f"{name}: instead of “{w}” write {RULES['words'][w]}" for w in words if w in RULES["words"]]


def find_private_phrases(text: str) -> list[str]:
    """Return a sentence for every phrase of a text that the rules forbid."""
    words = " ".join(text.lower().split())  # a phrase may go over the end of a line
    return [
        f"instead of “{found.group()}” write: {plain}"
        for pattern, plain in RULES["phrases"].items()
        if re.search(pattern.replace(r"\b", ""), words)  # much quicker where the phrase is not there
        for found in re.finditer(pattern, words)
    ]


def test_names_are_standard_terms() -> None:
    assert all(map(find_private_words, ("_told", "lanes", "HeadWorth", "_touched_heads")))
    assert not any(map(find_private_words, ("draw_chart", "RunView", "storage", "__init__", "interlaced")))
    found = {
        f"{path}:{name}": objections
        for path, text in (PROGRAM | BENCHMARKS).items()
        for name in (Path(path).stem, *re.findall(r"^ *(?:async )?(?:def|class) (\w+)", text, re.MULTILINE))
        if (objections := find_private_words(name))
    }
    assert {place: found[place] for place in found.keys() - set(RULES["exceptions"])} == {}
    assert set(RULES["exceptions"]) - found.keys() == set(), "these exceptions are not needed any more"


def test_texts_are_in_plain_words() -> None:
    assert all(map(find_private_phrases, ("Who races", "Rows ask,\n   columns answer.", "0.9 in an even look")))
    texts = PROGRAM | BENCHMARKS | SHOWN | read_files("README.md", "CONTRIBUTING.md")
    assert find_in(texts, find_private_phrases) == {}
