from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from explorer.errors import NeedsText
from explorer.inspection.language import dynamic_evaluation
from explorer.inspection.language.dynamic_evaluation import evaluate_dynamically, evaluate_statically
from explorer.inspection.load_model import load_model
from explorer.models.configs import NgramTextConfig
from explorer.models.kneser_ney import Ngram
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.rows import Batch, text_data
from explorer.training.config import RunConfig, default_config, with_settings
from explorer.training.model_factory import build_model
from explorer.training.recorder import record_run
from explorer.training.scoring import mean_loss

SIZES: dict[str, dict[str, object]] = {
    "feedforward": {"width": 4, "hidden": 9, "window": 3, "batch_norm": True, "dropout": 0.5},
    "rnn": {"width": 4, "hidden": 9, "layers": 2, "dropout": 0.5},
    "lstm": {"width": 4, "hidden": 9},
    "gru": {"width": 4, "hidden": 9},
    "transformer": {"width": 8, "heads": 2, "layers": 1, "hidden": 12, "dropout": 0.5},
}
TASK: dict[str, object] = {"corpus": "brackets", "size": 1_500, "context": 8}
LINES: dict[str, object] = {"corpus": "repeats", "rows": "sentences", "split": "sentences"}
WAYS: dict[str, dict[str, object]] = {
    "rnn": {"split": "windows"},
    "lstm": {"batches": "contiguous", "layers": 2},
    "transformer": LINES,
    "feedforward": {**LINES, "rows": "prefixes", "split": "pairs"},
}
KINDS_OF_ROWS = pytest.mark.parametrize("changes", [{}, {"batches": "contiguous"}, LINES], ids=str)


def untrained(model: str, **changes: Any) -> tuple[RunConfig, nn.Module]:
    """Return the initial model of a run, frozen as a loaded one is."""
    config = with_settings(default_config("text", model), {**TASK, **SIZES[model], "replicas": 1, **changes})
    return config, build_model(config).eval().requires_grad_(False)


def task(config: RunConfig) -> TextConfig:
    return config.task_as(TextConfig)


def rows(config: RunConfig) -> Iterator[Batch]:
    """Return the held-out rows in order, one per batch."""
    data = text_data(task(config))
    carries = task(config).batches == "contiguous"
    return data.held_out_contiguous(1, task(config).context) if carries else data.held_out_batches(rows=1)


@pytest.mark.parametrize(("model", "changes"), WAYS.items())
def test_at_learning_rate_zero_both_losses_are_the_static_loss(model: str, changes: dict[str, object]) -> None:
    config, frozen = untrained(model, **changes)
    result = evaluate_dynamically(frozen, task(config), 0.0)
    assert result.dynamic.losses == pytest.approx(result.static.losses, abs=1e-6)
    assert np.array_equal(result.dynamic.tokens, result.static.tokens)
    assert result.relative_change == 0 and not result.diverged
    assert result.tokens == result.held_out == text_data(task(config)).held_out_targets, "all of it: it is short"
    assert result.carries_state == (task(config).batches == "contiguous")
    expected = mean_loss(frozen, rows(config), carries=result.carries_state)
    assert result.static.losses[-1] == pytest.approx(float(expected), abs=1e-5)  # weighted by targets
    assert result.parameters == sum(p.numel() for p in frozen.parameters())


def test_segments_are_scored_before_their_update_and_the_model_is_unchanged() -> None:
    config, frozen = untrained("feedforward")
    before = {name: value.clone() for name, value in frozen.state_dict().items()}
    one, two = (evaluate_dynamically(frozen, task(config), 0.1) for _ in range(2))
    assert all(torch.equal(value, before[name]) for name, value in frozen.state_dict().items())
    assert not any(p.requires_grad or p.grad is not None for p in frozen.parameters())
    assert one.relative_change > 0 and np.array_equal(one.dynamic.losses, two.dynamic.losses)
    assert one.dynamic.losses[0] == one.static.losses[0] and one.dynamic.losses[1] != one.static.losses[1]
    assert np.array_equal(one.gradient_norms, two.gradient_norms)


@pytest.mark.parametrize(("scale", "long"), [(1.0, False), (30.0, True)])
def test_a_step_follows_the_clipped_gradient(scale: float, long: bool) -> None:
    config, frozen = untrained("rnn", corpus="repeats")
    frozen.get_parameter("readout.weight").mul_(scale)
    result = evaluate_dynamically(frozen, task(config), 0.01, most=1)
    (norm,) = result.gradient_norms
    assert (norm > dynamic_evaluation.CLIP) == long
    own = math.sqrt(sum(float(p.square().sum()) for p in frozen.parameters()))
    assert result.relative_change * own == pytest.approx(0.01 * min(norm, 1.0), rel=1e-3)


def test_diverged_losses_end_the_dynamic_evaluation_only() -> None:
    config, frozen = untrained("rnn")
    with pytest.raises(NeedsText):
        evaluate_dynamically(frozen, TextConfig(corpus="own", text="0" * 64, context=15), 0.3)
    result = evaluate_dynamically(frozen, task(config), 1e38)
    assert result.diverged and 1 <= len(result.dynamic.losses) < len(result.static.losses)
    assert np.isfinite(result.dynamic.losses).all() and np.isfinite(result.static.losses).all()
    assert len(result.gradient_norms) == len(result.dynamic.losses)


def test_long_texts_large_models_and_short_segments_read_fewer_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    config, frozen = untrained("gru", size=30_000, context=64)
    result = evaluate_dynamically(frozen, task(config), 0.0, most=1_000)
    assert result.tokens == 1_024 < result.held_out
    assert evaluate_statically(frozen, task(config), 1_024).tokens[-1] == 1_024, "no more than enough"
    parameters = sum(p.numel() for p in frozen.parameters())
    monkeypatch.setattr(dynamic_evaluation, "_MAX_WORK", 2_200 * parameters)
    assert evaluate_dynamically(frozen, task(config), 0.0).tokens == 2_240
    monkeypatch.setattr(dynamic_evaluation, "_MAX_WORK", 1)
    assert evaluate_dynamically(frozen, task(config), 0.0).tokens == 2_048, "some seconds are never nothing"
    monkeypatch.setattr(dynamic_evaluation, "_MAX_SEGMENTS", 10)
    assert evaluate_dynamically(frozen, task(config), 0.0).tokens == 640


@KINDS_OF_ROWS
def test_an_ngram_is_evaluated_on_the_same_text(changes: dict[str, object]) -> None:
    config, frozen = untrained("gru", **changes)
    data = text_data(task(config))
    counts = fitted_ngram(config)
    result = evaluate_statically(counts, task(config))
    assert np.array_equal(result.tokens, evaluate_dynamically(frozen, task(config), 0.0).static.tokens)
    if changes.get("batches") == "contiguous":  # its context is longer than a segment, so the text is one row
        row = next(iter(data.held_out_contiguous(1, data.held_out_targets)))
        expected = float(counts.surprisal(row.ids, row.targets).mean())
    else:
        expected = float(mean_loss(counts, rows(config)))
    assert result.losses[-1] == pytest.approx(expected, abs=1e-5)


def fitted_ngram(config: RunConfig, **changes: Any) -> Ngram:
    """Return a 3-gram of the training text of a configuration."""
    ngram = with_settings(default_config("text", "ngram"), {"n": 3, "replicas": 1, **changes})
    model = load_model(record_run(replace(ngram, task=config.task))).single_replica(0)
    assert isinstance(model, Ngram)
    return model


@KINDS_OF_ROWS
def test_the_cache_of_an_ngram_holds_all_text_read_so_far(changes: dict[str, object]) -> None:
    config, _ = untrained("gru", **changes)
    ngram = fitted_ngram(config, smoothing="modified_kneser_ney", cache=0.25)
    result = dynamic_evaluation.evaluate_ngram(ngram, task(config))
    assert ngram.cache == 0.25, "the model of the run is unchanged"
    data = text_data(task(config))
    length = data.held_out_targets
    carries = "batches" in changes
    (whole,) = data.held_out_contiguous(1, length) if carries else data.held_out_batches(rows=length)
    for weight, loss in ((0.0, result.static), (result.weight, result.cached)):
        expected = dynamic_evaluation.with_cache(ngram, weight).surprisal_reading_on(
            whole.ids, whole.targets, whole.mask
        )
        assert loss.losses[-1] == pytest.approx(float(expected.double().mean()), abs=1e-6)
        assert loss.tokens[-1] == length
    alone = dynamic_evaluation.with_cache(ngram, result.weight).surprisal(whole.ids, whole.targets)
    forgetful = alone.double().mean() if whole.mask is None else alone[whole.mask].double().mean()
    assert carries == (result.cached.losses[-1] == pytest.approx(float(forgetful), abs=1e-6))


@KINDS_OF_ROWS
def test_the_weight_of_the_cache_is_the_best_one_on_the_end_of_the_training_text(changes: dict[str, object]) -> None:
    config, _ = untrained("gru", **changes)
    data = text_data(task(config))
    ids, targets, mask = data.full_training_batch()
    if len(ids) > 1:
        first = round(0.9 * len(ids))
        fitted, end = (Batch(*(part[r] for part in (ids, targets, mask))) for r in (slice(first), slice(first, None)))
    else:
        first = round(0.9 * ids.shape[1])
        row = ids.shape[1] - first if changes else 8
        last = first + (ids.shape[1] - first) // row * row
        fitted = Batch(ids[:, :first], targets[:, :first])
        end = Batch(ids[:, first:last].reshape(-1, row), targets[:, first:last].reshape(-1, row))
    losses = {}
    for weight in dynamic_evaluation.CACHE_WEIGHTS:
        model = Ngram(NgramTextConfig(3, "stupid_backoff", weight), data.vocabulary, 8, torch.Generator())
        model.fit(*fitted)
        losses[weight] = float(model.surprisal_reading_on(*end).double().mean())
    ngram = fitted_ngram(config, smoothing="stupid_backoff")
    assert dynamic_evaluation.choose_cache_weight(ngram, task(config)) == min(losses, key=losses.__getitem__)
    assert list(losses) == sorted(losses) and max(losses) < 1
