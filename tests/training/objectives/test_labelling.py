"""The objective of sequence labelling."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from explorer.catalogue import TASKS, models_of
from explorer.experiments.labelling import (
    DEPTH_VARIANTS,
    INDUCTION_VARIANTS,
    MASK_VARIANTS,
    POSITION_VARIANTS,
    SCALING_VARIANTS,
    VARIANTS,
    encoder_variants,
    shipped_configs,
)
from explorer.experiments.pretraining import shipped_configs as shipped
from explorer.inspection.evaluate import evaluate
from explorer.inspection.load_model import load_model
from explorer.jobs import limits
from explorer.run_store import store
from explorer.run_store.archive.read import import_zip
from explorer.run_store.archive.write import known_limits, pack
from explorer.tasks.sequence_labelling import grammar_text_rows, masked_word_rows, random_symbols_rows, word_sense_rows
from explorer.tasks.sequence_labelling.delayed_copy import DelayedCopyConfig, evaluation_lengths
from explorer.tasks.sequence_labelling.delayed_copy_rows import evaluation_rows
from explorer.training.config import RunConfig, default_config, with_settings
from explorer.training.objectives.labelling import LabellingObjective
from explorer.training.recorder import record_run

NAMES = ("noise", "tale", "echo", "gloss", "gist")
SMALL = {"iterations": 8, "replicas": 2, "batch_size": 8, "evaluate_every": 4, "snapshots": 3, "clip": 1.0}


@pytest.fixture(autouse=True)
def few_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (word_sense_rows, masked_word_rows, random_symbols_rows):
        monkeypatch.setattr(module, "EVALUATION_ROWS", 128)
    monkeypatch.setattr(grammar_text_rows, "SENTENCES_PER_TEXT", 200)
    grammar_text_rows.generate_text.cache_clear()


def short(task: str, model: str = "transformer", **changes: Any) -> RunConfig:
    size = {"model.width": 8, "hidden": 8, **({"heads": 2} if model == "transformer" else {})}
    few = {"longest": 3} if task == "echo" else {"length": 5, "symbols": 4} if task == "noise" else {}
    few |= {"length": 6} if task == "tale" else {}
    return with_settings(default_config(task, model), {**SMALL, **size, **few, **changes})


@pytest.mark.parametrize("task", NAMES)
@pytest.mark.parametrize("model", models_of(NAMES[0]))
def test_stacked_seeds_train_as_each_does_alone(task: str, model: str) -> None:
    stacked_record = record_run(short(task, model))
    assert model in models_of(task) and TASKS[task].objective.endswith("LabellingObjective")
    for seed in range(2):
        single_curves = record_run(short(task, model, replicas=1, seed=seed)).curves
        np.testing.assert_allclose(single_curves.losses[:, 0], stacked_record.curves.losses[:, seed], atol=2e-4)
        for name, values in single_curves.metrics.items():
            np.testing.assert_allclose(values[:, 0], stacked_record.curves.metrics[name][:, seed], atol=0.02)


@pytest.mark.parametrize("task", NAMES)
def test_layout_names_the_recorded_metrics_and_a_run_survives_storage(
    task: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    record = record_run(short(task))
    layout = LabellingObjective.layout(record.config)
    assert tuple(record.curves.metrics) == layout.metrics and "loss" in layout.metrics
    for name, parts in layout.answers.items():
        assert record.curves.answers[name][-1].shape == (2, parts)
    run = store.save_run(record, tmp_path / "run")
    assert {name: m.values for name, m in evaluate(run).items()} == {n: m.values for n, m in run.card.metrics.items()}
    monkeypatch.setenv("LINEAGE_HOME", str(tmp_path / "home"))
    assert import_zip(pack(run), "me", limits.check).key == run.key
    assert len(known_limits(run.config)) == 1


def test_exact_match_by_length_is_that_of_greedy_decoding() -> None:
    config = short("echo", causal=True, positions="rotary", iterations=60, learning_rate=2e-2, batch_size=32, symbols=3)
    record = record_run(config)
    by_length = record.curves.answers["by_length"][-1]
    assert np.isnan(record.curves.answers["by_length"][0]).all() and 0.2 < by_length[0, :3].mean() < 1, by_length
    task, model = config.task_as(DelayedCopyConfig), load_model(record).single_replica(0)
    rows = evaluation_rows(task, evaluation_lengths(task), 100)
    for n in (1, 2, 3):
        part = rows.ids[100 * (n - 1) : 100 * n, : n + 1]
        generated = part
        with torch.inference_mode():
            for _ in range(n):
                generated = torch.cat([generated, model(generated)[:, -1:].argmax(dim=-1)], dim=-1)
        expected_accuracy = (generated[:, n + 1 :] == part[:, :n]).all(dim=-1).float().mean()
        assert by_length[0, n - 1] == pytest.approx(float(expected_accuracy), abs=1e-6)


def test_every_variant_of_a_page_has_a_shipped_run() -> None:
    assert shipped_configs().items() <= shipped().items()
    page_variants = {
        *MASK_VARIANTS,
        *POSITION_VARIANTS,
        *SCALING_VARIANTS,
        *DEPTH_VARIANTS,
        *encoder_variants("gloss"),
        *encoder_variants("gist"),
    }
    assert page_variants | set(INDUCTION_VARIANTS) == set(VARIANTS) == set(shipped_configs())
    assert all(config.replicas >= 3 for config in shipped_configs().values())
    for name, config in shipped_configs().items():
        assert store.find(name).config == config
    with pytest.raises(AssertionError):
        LabellingObjective.layout(default_config("negation", "rnn"))
