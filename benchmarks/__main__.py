"""Lists the benchmarks: the name of each script and the first line of its docstring.

python -m benchmarks
"""

from __future__ import annotations

import ast
from pathlib import Path

FOLDER = Path(__file__).parent


def list_benchmarks() -> dict[str, str]:
    """Return the first line of every script's docstring by its module name. Nothing is imported."""
    files = sorted(FOLDER.glob("*.py")) + sorted(FOLDER.glob("*/*.py"))
    lines = {}
    for file in files:
        source = file.read_text("utf-8")
        if '\nif __name__ == "__main__":' in source and file != Path(__file__):
            module = ".".join(file.relative_to(FOLDER.parent).with_suffix("").parts)
            lines[module] = (ast.get_docstring(ast.parse(source)) or "").split("\n", 1)[0]
    return lines


if __name__ == "__main__":
    for module, line in list_benchmarks().items():
        print(f"python -m {module:32} {line}")
