"""The program uses public names of Streamlit only, so that it runs with every version that the requirement allows."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILES = [ROOT / "app.py", *sorted(ROOT.glob("explorer/**/*.py")), *sorted(ROOT.glob("pages/*.py"))]
# A private module or name that is imported, or an attribute of `st` or one of its modules that is private or replaced.
PRIVATE = re.compile(
    r"from streamlit\.(?!errors import)\S+|import streamlit\.(?!errors\b)\S+|from streamlit import .*\b_\w+"
    r"|\b(?:st|streamlit)\.(?!session_state)(?:\w+\.)*_\w+|^\s*(?:st|streamlit)\.(?!session_state)[\w.]+ = .*",
    re.MULTILINE,
)


def private_names(source: str) -> list[str]:
    """Return what a module imports from Streamlit's inside, and what of Streamlit it reads or replaces there."""
    assert "streamlit as" not in source.replace("import streamlit as st\n", ""), "always as st"
    return PRIVATE.findall(source)


def test_no_private_name_of_streamlit_is_imported_or_replaced() -> None:
    found = {file.relative_to(ROOT): private_names(file.read_text("utf-8")) for file in FILES}
    assert {file: names for file, names in found.items() if names} == {}
    for wrong in (
        "from streamlit.runtime.scriptrunner import ScriptRunner",
        "from streamlit import _main",
        "import streamlit as st\nst._config.get_option('x')",
        "import streamlit as st\nst.rerun = print",
    ):
        assert private_names(wrong)
