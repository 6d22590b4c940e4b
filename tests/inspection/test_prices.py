"""Bytes are exact and are held; seconds are only there: no test asserts on time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from explorer.catalogue import models_of
from explorer.inspection import prices as module
from explorer.inspection.prices import LENGTHS, TOKENS, fresh, kept_bytes, measured, rows, slope, weights_kept
from explorer.models.layers import Embedding, Linear
from explorer.tasks.text import TextConfig
from explorer.tasks.windows import text_data
from explorer.training.config import RunConfig, changed, default
from tests.inspection.test_reach import BRACKETS, SIZES

TRAINED = [name for name in models_of("text") if name != "ngram"]
TRANSFORMER: dict[str, object] = {"width": 16, "heads": 2, "layers": 2, "hidden": 24}


def run(model: str, **changes: Any) -> RunConfig:
    return changed(default("text", model), {**BRACKETS, **SIZES[model], **changes})


def kept(config: RunConfig, length: int, explicit: bool = False) -> int:
    vocabulary = text_data(config.on(TextConfig)).vocabulary
    return kept_bytes(fresh(config, vocabulary), config, rows(vocabulary, length), explicit)


@pytest.mark.parametrize("model", TRAINED)
def test_bytes_are_the_same_every_time(model: str) -> None:
    config = run(model)
    vocabulary = text_data(config.on(TextConfig)).vocabulary
    made, batch = fresh(config, vocabulary), rows(vocabulary, 64)
    first = kept_bytes(made, config, batch)
    assert first == kept_bytes(made, config, batch) == kept(config, 64) > 4 * TOKENS * vocabulary


def test_bytes_are_counted_by_hand() -> None:
    class Plain(module.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            draws = module.generator(0, "plain")
            self.embedding, self.readout = Embedding(11, 6, draws), Linear(6, 11, draws)

        def features(self, ids: Any) -> Any:
            return self.embedding(ids).tanh(), ()

    ids = targets = 8 * TOKENS
    tanh, logits = 4 * 6 * TOKENS, 4 * 11 * TOKENS  # each once, though the readout needs the tanh as well
    found = kept_bytes(Plain(), run("rnn"), rows(11, 128))
    assert ids + targets + tanh + logits <= found <= ids + targets + tanh + logits + 64


def test_the_fused_path_keeps_no_weights_and_the_explicit_one_keeps_them_all() -> None:
    config = run("transformer", **TRANSFORMER, dropout=0.0)
    fused, explicit = ({n: kept(config, n, path) for n in LENGTHS} for path in (False, True))
    assert explicit[16] == fused[16], "so short a row is always computed explicitly"
    assert all(explicit[n] > fused[n] for n in LENGTHS if n > 64)
    assert fused[1_024] == pytest.approx(fused[32], rel=0.02), "level"
    for n in LENGTHS[1:-2]:  # a single row of 1,024 needs fewer copies
        assert explicit[2 * n] - explicit[n] == pytest.approx(weights_kept(config, n), rel=0.02)
    assert weights_kept(config, 128) == 2 * 2 * (TOKENS // 128) * 128 * 128 * 4


@pytest.mark.parametrize("model", ["feedforward", "rnn", "lstm", "gru"])
def test_other_models_keep_the_same_for_the_same_tokens(model: str) -> None:
    found = [kept(run(model, dropout=0.0), n) for n in (64, 256, 1_024)]
    assert max(found) < 1.1 * min(found)


def test_dropout_and_batch_norm_are_weighed_as_in_training() -> None:
    assert kept(run("feedforward", batch_norm=True, dropout=0.0), 64) > kept(
        run("feedforward", batch_norm=False, dropout=0.0), 64
    )
    assert kept(run("gru", dropout=0.5), 64) > kept(run("gru", dropout=0.0), 64)


@pytest.mark.parametrize("positions", ["learned", "sinusoidal", "rotary", "none"])
def test_every_kind_of_position_reaches_as_far_as_the_longest_row(positions: str) -> None:
    assert kept(run("transformer", **TRANSFORMER, positions=positions, replicas=3), 1_024) > 0


def test_every_model_that_learns_is_measured_and_the_transformer_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_TURNS", 1)
    monkeypatch.setattr(module, "LENGTHS", (16, 64))
    monkeypatch.setattr(module, "_ORDER", (64, 16))
    found = measured({name: run(name) for name in models_of("text")}, seconds=600.0)
    assert [(price.model, price.explicit) for price in found.prices] == [
        *((name, False) for name in TRAINED),
        ("transformer", True),
    ]
    for price in found.prices:
        assert (price.seconds > 0).all() and price.seconds.shape == (2,)
        assert price.kept.tolist() == [kept(run(price.model), n, price.explicit) for n in (16, 64)]
    assert found.seconds > 0


def test_what_there_is_no_time_or_room_for_stays_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    (nothing,) = measured({"gru": run("gru")}, seconds=0.0).prices
    assert np.isnan(nothing.seconds).all() and np.isnan(nothing.kept).all()
    assert math.isnan(slope(nothing.seconds))
    config = run("transformer", **TRANSFORMER)
    monkeypatch.setattr(module, "_TURNS", 1)
    monkeypatch.setattr(module, "MOST_BYTES", weights_kept(config, 256))
    fused, explicit = measured({"transformer": config}, seconds=600.0).prices
    assert np.isfinite(fused.seconds).all()
    assert np.isfinite(explicit.seconds).tolist() == [n <= 256 for n in LENGTHS]


def test_counting_takes_no_steps() -> None:
    assert measured({"ngram": run("ngram")}).prices == ()


def test_a_slope_is_the_power_from_128_tokens_on() -> None:
    n = np.array(LENGTHS, float)
    assert slope(3 * n**1.5) == pytest.approx(1.5)
    assert slope(np.where(n < 128, 1e9, n)) == pytest.approx(1)
    assert slope(np.where(n == 512, np.nan, 2 * n**0.5)) == pytest.approx(0.5)
    assert math.isnan(slope(np.where(n > 128, np.nan, n)))
