"""An exported run on what a visitor gave, a table or a string."""

from __future__ import annotations

import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from explorer.catalogue import models_of
from explorer.export.notebook import as_notebook
from explorer.export.python_file import as_python
from explorer.tasks.own_sentences import own_task
from explorer.tasks.seq2seq.pairs import own_pairs_task
from explorer.tasks.text import corpora
from explorer.training.config import RunConfig, default_config, with_settings
from explorer.training.recorder import record_run

SENTENCES = "label;text\r\n" + "".join(
    f'{"good" if adjective == "fine" else "bad"};"The {noun}, zebra{i}, is {adjective}."\r\n'
    for i, noun in enumerate(("plot", "cast", "film", "end") * 5)
    for adjective in ("fine", "dull")
)
PAIRS = "Target;Source\r\n" + "".join(f'"{"zebra"[i:]}, s";Zebra {"xyz"[i % 3]}{i}\r\n' for i in range(5)) * 2
TEXT = "the zebra sees another zebra in the grass.\n" * 40


def own_config(task: str) -> RunConfig:
    settings = {"negation": {"epochs": 2, "batch_size": 9}}.get(task, {"iterations": 3, "batch_size": 4})
    config = with_settings(default_config(task, models_of(task)[-1]), {**settings, "replicas": 2})
    if task in ("text", "word_vectors"):
        return with_settings(config, {"corpus": "own", "text": corpora.store_text(TEXT)})
    table, make_task = {"negation": (SENTENCES, own_task), "pairs": (PAIRS, own_pairs_task)}[task]
    return replace(config, task=make_task(corpora.store_text(corpora.validated_text(table.encode()))))  # type: ignore[operator]


@pytest.mark.parametrize("task", ["negation", "pairs", "text", "word_vectors"])
def test_its_examples_are_beside_it_for_whoever_may_read_the_text_only(task: str, tmp_path: Path) -> None:
    config = own_config(task)
    record = record_run(config)
    made = as_python(config, record)
    for path, content in made.by_path(tmp_path / "run.py").items():
        path.write_bytes(content)
    assert "zebra" not in made.program.lower()
    names = runpy.run_path(str(tmp_path / "run.py"))
    losses = names["train"](config.seed, tmp_path / "trained.safetensors")
    np.testing.assert_allclose(losses, record.curves.losses[:, 0], rtol=2e-4)
    with corpora.read_as("somebody else"):
        hidden = as_python(config, record)
    (tmp_path / "run.safetensors").write_bytes(hidden.tensors)
    assert hidden.program == made.program
    names = runpy.run_path(str(tmp_path / "run.py"))
    assert not any(name.startswith("data.") for name in names["stored"]()[0])
    with pytest.raises(SystemExit, match="was not on the machine"):
        names["train"](config.seed, tmp_path / "trained.safetensors")


HIDDEN = "a\u202eb\u2066c\u200bd\u061c\U000e0001"  # bidirectional controls, a zero-width space, a tag character


def test_the_source_has_no_characters_that_reorder_or_hide_text() -> None:
    config = with_settings(default_config("string", "rnn"), {"text": HIDDEN})
    assert not set(HIDDEN) - set("abcd") & set(as_python(config).program)
    assert not set(HIDDEN) - set("abcd") & set(as_notebook(config).program)
