"""What a training will cost, by what the shipped ones did."""

from __future__ import annotations

from pathlib import Path

import pytest

from explorer.catalogue import models_of
from explorer.training import estimate, store
from explorer.training.config import branched, changed, default

MODELS = models_of("negation")


@pytest.mark.parametrize("model", MODELS)
def test_a_shipped_run_costs_what_it_did(model: str) -> None:
    shipped = store.find(f"negation-single-{model}")
    assert estimate.seconds(shipped.config) == pytest.approx(shipped.card.seconds)
    assert estimate.parameters(shipped.config) == shipped.card.parameters


@pytest.mark.parametrize("model", MODELS)
def test_more_costs_more(model: str) -> None:
    usual = default("negation", model)
    cost = estimate.seconds(usual)
    assert estimate.seconds(changed(usual, {"epochs": 2 * usual.epochs})) == pytest.approx(2 * cost)
    assert estimate.seconds(changed(usual, {"replicas": 8})) > cost
    wide = changed(usual, {"hidden": 100}) if model != "bag_of_words" else usual
    assert estimate.seconds(wide) > cost or wide is usual


def test_a_branch_costs_the_steps_it_takes() -> None:
    usual = default("negation", "rnn")
    half = branched(usual, usual.steps // 2, {})
    assert estimate.seconds(half) == pytest.approx(estimate.seconds(usual) * (1 - half.first_step / half.steps))
    assert estimate.parameters(half) == estimate.parameters(usual)


def test_layers_cost_in_proportion() -> None:
    usual = default("negation", "transformer")
    four = changed(usual, {"layers": 4 * usual.model.layers})  # type: ignore[union-attr]
    assert estimate.seconds(four) > 4 * estimate.seconds(usual)


def test_without_shipped_runs_nothing_is_claimed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "PRETRAINED", tmp_path)
    store.pretrained.cache_clear()
    try:
        assert estimate.seconds(default("negation", "rnn")) == 0.0
    finally:
        store.pretrained.cache_clear()
