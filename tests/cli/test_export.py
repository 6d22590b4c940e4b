"""The command `export` for Python files and notebooks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from explorer.export.python_file import as_python
from explorer.run_store import store
from tests.terminal import RunCommand

RUN = "negation-single-rnn"


@pytest.mark.parametrize("name", ["run.py", "run.ipynb", "RUN.IPYNB"])
def test_the_file_extension_selects_the_format(name: str, tmp_path: Path, ask: RunCommand) -> None:
    file, stored = tmp_path / name, store.find(RUN)
    code, out, err = ask("export", RUN, str(file))
    assert (code, err) == (0, "") and f"{file.stat().st_size:,} bytes" in out
    if name == "run.py":
        assert file.read_text() == as_python(stored.config)
    else:
        first = json.loads(file.read_text())["cells"][0]["source"]
        assert stored.key in first and f"{stored.curves.losses[-1][0]:.6g} (seed 0)" in first
