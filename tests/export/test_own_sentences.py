"""An exported run on a visitor's own sentences reads their file and trains to the same losses."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from explorer.export.python_file import as_python, required_libraries
from explorer.tasks.own_sentences import own_task
from explorer.tasks.text import corpora
from explorer.training.config import default_config, with_settings
from explorer.training.recorder import record_run

TABLE = "label;text\r\n" + "".join(
    f'{"good" if adjective == "fine" else "bad"};"The {noun}, zebra{i}, is {adjective}."\r\n'
    for i, noun in enumerate(("plot", "cast", "film", "end") * 5)
    for adjective in ("fine", "dull")
)


@pytest.mark.slow
@pytest.mark.parametrize(("model", "replicas"), [("bag_of_bigrams", 1), ("transformer", 2)])
def test_the_file_reads_the_table_and_trains_to_exactly_the_same_losses(
    model: str, replicas: int, tmp_path: Path
) -> None:
    (tmp_path / "mine.csv").write_bytes(b"\xef\xbb\xbf" + TABLE.encode())
    sha = corpora.store_text(corpora.validated_text((tmp_path / "mine.csv").read_bytes()))
    config = with_settings(default_config("negation", model), {"replicas": replicas, "epochs": 2, "batch_size": 9})
    config = replace(config, task=own_task(sha))
    assert required_libraries(config) == "torch and pandas"
    text = as_python(config)
    assert "zebra" not in text  # nothing of the file stands in it
    (tmp_path / "run.py").write_text(text, "utf-8")
    code = "import sys, json, run; print(json.dumps(run.main()))"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.argv = ['run.py', 'mine.csv']; {code}"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == record_run(config).curves.losses.tolist()


def test_a_run_on_the_grammar_needs_neither_pandas_nor_a_file() -> None:
    text = as_python(default_config("negation", "rnn"))
    assert required_libraries(default_config("negation", "rnn")) == "torch only"
    for name in ("pandas", "OwnSentences", "read_file", "sys.argv"):
        assert name not in text
