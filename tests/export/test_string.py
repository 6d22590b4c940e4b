"""A string's run as one file trains to the same losses."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

import numpy as np
import pytest

from explorer.catalogue import models_of
from explorer.export.notebook import as_notebook
from explorer.export.python_file import as_python
from explorer.training.config import default_config, with_settings
from explorer.training.recorder import record_run

HIDDEN = "a\u202eb\u2066c\u200bd\u061c\U000e0001"  # bidirectional controls, a zero-width space, a tag character


def test_the_source_shows_characters_that_reorder_or_hide_text() -> None:
    config = with_settings(default_config("string", "rnn"), {"text": HIDDEN})
    for exported in (as_python(config), as_notebook(config)):
        assert not set(HIDDEN) - set("abcd") & set(exported) and "\\u202e" in exported
    assert HIDDEN in [node.value for node in ast.walk(ast.parse(as_python(config))) if isinstance(node, ast.Constant)]


@pytest.mark.parametrize("model", models_of("string"))
@pytest.mark.parametrize("changes", [{}, {"replicas": 2, "recurrent": False, "text": '<b>"ü\\🙂'}], ids=["one", "cut"])
def test_the_file_trains_to_the_same_losses(tmp_path: Path, model: str, changes: dict[str, object]) -> None:
    config = with_settings(default_config("string", model), {"iterations": 6, **changes})
    file = tmp_path / "run.py"
    file.write_text(as_python(config), encoding="utf-8")
    losses = list(runpy.run_path(str(file))["train"]())
    np.testing.assert_array_equal(np.array(losses, np.float32), record_run(config).curves.losses)
