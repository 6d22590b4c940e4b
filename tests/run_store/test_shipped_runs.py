"""The shipped runs stay what they are: every key is that of its configuration, and training gives the same curves."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from explorer.catalogue import task_row
from explorer.experiments.pretraining import shipped_configs
from explorer.run_store import store
from explorer.training.config import key, parse_config, to_json
from tests import needs

ROOT = Path(__file__).parents[2]
FOLDERS = sorted(file.parent for file in store.PRETRAINED.glob("*/card.json"))
SHORT = 10.0  # seconds of training on the card
QUICK = 0.5  # seconds of training on the card; longer ones are left to `pytest --all`


def read_json(folder: Path, file: str) -> dict[str, Any]:
    return dict(json.loads((folder / file).read_text()))


def representatives() -> dict[tuple[str, str], Path]:
    """Return for each task and model the shipped run with the shortest training, if that is under ten seconds."""
    chosen: dict[tuple[str, str], Path] = {}
    for folder in sorted(FOLDERS, key=lambda folder: float(read_json(folder, "card.json")["seconds"])):
        config = read_json(folder, "config.json")
        if read_json(folder, "card.json")["seconds"] < SHORT:
            chosen.setdefault((config["task"]["name"], config["model"]["name"]), folder)
    return chosen


def test_all_shipped_runs_load_with_the_key_of_their_configuration() -> None:
    included, stored_names = set(shipped_configs()), {folder.name for folder in FOLDERS}
    missing, unknown = sorted(included - stored_names), sorted(stored_names - included)
    assert not missing, f"Train them: python -m explorer pretrain {' '.join(missing)}"
    assert not unknown, f"Remove these folders from pretrained/, or add their runs to experiments/: {unknown}"
    for folder in FOLDERS:
        stored = read_json(folder, "config.json")
        config = parse_config(stored)
        assert read_json(folder, "card.json")["key"] == key(config), folder.name
        assert parse_config(json.loads(json.dumps(to_json(config)))) == config, folder.name
        run = store.load(folder)
        assert (run.key, run.config, run.curves.step) == (key(config), config, run.card.step)
        assert run.weights()


def test_there_is_a_representative_of_every_kind_of_short_run() -> None:
    kinds = {(task_row(config.task).name, config.model_name) for config in shipped_configs().values()}
    long = {task for task, _ in kinds - representatives().keys()}
    assert long <= {"text", "copy", "reverse", "dates", "word_vectors", "tale", "induction", "gloss"}
    assert len(representatives()) >= 24


def retrain(folder: Path, *options: str) -> dict[str, Any]:
    """Run the benchmark in a process without the slow checks of array shapes; return its result."""
    command = [sys.executable, "-m", "benchmarks.retrain_shipped", *options, "--json", str(folder / "result.json")]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert process.returncode == 0, process.stdout + process.stderr
    return read_json(folder, "result.json")


@pytest.mark.slow
@needs.tiny_shakespeare
def test_the_first_steps_of_every_short_run_are_the_same_when_it_is_trained_again(tmp_path: Path) -> None:
    result = retrain(tmp_path, "--first-steps", "--seconds", str(SHORT))
    assert result["same_key"] == {folder.name: True for folder in FOLDERS}
    assert result["retrained"].keys() == {
        folder.name for folder in FOLDERS if read_json(folder, "card.json")["seconds"] < SHORT
    }


@pytest.mark.parametrize("slow", [False, pytest.param(True, marks=[pytest.mark.slow, needs.tiny_shakespeare])])
def test_a_run_of_every_kind_trained_again_has_the_same_curve(slow: bool, tmp_path: Path) -> None:
    """Bit for bit on the processor that trained it. Elsewhere rounding grows until the curves part, and they end
    with the same metrics."""
    names = [
        folder.name
        for folder in representatives().values()
        if (read_json(folder, "card.json")["seconds"] > QUICK) == slow
        and (needs.has_tiny_shakespeare() or not folder.name.startswith("text-"))
    ]
    for name, run in retrain(tmp_path, *names)["retrained"].items():
        assert run["equal_steps"] >= min(20, run["steps"]), name
        assert run["metrics"] < 0.01, name
