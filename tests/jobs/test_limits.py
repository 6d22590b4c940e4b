"""Limits of the server: each is reported with the variable that changes it."""

from __future__ import annotations

import pytest

from explorer.catalogue import models_of
from explorer.errors import InvalidSetting
from explorer.jobs import limits
from explorer.training.config import default_config, with_settings

SMALL: dict[str, object] = {"epochs": 2, "train_size": 100, "batch_size": 50}

MODELS = models_of("negation")


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


@pytest.mark.parametrize("model", MODELS)
def test_the_released_configurations_are_far_below_every_limit(model: str) -> None:
    config = with_settings(default_config("negation", model), {"replicas": 8, "epochs": 100})
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
