"""An exported run on a visitor's own pairs reads their file and trains to the same losses."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from explorer.export.python_file import as_python, required_libraries
from explorer.tasks.seq2seq.own_pairs import own_pairs_task
from explorer.tasks.text import corpora
from explorer.training.config import default_config, with_settings
from explorer.training.recorder import record_run

TABLE = "Target;Source\r\n" + "".join(f'"{"zebra"[i:]}, s";Zebra {"xyz"[i % 3]}{i}\r\n' for i in range(5)) * 2


@pytest.mark.slow
@pytest.mark.parametrize(("model", "replicas"), [("encoder_decoder", 1), ("transformer_encoder_decoder", 2)])
def test_the_file_reads_the_table_and_trains_to_exactly_the_same_losses(
    model: str, replicas: int, tmp_path: Path
) -> None:
    (tmp_path / "mine.csv").write_bytes(b"\xef\xbb\xbf" + TABLE.encode())
    sha = corpora.store_text(corpora.validated_text((tmp_path / "mine.csv").read_bytes()))
    sizes = {"replicas": replicas, "iterations": 3, "batch_size": 4, "width": 8, "hidden": 8}
    config = replace(with_settings(default_config("pairs", model), sizes), task=own_pairs_task(sha))
    assert required_libraries(config) == "torch and pandas"
    text = as_python(config)
    assert "zebra" not in text.lower()  # no pair stands in it
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


def test_a_run_on_the_example_needs_neither_pandas_nor_a_file() -> None:
    config = default_config("pairs", "encoder_decoder")
    text = as_python(config)
    assert required_libraries(config) == "torch only"
    for name in ("pandas", "read_file", "sys.argv", "parse_date", "read_pairs"):
        assert name not in text
