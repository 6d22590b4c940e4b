"""The cost that is computed from a configuration, compared with models that are built and trainings that run."""

from __future__ import annotations

import contextlib
import dataclasses

import pytest
from syrupy.assertion import SnapshotAssertion

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


def test_costs(snapshot: SnapshotAssertion) -> None:
    """Parameters, peak bytes and three times; `python -m benchmarks.cost` compares them with what it measures."""
    huge = {"width": 512, "hidden": 1_024, "layers": 8, "replicas": 32, "context": 1_024, "corpus": "repeats"}
    configs = {f"{task} {model}": variations(task, model)[0] for task, model in PAIRS}
    configs |= {f"{name}, 3 seeds": with_settings(config, {"replicas": 3}) for name, config in configs.items()}
    configs["huge"] = with_settings(default_config("text", "lstm"), huge)  # no machine could build it
    costs = {name: dataclasses.astuple(estimate_cost(config)) for name, config in configs.items()}
    assert {name: " ".join(f"{value:.3g}" for value in cost) for name, cost in costs.items()} == snapshot


def test_a_model_that_counts_has_no_parameters() -> None:
    assert count_parameters(with_settings(default_config("text", "ngram"), {"corpus": "repeats"})) == 0
