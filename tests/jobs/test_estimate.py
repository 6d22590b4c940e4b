"""Estimates of training time from the shipped runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from explorer.catalogue import models_of
from explorer.jobs import estimate
from explorer.run_store import store
from explorer.training.config import branch_from, default_config, with_settings
from explorer.training.model_factory import count_parameters
from tests import needs

MODELS = models_of("negation")
# The shipped runs whose times the estimates of each task start from.
REFERENCES = [
    *(f"negation-single-{model}" for model in MODELS),
    *(  # an n-gram counts: nothing is learned in steps. The size of the others depends on the vocabulary of the text.
        pytest.param(f"text-{model}", marks=needs.tiny_shakespeare) for model in models_of("text") if model != "ngram"
    ),
    *(f"recall-50-{name}" for name in ("rnn-usual", "gru-usual", "lstm-usual", "transformer-learned")),
    *(f"{task}-{name}" for task in ("reverse", "copy", "dates") for name in ("vector", "additive", "transformer")),
    "noise-causal", "tale-causal", "echo-learned", "gloss-two", "gist-two", "place-turns-rnn", "agreement-heads",
]  # fmt: skip


@pytest.mark.parametrize("name", REFERENCES)
def test_the_estimate_for_a_shipped_run_is_its_measured_time(name: str) -> None:
    shipped = store.find(name)
    assert estimate.estimate_seconds(shipped.config) == pytest.approx(shipped.card.seconds)
    assert count_parameters(shipped.config) == shipped.card.parameters


@pytest.mark.parametrize("model", MODELS)
def test_larger_trainings_have_larger_estimates(model: str) -> None:
    usual = default_config("negation", model)
    cost = estimate.estimate_seconds(usual)
    assert estimate.estimate_seconds(with_settings(usual, {"epochs": 2 * usual.epochs})) == pytest.approx(2 * cost)
    assert estimate.estimate_seconds(with_settings(usual, {"replicas": 2 * usual.replicas})) > cost


@pytest.mark.parametrize("model", [model for model in MODELS if model != "bag_of_words"])  # it has no layer
def test_a_wider_layer_costs_more(model: str) -> None:
    usual = default_config("negation", model)
    assert estimate.estimate_seconds(with_settings(usual, {"hidden": 100})) > estimate.estimate_seconds(usual)


def test_the_estimate_of_a_branch_counts_its_own_steps() -> None:
    usual = default_config("negation", "rnn")
    half = branch_from(usual, usual.steps // 2, {})
    assert estimate.estimate_seconds(half) == pytest.approx(
        estimate.estimate_seconds(usual) * (1 - half.first_step / half.steps)
    )
    assert count_parameters(half) == count_parameters(usual)


def test_the_estimate_is_proportional_to_the_layers() -> None:
    usual = default_config("negation", "transformer")
    cost, four = (estimate.estimate_seconds(with_settings(usual, {"layers": layers})) for layers in (1, 4))
    assert 4 * cost < four < 4.5 * cost, "each layer costs as much as the first, and the products of its weights"


def test_without_shipped_runs_the_estimate_is_zero(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "PRETRAINED", tmp_path)
    store.reset(shipped=True)
    try:
        assert estimate.estimate_seconds(default_config("negation", "rnn")) == 0.0
    finally:
        store.reset(shipped=True)
