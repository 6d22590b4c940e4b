"""Text is read and written as UTF-8. Without an encoding, Python takes that of the system: cp1252 on many Windows."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def calls_without_encoding(source: str) -> list[str]:
    """Return the calls that read or write text in the encoding of the system."""
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return [
        ast.unparse(call) for call in calls if _is_text(call) and not re.search("encoding=|'utf-8", ast.unparse(call))
    ]


def _is_text(call: ast.Call) -> bool:
    function, arguments = ast.unparse(call.func), ast.unparse(call)
    name = function.rpartition(".")[2]
    if name in ("read_text", "write_text"):
        return True
    if name in ("run", "Popen", "check_output"):
        return "text=True" in arguments
    modes = re.findall(r"""[(=, ]'([rwax+bt]+)'""", arguments)
    is_file = function in ("open", "io.open", "os.fdopen") or (name == "open" and bool(modes))
    return is_file and not any("b" in mode for mode in modes)


def test_text_files_and_processes_have_an_encoding() -> None:
    files = [
        ROOT / "app.py",
        *(file for place in ("explorer", "pages", "benchmarks") for file in ROOT.glob(f"{place}/**/*.py")),
    ]
    found = {file.relative_to(ROOT): calls_without_encoding(file.read_text("utf-8")) for file in files}
    assert {file: calls for file, calls in found.items() if calls} == {}
    right = (
        "path.read_text('utf-8'); path.open('rb'); os.open(folder, os.O_RDONLY); run(x, text=True, encoding='utf-8')"
    )
    assert calls_without_encoding(right) == []
    wrong = ["path.read_text()", "path.write_text(text)", "path.open('w')", "open(path)", "os.fdopen(number, 'w')"]
    wrong.append("subprocess.run(command, text=True)")
    assert calls_without_encoding("; ".join(wrong)) == wrong
