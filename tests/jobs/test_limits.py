"""Limits of the server, each with the variable that changes it, and the cost that is computed from a configuration."""

from __future__ import annotations

import contextlib
import dataclasses
import sys

import pytest
from syrupy.assertion import SnapshotAssertion

from explorer.catalogue import MODELS
from explorer.errors import InvalidSetting
from explorer.experiments.presets import PRESETS, preset
from explorer.jobs import limits, machine_speed
from explorer.jobs.cost import estimate_cost
from explorer.run_store import store
from explorer.training.config import RunConfig, default_config, with_settings
from explorer.training.model_factory import build_model, count_parameters

SMALL: dict[str, object] = {"epochs": 2, "train_size": 100, "batch_size": 50}


def test_what_exceeds_a_limit_is_rejected_with_the_limit(
    monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    messages = []
    cases: list[tuple[str, str, dict[str, object], str, int]] = [
        ("negation", "rnn", {"epochs": 3}, "MOST_STEPS", 5),
        ("negation", "rnn", {"train_size": 101, "batch_size": 101}, "MOST_DRAWS", 201),
        ("negation", "rnn", {"hidden": 9, "width": 3}, "MOST_WIDTH", 8),
        ("negation", "rnn", {"hidden": 3, "width": 9}, "MOST_WIDTH", 8),
        ("negation", "transformer", {"layers": 3}, "MOST_LAYERS", 2),
        ("negation", "bag_of_words", {"batch_size": 51}, "MOST_BATCH", 50),
        ("negation", "gru", {"replicas": 4}, "MOST_REPLICAS", 3),
        ("text", "gru", {"context": 9, "batch_size": 3, "corpus": "repeats"}, "MOST_TOKENS", 26),
        ("recall", "gru", {"length": 9}, "MOST_LENGTH", 8),
    ]
    for task, model, changes, variable, count in cases:
        config = with_settings(default_config(task, model), (SMALL if task == "negation" else {}) | changes)
        assert limits.check(config) is config  # with the default limits
        with monkeypatch.context() as patched:
            patched.setenv(f"LINEAGE_{variable}", str(count + 1))
            assert limits.check(config) is config
            patched.setenv(f"LINEAGE_{variable}", str(count))
            with pytest.raises(InvalidSetting) as raised:
                limits.check(config)
        messages.append(str(raised.value))
    huge = {"epochs": 2_000, "train_size": 20_000}
    for changes in ({"epochs": 2_000, "batch_size": 1}, {**huge, "batch_size": 2_048}):
        with pytest.raises(InvalidSetting) as raised:
            limits.check(with_settings(default_config("negation", "rnn"), changes))
        messages.append(str(raised.value))
    assert messages == snapshot


def test_a_step_that_takes_too_long_is_rejected_only_where_it_blocks_others(monkeypatch: pytest.MonkeyPatch) -> None:
    expensive = {"width": 512, "hidden": 1_024, "layers": 4, "context": 128, "corpus": "repeats"}
    config = with_settings(default_config("text", "rnn"), expensive)
    reason = r"for one step or one batch of an evaluation, during which no other"
    with pytest.raises(InvalidSetting, match=reason):
        limits.check(config)
    monkeypatch.setenv("LINEAGE_EXECUTOR", "processes")
    monkeypatch.setenv("LINEAGE_MOST_SECONDS", "1e6")
    assert limits.check(config) is config


def test_too_much_memory_or_time_is_rejected_with_the_values_that_would_be_allowed() -> None:
    config = with_settings(default_config("text", "gru"), {"replicas": 32, "context": 1_024, "corpus": "repeats"})
    reason = r"of memory; this server allows 4.00 GB"
    with pytest.raises(InvalidSetting, match=reason) as raised:
        limits.check(config)
    remedies = str(raised.value).partition("Take at most ")[2]
    seeds, context = (int(part.split()[0].replace(",", "")) for part in remedies.split("or at most "))
    assert (seeds, context) < (32, 1_024)
    for changes in ({"replicas": seeds}, {"context": context}):
        estimate = estimate_cost(with_settings(config, changes))
        assert 0.8 * 4e9 < estimate.peak_bytes <= 4e9
    years = {"iterations": 50_000, "corpus": "repeats", "layers": 8}
    config = with_settings(default_config("text", "transformer"), years)
    reason = r"of training; this server allows 60 min\. Take at most \d layers"
    with pytest.raises(InvalidSetting, match=reason):
        limits.check(config)


def test_everything_that_is_included_is_allowed() -> None:
    folders = (folder for folder in store.PRETRAINED.iterdir() if folder.name != store.EARLIER)
    # `text-best-seeds`, three of the largest model at once, was trained in a terminal.
    configs = [store.read_config_and_card(folder)[0] for folder in folders if folder.name != "text-best-seeds"]
    configs += [preset(name).config() for name in PRESETS]
    for config in {str(limits._sizes(config)): config for config in configs}.values():
        assert limits.check(config) is config
        limits._check_memory(config)
        limits._check_time(config)


def test_what_needs_no_computation_of_its_cost_is_below_the_limits() -> None:
    for task, model in [(task, model) for model, row in MODELS.items() for task in row.by_task]:
        replicas = 1 if model == "ngram" else limits._SMALL_REPLICAS.get(task, 8)
        config = with_settings(default_config(task, model), {"replicas": replicas})
        assert limits._is_small(config)
        limits._check_memory(config)
        limits._check_time(config)
        if model != "ngram":
            assert not limits._is_small(with_settings(config, {"replicas": replicas + 1}))


def test_the_memory_for_own_sentences_is_not_checked_before_they_are_given() -> None:
    changes = {"task.corpus": "own", "task.text": "ab" * 32, "task.classes": 10, "epochs": 200, "replicas": 8}
    config = with_settings(default_config("negation", "bag_of_bigrams"), changes)
    assert estimate_cost(config).peak_bytes > limits.environment().memory_of_one_job  # as for the largest possible file
    assert limits.check_size(config) == config


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


def test_costs(snapshot: SnapshotAssertion) -> None:
    """Parameters, peak bytes and three times; `python -m benchmarks.cost` compares them with what it measures."""
    huge = {"width": 512, "hidden": 1_024, "layers": 8, "replicas": 32, "context": 1_024, "corpus": "repeats"}
    configs = {f"{task} {model}": variations(task, model)[0] for task, model in PAIRS}
    configs |= {f"{name}, 3 seeds": with_settings(config, {"replicas": 3}) for name, config in configs.items()}
    configs["huge"] = with_settings(default_config("text", "lstm"), huge)  # no machine could build it
    costs = {name: dataclasses.astuple(estimate_cost(config)) for name, config in configs.items()}
    assert {name: " ".join(f"{value:.3g}" for value in cost) for name, cost in costs.items()} == snapshot
    assert count_parameters(with_settings(default_config("text", "ngram"), {"corpus": "repeats"})) == 0


def test_the_speed_in_bfloat16_is_measured_when_torch_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as without_torch:
        without_torch.delitem(sys.modules, "torch")
        assert machine_speed.bfloat16_speed() == machine_speed.Speed.multiplications
    assert machine_speed.bfloat16_speed() != machine_speed.Speed.multiplications
