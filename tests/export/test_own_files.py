"""An exported run on what a visitor gave, a table or a string, trains to the same losses."""

from __future__ import annotations

import ast
import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from explorer.catalogue import models_of
from explorer.export.notebook import as_notebook
from explorer.export.python_file import as_python, required_libraries
from explorer.tasks.own_sentences import own_task
from explorer.tasks.seq2seq.own_pairs import own_pairs_task
from explorer.tasks.text import corpora
from explorer.training.config import default_config, with_settings
from explorer.training.recorder import record_run

SENTENCES = "label;text\r\n" + "".join(
    f'{"good" if adjective == "fine" else "bad"};"The {noun}, zebra{i}, is {adjective}."\r\n'
    for i, noun in enumerate(("plot", "cast", "film", "end") * 5)
    for adjective in ("fine", "dull")
)
PAIRS = "Target;Source\r\n" + "".join(f'"{"zebra"[i:]}, s";Zebra {"xyz"[i % 3]}{i}\r\n' for i in range(5)) * 2


@pytest.mark.parametrize(
    ("task", "model", "settings"),
    [
        ("negation", "bag_of_bigrams", {"epochs": 2, "batch_size": 9}),
        ("negation", "transformer", {"replicas": 2, "epochs": 2, "batch_size": 9}),
        ("pairs", "encoder_decoder", {"iterations": 3, "batch_size": 4, "width": 8, "hidden": 8}),
        (
            "pairs",
            "transformer_encoder_decoder",
            {"replicas": 2, "iterations": 3, "batch_size": 4, "width": 8, "hidden": 8},
        ),
    ],
)
def test_the_file_reads_the_table_and_trains_to_exactly_the_same_losses(
    task: str, model: str, settings: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, make_task = {"negation": (SENTENCES, own_task), "pairs": (PAIRS, own_pairs_task)}[task]
    (tmp_path / "mine.csv").write_bytes(b"\xef\xbb\xbf" + table.encode())
    sha = corpora.store_text(corpora.validated_text((tmp_path / "mine.csv").read_bytes()))
    config = replace(with_settings(default_config(task, model), settings), task=make_task(sha))  # type: ignore[operator]
    assert required_libraries(config) == "torch and pandas"
    text = as_python(config)
    assert "zebra" not in text.lower()  # nothing of the file stands in it
    (tmp_path / "run.py").write_text(text, "utf-8")
    monkeypatch.setattr("sys.argv", ["run.py", str(tmp_path / "mine.csv")])
    assert runpy.run_path(str(tmp_path / "run.py"))["main"]() == record_run(config).curves.losses.tolist()


@pytest.mark.parametrize(("task", "model"), [("negation", "rnn"), ("pairs", "encoder_decoder")])
def test_a_run_on_other_data_needs_neither_pandas_nor_a_file(task: str, model: str) -> None:
    text = as_python(default_config(task, model))
    assert required_libraries(default_config(task, model)) == "torch only"
    for name in ("pandas", "OwnSentences", "read_file", "sys.argv", "parse_date", "read_pairs"):
        assert name not in text


# A string

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
