"""The objective of recall."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from explorer.experiments.recall import DEFAULT_VARIANTS, VARIANTS
from explorer.inspection.load_model import load_model
from explorer.tasks.recall import RecallConfig, evaluation_lengths
from explorer.tasks.recall_rows import evaluation_sequences, fixed_sequences
from explorer.training.config import RunConfig
from explorer.training.events import Step
from explorer.training.objectives.recall import EVALUATION_SEQUENCES, RecallObjective
from explorer.training.recorder import record_run
from tests.export.alike import full_training


def short(name: str = "gru-chrono", **changes: Any) -> RunConfig:
    return VARIANTS[name].config(
        **{
            "length": 6,
            "iterations": 24,
            "replicas": 2,
            "batch_size": 16,
            "evaluate_every": 8,
            "snapshots": 3,
            **changes,
        }
    )


@pytest.mark.parametrize("name", DEFAULT_VARIANTS)
def test_eight_seeds_train_as_each_does_alone(name: str) -> None:
    stacked_record = record_run(short(name))
    for seed in range(2):
        single_record = record_run(short(name, replicas=1, seed=seed))
        np.testing.assert_allclose(single_record.curves.losses[:, 0], stacked_record.curves.losses[:, seed], atol=2e-4)


def test_same_key_same_curve() -> None:
    losses, repeated_losses = (
        [float(v) for e in full_training(short()) if isinstance(e, Step) for v in e.losses] for _ in range(2)
    )
    assert losses == repeated_losses


@pytest.mark.parametrize("name", DEFAULT_VARIANTS)
def test_accuracy_by_length_equals_that_of_each_length_alone(name: str) -> None:
    config = short(name)
    record = record_run(config)
    model = load_model(record).stack
    recorded_accuracies = record.curves.answers["by_length"][-1]
    assert np.isnan(record.curves.answers["by_length"][0]).all()
    longest = max(evaluation_lengths(6))
    for length in (1, 5, 6, 7, 60):
        if length not in evaluation_lengths(6):
            continue
        # Recurrent networks are evaluated on prefixes of the longest sequences, the Transformer on separate ones.
        ids = (
            evaluation_sequences(RecallConfig(6), longest, EVALUATION_SEQUENCES)[:, :length]
            if "former" not in name
            else evaluation_sequences(RecallConfig(6), length, EVALUATION_SEQUENCES)
        )
        with torch.inference_mode():
            correct = model(ids.expand(2, *ids.shape)).argmax(-1) == ids[:, 0]
        np.testing.assert_allclose(
            recorded_accuracies[:, evaluation_lengths(6).index(length)], correct.float().mean(-1), atol=1e-6
        )


def test_training_sequences_have_an_accuracy_of_their_own() -> None:
    config = short("lstm-usual", length=20, sequences=32, batch_size=32, iterations=200, replicas=1, clip=0.0)
    record = record_run(config)
    train_accuracy, test_accuracy = (float(record.curves.last(name)[0]) for name in ("train_accuracy", "accuracy"))
    assert train_accuracy > test_accuracy + 0.2, "the model has memorized its training sequences"
    model, ids = load_model(record).stack, fixed_sequences(config.task_as(RecallConfig), 0)
    with torch.inference_mode():
        assert train_accuracy == pytest.approx(float((model(ids).argmax(-1) == ids[:, 0]).float().mean()))


def test_layout_names_the_recorded_metrics() -> None:
    record = record_run(short())
    layout = RecallObjective.layout(record.config)
    assert set(record.curves.metrics) == set(layout.metrics) and "train_accuracy" not in layout.metrics
    assert set(record.curves.signals) == {"gradient_norm"}
    assert "train_accuracy" in RecallObjective.layout(short(sequences=8)).metrics
