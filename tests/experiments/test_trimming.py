from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from explorer.experiments import trimming
from explorer.experiments.pretraining import shipped_configs
from explorer.inspection.evaluate import evaluate
from explorer.run_store import store
from explorer.run_store.store import Metric, StoredRun
from explorer.training.config import default_config, with_settings
from explorer.training.record import Record
from explorer.training.recorder import record_run

SIZES = {"train_size": 211, "test_size": 53, "replicas": 2}


@cache
def record() -> Record:
    return record_run(
        with_settings(default_config("negation", "rnn"), {**SIZES, "epochs": 3, "snapshots": 4})
    )  # snapshots after 0, 1, 3 and 12 steps


@pytest.fixture
def run(tmp_path: Path) -> StoredRun:
    return store.save_run(record(), tmp_path / "run")


def test_a_run_keeps_the_steps_that_a_page_shows(run: StoredRun) -> None:
    assert list(trimming.trim_for_release("negation-single-rnn", run, evaluate)) == [0, 12]
    assert list(trimming.trim_for_release("negation-half-rnn", run, evaluate)) == [12]
    steps = {name: trimming.kept_steps(name, config, config.steps) for name, config in shipped_configs().items()}
    assert steps["text-through-training"] == [0, 8, 16, 32, 63, 126, 251, 501, 1000]
    assert steps["induction-two"] == [0, 46, 73, 118, 191, 308, 496, 800]
    assert steps["recall-50-gru-chrono"] == [0, 3, 7, 20, 54, 147, 400]
    assert steps["recall-50-gru-forget-1"] == [400]
    assert trimming.kept_steps("recall-50-gru-chrono", shipped_configs()["recall-50-gru-chrono"], 54)[-1] == 54


def test_initial_weights_that_are_compared_stay_exact_and_the_last_ones_are_rounded(run: StoredRun) -> None:
    kept = trimming.trim_for_release("negation-single-rnn", run, evaluate)
    for name, value in run.weights(0).items():
        np.testing.assert_array_equal(kept[0][name], value)
    assert any(not np.array_equal(kept[12][name], value) for name, value in run.weights().items())
    assert trimming.largest_change(run, kept[12], evaluate) <= trimming.allowed_change(run.config)


def test_trimming_a_trimmed_run_changes_nothing(run: StoredRun) -> None:
    kept = trimming.trim_for_release("recall-50-gru-usual", run, evaluate)
    again = trimming.trim_for_release("recall-50-gru-usual", store.pack_run(run, kept), evaluate)
    assert list(again) == list(kept)
    for step, weights in kept.items():
        for name, value in weights.items():
            np.testing.assert_array_equal(again[step][name], value)


@pytest.mark.parametrize(("error", "bits"), [(2**-4, 6), (0.75 * 2**-9, 10), (0.75 * 2**-11, 14), (2**-30, 24)])
def test_weights_have_as_few_bits_as_leave_the_metrics_unchanged(run: StoredRun, error: float, bits: int) -> None:
    """`error`: the largest relative change of a weight that leaves the metrics of this model unchanged."""

    def sensitive(rounded: Record) -> Mapping[str, Metric]:
        pairs = [(rounded.weights()[name], value) for name, value in run.weights().items()]
        apart = max(float((np.abs(one - other) / np.maximum(np.abs(other), 1e-3)).max()) for one, other in pairs)
        metric = run.card.metrics["test_loss"]
        if apart < error:
            return {"test_loss": metric}
        return {"test_loss": metric.model_copy(update={"values": [9.0 for _ in metric.values]})}

    assert trimming.fewest_bits("recall-10-gru-usual", run, sensitive) == bits


@pytest.mark.parametrize(("name", "bits"), [("text-gru", 11), ("text-transformer", 14), ("text-toy-gru", 6)])
def test_a_language_model_that_generates_text_or_is_quoted_has_more_bits(name: str, bits: int, run: StoredRun) -> None:
    text = replace(run, config=default_config("text", "gru"))
    assert trimming.fewest_bits(name, text, lambda record: text.card.metrics) == bits


def test_an_undefined_metric_must_stay_undefined(run: StoredRun) -> None:
    undefined = {"test_loss": Metric(mean=None, values=[None, None])}
    without = replace(run, card=run.card.model_copy(update={"metrics": undefined}))
    assert trimming.largest_change(without, run.weights(), lambda record: undefined) == 0
    defined = {"test_loss": run.card.metrics["test_loss"]}
    assert trimming.largest_change(without, run.weights(), lambda record: defined) == np.inf


def test_rounding_to_bits() -> None:
    values = np.array([1 + 2**-7, 1 + 2**-8, -3.14159, 0, 1e-3, np.inf, np.nan], np.float32)
    coarse = trimming.round_weights({"a": values}, 8)["a"]
    assert coarse.dtype == np.float32
    np.testing.assert_array_equal(coarse[[0, 1, 3, 5, 6]], [1 + 2**-7, 1, 0, np.inf, np.nan])
    np.testing.assert_allclose(coarse[[2, 4]], values[[2, 4]], rtol=2**-8)
    half = trimming.round_weights({"a": values}, 11)["a"]
    np.testing.assert_array_equal(half, values.astype(np.float16).astype(np.float32))
    np.testing.assert_array_equal(trimming.round_weights({"a": values}, 24)["a"], values)
    np.testing.assert_array_equal(trimming.round_weights({"a": half.astype(np.float16)}, 17)["a"], half)
    beyond_half = np.array([1e30, 1e-30], np.float32)
    np.testing.assert_allclose(trimming.round_weights({"a": beyond_half}, 8)["a"], beyond_half, rtol=2**-8)
