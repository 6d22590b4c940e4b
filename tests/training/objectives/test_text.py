"""Trainings of language models: equal configurations give equal curves, also when a training is interrupted."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from explorer.catalogue import models_of
from explorer.errors import InvalidSetting
from explorer.tasks.text import corpora
from explorer.tasks.text.bits_per_byte import held_out_text
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.rows import text_data
from explorer.tokenization.text import from_json
from explorer.training.config import Branch, RunConfig, default_config, key, with_settings
from explorer.training.events import Checkpoint, Evaluation, EvaluationPart, Started, Step
from explorer.training.model_factory import build_model
from explorer.training.record import Record, describe_lowest_loss
from explorer.training.recorder import Recorder, record_run
from explorer.training.scoring import mean_loss
from explorer.training.train import train
from tests.export.alike import comparable_events, full_training

SIZES: dict[str, dict[str, object]] = {  # a model that is not named here has its default sizes
    "ngram": {"n": 3},
    "feedforward": {"width": 4, "hidden": 9, "window": 3, "batch_norm": True, "dropout": 0.1},
    "rnn": {"width": 4, "hidden": 9, "layers": 2, "dropout": 0.1},
    "lstm": {"width": 4, "hidden": 9},
    "gru": {"width": 4, "hidden": 9},
    "transformer": {"width": 8, "heads": 2, "layers": 1, "hidden": 12, "dropout": 0.1},
}
DATA = {"corpus": "brackets", "size": 3_000, "context": 8}
TRAINED = [name for name in models_of("text") if name != "ngram"]


def short(model: str = "transformer", **changes: Any) -> RunConfig:
    loop = {} if model == "ngram" else {"iterations": 23, "batch_size": 4, "evaluate_every": 10, "evaluation_size": 100}
    return with_settings(default_config("text", model), {**DATA, **SIZES.get(model, {}), **loop, **changes})


@cache
def recorded(config: RunConfig) -> Record:
    return record_run(config)


@pytest.mark.parametrize("model", models_of("text"))
def test_the_final_loss_is_that_of_every_held_out_target(model: str) -> None:
    config = short(model)
    record = recorded(config)
    data = text_data(config.task)
    assert sum(
        batch.targets.numel() if batch.mask is None else int(batch.mask.sum()) for batch in data.held_out_batches()
    ) == (data.held_out_targets)
    assert record.curves.evaluated.tolist() == ([1] if model == "ngram" else [0, 1, 5, 10, 20, 23])
    assert from_json(record.tokenizer).tokens == data.tokenizer.tokens and record.parameters > 0
    trained_model = load(record)
    total, count = 0.0, 0
    for batch in data.held_out_batches(rows=1):  # row by row, target by target
        logits = trained_model(batch.ids).detach().log_softmax(dim=-1)
        for t in range(batch.ids.shape[-1]):
            if batch.mask is None or batch.mask[0, t]:
                total -= float(logits[0, t, batch.targets[0, t]])
                count += 1
    assert record.curves.last("val_loss")[0] == pytest.approx(total / count, abs=1e-4)
    assert record.curves.last("perplexity")[0] == pytest.approx(math.exp(total / count), rel=1e-3)
    assert record.curves.last("bits_per_char")[0] == pytest.approx(total / count / math.log(2), rel=1e-3)
    bits = held_out_text(record.config.task_as(TextConfig)).bits_per_byte(total / count)
    assert record.curves.last("bits_per_byte")[0] == pytest.approx(bits, rel=1e-3)
    assert next(iter(record.curves.metrics)) == "bits_per_byte"


def load(record: Record) -> torch.nn.Module:
    """Return the model with the weights of its last step."""
    model = build_model(record.config)
    weights = record.snapshots[max(record.snapshots)].weights
    model.load_state_dict({name: torch.tensor(value[0]) for name, value in weights.items()})
    return model.eval()


VARIED: list[tuple[str, dict[str, object]]] = [
    ("rnn", {}),
    ("lstm", {"batches": "contiguous", "replicas": 2, "layers": 2}),
    ("lstm", {"batches": "contiguous", "layers": 6}),  # more than ten state tensors
    ("transformer", {"average": 0.9, "patience": 3}),
    ("rnn", {"method": "sgd", "clip": 0.1}),
    ("gru", {"average": 0.9, "keep": "best", "replicas": 2, "learning_rate": 0.5, "method": "sgd"}),
    ("feedforward", {"tokenizer": "bpe", "vocabulary": 40, "rows": "sentences", "split": "pairs", "corpus": "repeats"}),
]


@pytest.mark.parametrize(("model", "changes"), VARIED, ids=[f"{m}-{'-'.join(map(str, c.values()))}" for m, c in VARIED])
def test_an_interrupted_and_resumed_training_ends_as_an_uninterrupted_one(
    model: str, changes: dict[str, object]
) -> None:
    config = short(model, **changes)
    events = full_training(config)
    for step in (5, 20):
        checkpoint = next(e for e in events if isinstance(e, Checkpoint) and e.step == step)
        assert comparable_events(train(config, checkpoint)) == comparable_events(events, after=step)[0:], (
            f"from step {step}"
        )


EARLY: list[dict[str, object]] = [
    {"stop_at": 2.5, "learning_rate": 0.05},
    {"patience": 2, "learning_rate": 1.0, "method": "sgd", "clip": 0.0},
]


@pytest.mark.parametrize("changes", EARLY, ids=["target", "patience"])
def test_killed_after_its_last_checkpoint_a_training_that_ended_early_stays_ended(changes: dict[str, object]) -> None:
    events = full_training(short("gru", iterations=400, **changes))
    last_checkpoint = events[-1]
    assert isinstance(last_checkpoint, Checkpoint) and last_checkpoint.step < 400
    resumed_events = list(train(short("gru", iterations=400, **changes), last_checkpoint))
    assert [type(event) for event in resumed_events] == [Started]


@pytest.mark.parametrize("replicas", [1, 3])
def test_the_best_weights_of_each_seed_by_validation_are_kept_if_asked(replicas: int) -> None:
    changes = {"replicas": replicas, "learning_rate": 0.2, "clip": 0.0, "snapshots": 64}
    last, best = record_run(short("gru", **changes)), record_run(short("gru", **changes, keep="best"))
    np.testing.assert_array_equal(best.curves.losses, last.curves.losses)
    losses = last.curves.metrics["val_loss_part"]
    np.testing.assert_array_equal(best.curves.metrics["val_loss_part"][-1], losses.min(axis=0))
    steps = last.curves.evaluated[losses.argmin(axis=0)]
    assert steps.max() < last.config.steps, "the weights differ"
    for seed, step in enumerate(steps):
        for name, values in best.weights().items():
            np.testing.assert_array_equal(values[seed], last.weights(int(step))[name][seed])
    lowest = int(np.median(losses, axis=1).argmin())
    assert describe_lowest_loss(last.config, last.curves).startswith(
        f"The validation loss was lowest at step {last.curves.evaluated[lowest]:,}: "
    )
    assert "ends with the weights of step" in describe_lowest_loss(best.config, best.curves)
    assert key(last.config) != key(best.config)
    with pytest.raises(InvalidSetting, match="keep = best needs the validation loss"):
        record_run(with_settings(default_config("negation", "rnn"), {"keep": "best", "epochs": 1}))


def test_a_branch_from_where_its_parent_ended_early_is_trained() -> None:
    parent = short("gru", iterations=400, **EARLY[1])
    last_checkpoint = full_training(parent)[-1]
    assert isinstance(last_checkpoint, Checkpoint)
    branch = Branch(parent=key(parent), step=last_checkpoint.step)
    child = replace(with_settings(parent, {"learning_rate": 0.01}), branch=branch)
    assert any(isinstance(event, Step) for event in train(child, last_checkpoint))


def test_with_carried_state_the_state_is_carried_through_held_out_text() -> None:
    config = short("gru", batches="contiguous", learning_rate=0.02)
    model = load(recorded(config))
    data = text_data(config.task)
    loss_from_zero_states = float(mean_loss(model, data.held_out_batches()))
    loss_with_carried_states = float(mean_loss(model, data.held_out_contiguous(16, 8), carries=True))
    assert loss_with_carried_states != loss_from_zero_states
    assert float(recorded(config).curves.last("val_loss")[0]) == pytest.approx(loss_with_carried_states)


def test_training_text_is_evaluated_without_carried_state() -> None:
    config = with_settings(short("gru"), {"batches": "contiguous", "context": 4, "replicas": 2, "evaluation_size": 0})
    data = text_data(config.task_as(TextConfig))
    sizes = [len(batch.ids) for batch in data.training_sample(65_536)]
    assert len(sizes) > 1 and sizes[0] != sizes[-1]  # batches of different sizes cannot share carried states
    first_evaluation = next(event for event in train(config) if isinstance(event, Evaluation))
    expected = mean_loss(build_model(config), data.training_sample(65_536), 2)
    assert first_evaluation.answers["train_loss"].tolist() == pytest.approx(expected.tolist())


@pytest.mark.parametrize("model", ["ngram", "gru"])
def test_a_run_generates_the_same_samples_every_time(model: str) -> None:
    config = short(model, sample=20)
    samples = recorded(config).curves.samples
    assert len(samples) == len(recorded(config).curves.evaluated)
    assert all(len(text) == 20 for (text,) in samples)
    assert samples == record_run(config).curves.samples
    assert record_run(short(model)).curves.samples == ()


def test_an_n_gram_has_one_seed_and_cannot_read_padded_prefixes() -> None:
    with pytest.raises(InvalidSetting, match="Give replicas = 1"):
        next(train(short("ngram", corpus="repeats", replicas=2)))
    with pytest.raises(InvalidSetting, match="Choose rows = sentences"):
        next(train(short("ngram", rows="prefixes", split="pairs", corpus="repeats")))


def test_counting_can_be_resumed_only_after_its_end() -> None:
    config = short("ngram", corpus="repeats")
    recorder = Recorder(config)
    statuses = []
    for event in train(config):
        recorder.add(event)
        if not isinstance(event, EvaluationPart):
            statuses.append((type(event).__name__, recorder.has_evaluation, recorder.resumable))
    assert statuses == [
        ("Started", False, False),
        ("Step", False, False),
        ("Evaluation", True, False),
        ("Checkpoint", True, True),
    ]


def test_a_run_of_an_earlier_version_is_resumed_with_nan_where_bits_per_byte_were_not_recorded() -> None:
    config = short("rnn", iterations=4, evaluate_every=2)
    whole = record_run(config)
    stopped = Recorder(config)
    for event in train(config):
        stopped.add(event)
        if isinstance(event, Checkpoint) and event.step == 2:
            break
    earlier = stopped.record("stopped")
    del earlier.curves.metrics["bits_per_byte"]
    resumed = record_run(config, before=earlier)
    for name, values in whole.curves.metrics.items():
        known = values if name != "bits_per_byte" else np.concatenate([np.full((2, 1), np.nan), values[2:]])
        np.testing.assert_array_equal(resumed.curves.metrics[name], known)
    assert np.isfinite(resumed.curves.last("bits_per_byte")).all()
    assert resumed.baselines == whole.baselines


def test_the_baseline_of_a_text_is_its_unigram() -> None:
    config = with_settings(default_config("text", "ngram"), {"corpus": "own", "text": corpora.store_text("ab" * 100)})
    config = with_settings(config, {"held_out": 0.1, "context": 4})
    found = record_run(config).baselines
    # Each of two characters is half of the 180 in the training part, whose first is no target.
    expected = -(math.log((90 + 1) / (179 + 2)) + math.log((89 + 1) / (179 + 2))) / 2
    assert found["val_loss"] == pytest.approx(expected)
    assert found["bits_per_byte"] == found["bits_per_char"] == pytest.approx(expected / math.log(2))
