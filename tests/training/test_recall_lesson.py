"""Recall is taught on fresh sequences and scored on others; what is shown again and again is scored apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from explorer.inspection.evaluating import evaluate
from explorer.inspection.opening import open_model
from explorer.tasks.recall import RecallConfig, asked_lengths
from explorer.tasks.sequences import fresh, own_sequences
from explorer.training import store
from explorer.training.config import RunConfig
from explorer.training.events import Step
from explorer.training.packing import pack
from explorer.training.recall_lesson import ASKED, RecallLesson
from explorer.training.recall_runs import CONTESTANTS, USUAL
from explorer.training.recorder import record_run
from explorer.training.unpacking import take_in
from tests.training.alike import whole


def short(name: str = "gru-chrono", **changes: Any) -> RunConfig:
    return CONTESTANTS[name].config(
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


@pytest.mark.parametrize("name", USUAL)
def test_eight_seeds_train_as_each_does_alone(name: str) -> None:
    together = record_run(short(name))
    for seed in range(2):
        alone = record_run(short(name, replicas=1, seed=seed))
        np.testing.assert_allclose(alone.curves.losses[:, 0], together.curves.losses[:, seed], atol=2e-4)


def test_same_key_same_curve() -> None:
    one, other = ([float(v) for e in whole(short()) if isinstance(e, Step) for v in e.losses] for _ in range(2))
    assert one == other


def test_a_gated_net_with_open_gates_learns_it_and_holds_it() -> None:
    curves = record_run(short(iterations=150, replicas=1, batch_size=32)).curves
    assert curves.last("accuracy").tolist() == [1.0]
    assert curves.answers["by_length"][-1].shape == (1, len(asked_lengths(6)))
    assert curves.answers["by_length"][-1][0, asked_lengths(6).index(6)] == 1.0


@pytest.mark.parametrize("name", USUAL)
def test_accuracy_at_a_length_is_that_of_asking_it_alone(name: str) -> None:
    config = short(name)
    record = record_run(config)
    model = open_model(record).stack
    at = record.curves.answers["by_length"][-1]
    assert np.isnan(record.curves.answers["by_length"][0]).all()
    longest = max(asked_lengths(6))
    for length in (1, 5, 6, 7, 60):
        if length not in asked_lengths(6):
            continue
        # A recurrent net is asked about the beginnings of the longest sequences, the Transformer about others.
        ids = (
            fresh(RecallConfig(6), longest, ASKED)[:, :length]
            if "former" not in name
            else fresh(RecallConfig(6), length, ASKED)
        )
        with torch.inference_mode():
            right = model(ids.expand(2, *ids.shape)).argmax(-1) == ids[:, 0]
        np.testing.assert_allclose(at[:, asked_lengths(6).index(length)], right.float().mean(-1), atol=1e-6)


def test_its_own_few_sequences_are_scored_apart() -> None:
    config = short("lstm-usual", length=20, sequences=32, batch_size=32, iterations=200, replicas=1, clip=0.0)
    record = record_run(config)
    own, other = (float(record.curves.last(name)[0]) for name in ("train_accuracy", "accuracy"))
    assert own > other + 0.2, "it has learned them by heart"
    model, ids = open_model(record).stack, own_sequences(config.on(RecallConfig), 0)
    with torch.inference_mode():
        assert own == pytest.approx(float((model(ids).argmax(-1) == ids[:, 0]).float().mean()))


def test_layout_names_what_is_told() -> None:
    record = record_run(short())
    layout = RecallLesson.layout(record.config)
    assert set(record.curves.metrics) == set(layout.metrics) and "train_accuracy" not in layout.metrics
    assert set(record.curves.signals) == {"gradient_norm"}
    assert "train_accuracy" in RecallLesson.layout(short(sequences=8)).metrics


def test_a_run_comes_back_from_its_folder_and_from_a_zip(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    record = record_run(short())
    run = store.save_run(record, tmp_path / "run")
    assert {name: m.values for name, m in evaluate(run).items()} == {n: m.values for n, m in run.card.metrics.items()}
    monkeypatch.setenv("LINEAGE_HOME", str(tmp_path / "home"))
    taken = take_in(pack(run), "me")
    assert taken.key == run.key
    np.testing.assert_array_equal(taken.curves.answers["by_length"], run.curves.answers["by_length"])
