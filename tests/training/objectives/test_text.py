"""Trainings of language models: equal configurations give equal curves, also when a training is interrupted."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from explorer.catalogue import models_of
from explorer.errors import InvalidSetting
from explorer.generation.generate import prompt_ids
from explorer.generation.sampling import gumbel_noise, noise_generator
from explorer.inspection.evaluate import evaluate
from explorer.inspection.load_model import load_model
from explorer.models.kneser_ney import Ngram
from explorer.run_store import store
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.rows import text_data
from explorer.tokenization.text import from_json
from explorer.training.config import Branch, RunConfig, default_config, key, with_settings
from explorer.training.events import Checkpoint, Evaluation, EvaluationPart, Started, Step
from explorer.training.model_factory import build_model
from explorer.training.record import Record
from explorer.training.recorder import Recorder, as_checkpoint, record_run
from explorer.training.scoring import mean_loss
from explorer.training.train import train
from tests.export.alike import assert_records_equal, comparable_events, full_training

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
def test_every_model_records_its_metrics(model: str) -> None:
    config = short(model)
    events = full_training(config)
    assert isinstance(events[0], Started)
    assert events[0].parameters > 0
    assert from_json(events[0].tokenizer).tokens == text_data(config.task).tokenizer.tokens
    steps = [e for e in events if isinstance(e, Step)]
    assert [e.step for e in steps] == list(range(1, config.steps + 1))
    evaluations = [e for e in events if isinstance(e, Evaluation)]
    assert [e.step for e in evaluations] == ([1] if model == "ngram" else [0, 1, 5, 10, 20, 23])
    for e in evaluations[:-1]:
        assert e.answers["val_loss"].isnan()
    last = {name: float(value) for name, value in evaluations[-1].answers.items()}
    assert last["perplexity"] == pytest.approx(math.exp(last["val_loss"]))
    assert last["bits_per_char"] == pytest.approx(last["val_loss"] / math.log(2))  # a token is a character
    if model != "ngram":
        assert all(e.tokens == 4 * 8 and float(e.signals["gradient_norm"]) > 0 for e in steps)
        assert last["val_loss"] < float(evaluations[0].answers["val_loss_part"])


@pytest.mark.parametrize("model", models_of("text"))
def test_the_final_loss_is_that_of_every_held_out_target(model: str) -> None:
    config = short(model)
    record = recorded(config)
    data = text_data(config.task)
    assert sum(
        batch.targets.numel() if batch.mask is None else int(batch.mask.sum()) for batch in data.held_out_batches()
    ) == (data.held_out_targets)
    trained_model = load(record)
    total, count = 0.0, 0
    for batch in data.held_out_batches(rows=1):  # row by row, target by target
        logits = trained_model(batch.ids).detach().log_softmax(dim=-1)
        for t in range(batch.ids.shape[-1]):
            if batch.mask is None or batch.mask[0, t]:
                total -= float(logits[0, t, batch.targets[0, t]])
                count += 1
    assert record.curves.last("val_loss")[0] == pytest.approx(total / count, abs=1e-4)


def load(record: Record) -> torch.nn.Module:
    """Return the model with the weights of its last step."""
    model = build_model(record.config)
    weights = record.snapshots[max(record.snapshots)].weights
    model.load_state_dict({name: torch.tensor(value[0]) for name, value in weights.items()})
    return model.eval()


@pytest.mark.parametrize("model", models_of("text"))
def test_a_stored_run_evaluates_the_same(model: str, tmp_path: Path) -> None:
    config = short(model)
    run = store.save_run(recorded(config), tmp_path / "run")
    assert run.key == key(config)
    assert run.tokenizer == recorded(config).tokenizer
    assert run.card.step == run.curves.step == config.steps
    metrics = evaluate(run)
    for name, metric in run.card.metrics.items():
        assert metrics[name].values == pytest.approx(metric.values, abs=1e-6)


def test_a_run_loads_without_its_training_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = {model: store.save_run(recorded(short(model)), tmp_path / model) for model in ("ngram", "transformer")}
    monkeypatch.setattr(
        "explorer.training.objectives.text.text_data", lambda config: pytest.fail("the text was asked for")
    )
    for run in runs.values():
        logits = load_model(run).stack(torch.zeros(1, 3, dtype=torch.long))
        assert logits.shape == (1, 3, len(from_json(run.tokenizer).tokens))


VARIED: list[tuple[str, dict[str, object]]] = [
    *((model, {}) for model in TRAINED),
    ("gru", {"batches": "contiguous"}),
    ("lstm", {"batches": "contiguous", "replicas": 2, "layers": 2}),
    ("lstm", {"batches": "contiguous", "layers": 6}),  # more than ten state tensors
    ("transformer", {"average": 0.9, "replicas": 2}),
    ("transformer", {"average": 0.9, "patience": 3}),
    ("rnn", {"method": "sgd", "clip": 0.1}),
    ("feedforward", {"tokenizer": "bpe", "vocabulary": 40, "rows": "sentences", "split": "pairs", "corpus": "repeats"}),
]


@pytest.mark.parametrize(("model", "changes"), VARIED, ids=[f"{m}-{'-'.join(map(str, c.values()))}" for m, c in VARIED])
def test_an_interrupted_and_resumed_training_ends_as_an_uninterrupted_one(
    model: str, changes: dict[str, object]
) -> None:
    config = short(model, **changes)
    events = full_training(config)
    for step in (5, 10, 20):
        checkpoint = next(e for e in events if isinstance(e, Checkpoint) and e.step == step)
        assert comparable_events(train(config, checkpoint)) == comparable_events(events, after=step)[0:], (
            f"from step {step}"
        )


def test_twice_the_same_over_a_recorder_is_the_same_record() -> None:
    config = short("lstm", batches="contiguous")
    recorder = Recorder(config)
    for event in train(config):
        recorder.add(event)
        if isinstance(event, Checkpoint) and event.step >= 10:
            break
    stopped_record = recorder.record("stopped")
    last_step = max(stopped_record.snapshots)
    resumed_recorder = Recorder(config, stopped_record)
    for event in train(config, as_checkpoint(last_step, stopped_record.snapshots[last_step])):
        resumed_recorder.add(event)
    assert_records_equal(resumed_recorder.record(), recorded(config))


@pytest.mark.parametrize("model", TRAINED)
def test_replicas_train_as_the_solo_run_of_their_seed(model: str) -> None:
    stacked_record = recorded(short(model, replicas=2, seed=3))
    for r, seed in enumerate((3, 4)):
        single_record = recorded(short(model, seed=seed))
        np.testing.assert_allclose(stacked_record.curves.losses[:, r], single_record.curves.losses[:, 0], atol=2e-3)
        assert stacked_record.curves.last("val_loss")[r] == pytest.approx(
            single_record.curves.last("val_loss")[0], abs=5e-3
        )


def test_a_target_ends_the_training_and_is_confirmed_over_everything() -> None:
    config = short("gru", stop_at=2.5, iterations=400, learning_rate=0.05)
    record = recorded(config)
    assert record.finished
    assert 0 < record.curves.step < 400
    assert record.curves.last("val_loss")[0] <= 2.5
    assert record.curves.step in record.snapshots


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


def test_a_branch_from_where_its_parent_ended_early_is_trained() -> None:
    parent = short("gru", iterations=400, **EARLY[1])
    last_checkpoint = full_training(parent)[-1]
    assert isinstance(last_checkpoint, Checkpoint)
    branch = Branch(parent=key(parent), step=last_checkpoint.step)
    child = replace(with_settings(parent, {"learning_rate": 0.01}), branch=branch)
    assert any(isinstance(event, Step) for event in train(child, last_checkpoint))


def test_patience_ends_a_training_that_gets_no_better() -> None:
    record = recorded(short("gru", patience=2, iterations=400, learning_rate=1.0, method="sgd", clip=0.0))
    assert record.curves.step < 400
    assert len(set(record.curves.evaluated)) == len(record.curves.evaluated), "one row for each evaluated step"
    for metric in ("val_loss", "perplexity", "bits_per_char"):
        is_finite = np.isfinite(record.curves.metrics[metric][:, 0])
        assert is_finite[-1] and not is_finite[:-1].any(), (
            "the last evaluation uses all validation data, as at the last step"
        )


def test_a_counted_model_scores_as_its_table_says() -> None:
    config = short("ngram")
    data = text_data(config.task)
    counts = Ngram(config.model, data.vocabulary, config.task.context, torch.Generator())  # type: ignore[arg-type]
    counts.fit(*data.full_training_batch())
    assert float(mean_loss(counts, data.held_out_batches())) == pytest.approx(
        float(recorded(config).curves.last("val_loss")[0])
    )


def test_with_carried_state_the_state_is_carried_through_held_out_text() -> None:
    config = short("gru", batches="contiguous", iterations=60, learning_rate=0.02)
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


def test_samples_of_padded_prefixes_are_read_at_the_trained_position() -> None:
    prefix_settings = {"rows": "prefixes", "split": "pairs", "corpus": "repeats", "tokenizer": "bpe", "vocabulary": 60}
    config = short(sample=16, **prefix_settings, context=17, iterations=100, learning_rate=0.05)
    data, trained_model = text_data(config.task), load(recorded(config))
    prompt = prompt_ids(data.tokenizer, "\n")[0].tolist()
    text, noise = list(prompt), gumbel_noise(noise_generator(config.seed, 0), config.sample, data.vocabulary)
    for step in range(17 - len(text)):  # until the row is full
        row = torch.tensor([text + [data.padding] * (17 - len(text))])
        text.append(int((trained_model(row)[0, -1] + noise[step]).argmax()))
    expected = data.tokenizer.decode(text[len(prompt) :])
    assert recorded(config).curves.samples[-1][0].startswith(expected)
    # Held-out rows have the same length and a target at the last position only.
    batch = next(data.held_out_batches())
    assert batch.ids.shape[1] == 17 and batch.mask is not None
    assert batch.mask[:, -1].all() and not batch.mask[:, :-1].any()


def test_every_replica_generates_its_own_sample_and_the_run_stores_them(tmp_path: Path) -> None:
    config = short("transformer", sample=20, replicas=2)
    run = store.save_run(recorded(config), tmp_path / "run")
    assert run.curves.samples == recorded(config).curves.samples
    assert all(first_sample != second_sample for first_sample, second_sample in run.curves.samples[-1:])
    single_samples = recorded(short("transformer", sample=20, seed=1)).curves.samples
    assert run.curves.samples[0][1] == single_samples[0][0]


def test_an_n_gram_cannot_read_padded_prefixes() -> None:
    with pytest.raises(InvalidSetting, match="Choose rows = sentences"):
        next(train(short("ngram", rows="prefixes", split="pairs", corpus="repeats")))


def test_counting_has_one_seed() -> None:
    with pytest.raises(InvalidSetting, match="Give replicas = 1"):
        next(train(short("ngram", corpus="repeats", replicas=2)))


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
