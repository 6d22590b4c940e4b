"""The cost that is computed from a configuration, compared with models that are built and trainings that run."""

from __future__ import annotations

import contextlib
import dataclasses
import subprocess
import sys

import pytest

from explorer.catalogue import MODELS
from explorer.errors import InvalidSetting
from explorer.jobs.cost import estimate_cost
from explorer.run_store import store
from explorer.training.config import RunConfig, default_config, with_settings
from explorer.training.model_factory import build_model, count_parameters

PAIRS = [(task, model) for model, row in MODELS.items() for task in row.by_task if model != "ngram"]
SMALLER_TEXT = {"corpus": "repeats", "size": 5_000}


def variations(task: str, model: str) -> list[RunConfig]:
    """The default configuration, and others in which every size differs."""
    config = with_settings(default_config(task, model), SMALLER_TEXT if task == "text" else {})
    changes: list[dict[str, object]] = [{}]
    if hasattr(config.model, "width"):
        changes.append({"width": 24})
    if hasattr(config.model, "hidden"):
        changes.append({"hidden": 40, **({"layers": 3} if hasattr(config.model, "layers") else {})})
    others = [f.name for f in dataclasses.fields(config.model) if f.name not in ("width", "hidden", "layers")]
    changes += [{f"model.{name}": 2 * size} for name in others if type(size := getattr(config.model, name)) is int]
    found = []
    for each in changes:
        with contextlib.suppress(InvalidSetting):  # a size that is impossible alone
            found.append(with_settings(config, each))
    return found


@pytest.mark.parametrize("task", sorted({task for task, _ in PAIRS}))
def test_parameters_are_counted_exactly_without_building_the_model(task: str) -> None:
    for config in [config for name, model in PAIRS if name == task for config in variations(task, model)]:
        built = sum(p.numel() for p in build_model(config).parameters())
        assert estimate_cost(config).parameters == count_parameters(config) == built


def test_the_parameters_of_included_runs_are_those_on_their_cards() -> None:
    for file in store.PRETRAINED.glob("*/config.json"):
        config, card = store.read_config_and_card(file.parent)
        if config.model_name != "ngram":
            assert estimate_cost(config).parameters == card.parameters, file.parent.name


def test_a_model_that_no_machine_could_build_has_a_cost() -> None:
    huge = with_settings(
        default_config("text", "lstm"),
        {"width": 512, "hidden": 1_024, "layers": 8, "replicas": 32, "context": 1_024, "corpus": "repeats"},
    )
    cost = estimate_cost(huge)
    assert cost.peak_bytes > 100e9 and cost.step_seconds > 60


def test_memory_is_near_to_what_is_measured() -> None:
    """A short form of `benchmarks.cost`, in a process of its own."""
    program = """
import benchmarks.cost as b
b.worker_training.import_everything()
for name, config in b.cases():
    if name in ("text lstm default", "negation transformer width=128 hidden=512 layers=4 replicas=8"):
        print(b.estimate_cost(config).peak_bytes / b.measure(config)[0])
"""
    lines = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert len(lines) == 2 and all(1 / 1.5 < float(line) < 1.5 for line in lines)


def test_a_model_that_counts_has_no_parameters() -> None:
    assert count_parameters(with_settings(default_config("text", "ngram"), {"corpus": "repeats"})) == 0
