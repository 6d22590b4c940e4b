"""The shipped runs stay what they are: every key is that of its configuration, and training gives the same curves."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from explorer.run_store import store
from explorer.training.config import key, parse_config, to_json
from tests import needs

ROOT = Path(__file__).parents[2]
FOLDERS = sorted(file.parent for file in store.PRETRAINED.glob("*/card.json"))
SHORT = 10.0  # seconds of training on the card
QUICK = 2.0  # seconds of training on the card; longer ones are left to `pytest --all`


def read(folder: Path, file: str) -> dict[str, Any]:
    return dict(json.loads((folder / file).read_text()))


def representatives() -> dict[tuple[str, str], Path]:
    """Return for each task and model the shipped run with the shortest training, if that is under ten seconds."""
    chosen: dict[tuple[str, str], Path] = {}
    for folder in sorted(FOLDERS, key=lambda folder: float(read(folder, "card.json")["seconds"])):
        config = read(folder, "config.json")
        if read(folder, "card.json")["seconds"] < SHORT:
            chosen.setdefault((config["task"]["name"], config["model"]["name"]), folder)
    return chosen


def test_all_shipped_runs_load_with_the_key_of_their_configuration() -> None:
    assert len(FOLDERS) == 234
    for folder in FOLDERS:
        stored = read(folder, "config.json")
        config = parse_config(stored)
        assert read(folder, "card.json")["key"] == key(config), folder.name
        assert parse_config(json.loads(json.dumps(to_json(config)))) == config, folder.name
        run = store.load(folder)
        assert (run.key, run.config, run.curves.step) == (key(config), config, run.card.step)
        assert run.weights()


def test_there_is_a_representative_of_every_kind_of_short_run() -> None:
    assert len(representatives()) == 22


@pytest.mark.skipif(platform.machine() != "x86_64", reason="The shipped runs were trained with AVX2 or AVX-512.")
@pytest.mark.parametrize(
    "folder",
    [
        pytest.param(folder, marks=[pytest.mark.slow] if read(folder, "card.json")["seconds"] > QUICK else [])
        for folder in representatives().values()
    ],
    ids=lambda folder: folder.name,
)
def test_a_shipped_run_trained_again_has_the_same_curves_bit_for_bit(folder: Path, tmp_path: Path) -> None:
    if folder.name.startswith("text-") and not needs.has_tiny_shakespeare():
        pytest.skip(needs.NO_TEXT)
    command = [sys.executable, "-m", "benchmarks.retrain_shipped", folder.name, "--json", str(tmp_path / "result.json")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert (tmp_path / "result.json").is_file(), done.stderr
    result = read(tmp_path, "result.json")
    assert result["same_key"] == {folder.name: True}
    assert result["retrained"][folder.name]["different"] == []
    assert done.returncode == 0
