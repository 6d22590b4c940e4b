"""Limits of the server: each is reported with the variable that changes it."""

from __future__ import annotations

import pytest

from explorer import catalogue
from explorer.errors import InvalidSetting
from explorer.experiments.presets import PRESETS, preset
from explorer.jobs import limits
from explorer.jobs.cost import estimate_cost
from explorer.run_store import store
from explorer.training.config import default_config, with_settings

SMALL: dict[str, object] = {"epochs": 2, "train_size": 100, "batch_size": 50}


@pytest.mark.parametrize(
    ("model", "changes", "variable", "count", "expected"),
    [
        ("rnn", {"epochs": 3}, "MOST_STEPS", 5, "6 optimiser steps; this server allows 5"),
        ("rnn", {"train_size": 101, "batch_size": 101}, "MOST_DRAWS", 201, "202 sentences to see; this server allows"),
        ("rnn", {"hidden": 9, "width": 3}, "MOST_WIDTH", 8, "9 numbers in a layer; this server allows 8"),
        ("rnn", {"hidden": 3, "width": 9}, "MOST_WIDTH", 8, "9 numbers in a layer; this server allows 8"),
        ("transformer", {"layers": 3}, "MOST_LAYERS", 2, "3 layers; this server allows 2"),
        ("bag_of_words", {"batch_size": 51}, "MOST_BATCH", 50, "51 sentences in a batch; this server allows 50"),
        ("gru", {"replicas": 4}, "MOST_REPLICAS", 3, "4 seeds side by side; this server allows 3"),
    ],
    ids=str,
)
def test_exceeding_a_limit_is_rejected_with_the_name_of_its_variable(
    model: str, changes: dict[str, object], variable: str, count: int, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = with_settings(default_config("negation", model), {**SMALL, **changes})
    assert limits.check(config) is config  # with the default limits
    monkeypatch.setenv(f"LINEAGE_{variable}", str(count))
    with pytest.raises(InvalidSetting) as raised:
        limits.check(config)
    message = str(raised.value)
    assert expected in message
    assert f"(LINEAGE_{variable})" in message
    assert message.startswith("These settings ask for ") and ". Take " in message
    assert "\n" not in message
    monkeypatch.setenv(f"LINEAGE_{variable}", str(count + 1))
    assert limits.check(config) is config


def test_the_default_limits_reject_huge_trainings() -> None:
    many = with_settings(default_config("negation", "rnn"), {"epochs": 2_000, "batch_size": 1})
    with pytest.raises(InvalidSetting, match=r"1,600,000 optimiser steps; this server allows 50,000 \(LINEAGE_MOST_ST"):
        limits.check(many)
    large = with_settings(
        default_config("negation", "rnn"), {"epochs": 2_000, "train_size": 20_000, "batch_size": 2_048}
    )
    with pytest.raises(InvalidSetting, match="40,000,000 sentences to see; this server allows 5,000,000"):
        limits.check(large)


# ---- the cost


EXPENSIVE: dict[str, object] = {"width": 512, "hidden": 1_024, "layers": 4, "context": 128, "corpus": "repeats"}


def test_a_step_that_takes_too_long_is_rejected_only_where_it_blocks_others(monkeypatch: pytest.MonkeyPatch) -> None:
    config = with_settings(default_config("text", "rnn"), EXPENSIVE)
    with pytest.raises(
        InvalidSetting,
        match=r"for one step or one batch of an evaluation, during which no other.*\(LINEAGE_MOST_STEP_SECONDS\)",
    ):
        limits.check(config)
    monkeypatch.setenv("LINEAGE_EXECUTOR", "processes")
    monkeypatch.setenv("LINEAGE_MOST_SECONDS", "1e6")
    assert limits.check(config) is config


def test_too_much_memory_is_rejected_with_the_values_that_would_be_allowed() -> None:
    config = with_settings(default_config("text", "gru"), {"replicas": 32, "context": 1_024, "corpus": "repeats"})
    reason = r"of memory; this server allows 4.00 GB \(LINEAGE_MOST_MEMORY\)"
    with pytest.raises(InvalidSetting, match=reason) as raised:
        limits.check(config)
    remedies = str(raised.value).partition("Take at most ")[2]
    seeds, context = (int(part.split()[0].replace(",", "")) for part in remedies.split("or at most "))
    assert (seeds, context) < (32, 1_024)
    for changes in ({"replicas": seeds}, {"context": context}):
        estimate = estimate_cost(with_settings(config, changes))
        assert 0.8 * 4e9 < estimate.peak_bytes <= 4e9


def test_a_training_of_years_is_rejected() -> None:
    changes = {"iterations": 50_000, "corpus": "repeats", "layers": 8}
    config = with_settings(default_config("text", "transformer"), changes)
    reason = r"of training; this server allows 60 min \(LINEAGE_MOST_SECONDS\)\. Take at most \d layers"
    with pytest.raises(InvalidSetting, match=reason):
        limits.check(config)


def test_everything_that_is_included_is_allowed() -> None:
    configs = {
        file.parent.name: store.read_config_and_card(file.parent)[0] for file in store.PRETRAINED.glob("*/config.json")
    }
    del configs["text-best-seeds"]  # three of the largest model at once: trained in a terminal
    both = (*configs.values(), *(preset(name).config() for name in PRESETS))
    for config in {str(limits._sizes(config)): config for config in both}.values():
        assert limits.check(config) is config
        limits._check_memory(config)
        limits._check_time(config)


def test_what_needs_no_computation_of_its_cost_is_below_the_limits() -> None:
    for task, model in [(task, model) for model, row in catalogue.MODELS.items() for task in row.by_task]:
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
