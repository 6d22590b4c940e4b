"""Numbers of bytes are tested exactly; seconds depend on the machine, so no test asserts on them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from explorer.catalogue import models_of
from explorer.inspection.language import context_cost as module
from explorer.inspection.language.context_cost import (
    LENGTHS,
    TOKENS,
    attention_weight_bytes,
    build_untrained,
    growth,
    growth_exponent,
    measure_context_costs,
    random_batch,
    step_saved_bytes,
)
from explorer.models.layers import Embedding, Linear
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.rows import text_data
from explorer.training.config import RunConfig, default_config, with_settings
from tests.inspection.language.test_context_use import SIZES

TRAINED = [name for name in models_of("text") if name != "ngram"]
TRANSFORMER: dict[str, object] = {"width": 16, "heads": 2, "layers": 2, "hidden": 24}


def run(model: str, **changes: Any) -> RunConfig:
    text = {"corpus": "brackets", "size": 3_000, "context": 11}
    return with_settings(default_config("text", model), {**text, **SIZES.get(model, {}), **changes})


def saved_bytes(config: RunConfig, length: int, explicit: bool = False) -> int:
    vocabulary = text_data(config.task_as(TextConfig)).vocabulary
    return step_saved_bytes(build_untrained(config, vocabulary), config, random_batch(vocabulary, length), explicit)


@pytest.mark.parametrize("model", TRAINED)
def test_saved_bytes_are_reproducible(model: str) -> None:
    config = run(model)
    vocabulary = text_data(config.task_as(TextConfig)).vocabulary
    model_stack, batch = build_untrained(config, vocabulary), random_batch(vocabulary, 64)
    first = step_saved_bytes(model_stack, config, batch)
    assert first == step_saved_bytes(model_stack, config, batch) == saved_bytes(config, 64) > 4 * TOKENS * vocabulary


def test_saved_bytes_by_hand() -> None:
    class Plain(module.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            draws = module.generator(0, "plain")
            self.embedding, self.readout = Embedding(11, 6, draws), Linear(6, 11, draws)

        def features(self, ids: Any) -> Any:
            return self.embedding(ids).tanh(), ()

    ids = targets = 8 * TOKENS
    tanh, logits = 4 * 6 * TOKENS, 4 * 11 * TOKENS  # each once, though the readout needs the tanh as well
    byte_count = step_saved_bytes(Plain(), run("rnn"), random_batch(11, 128))
    assert ids + targets + tanh + logits <= byte_count <= ids + targets + tanh + logits + 64


def test_only_explicit_attention_saves_its_weights() -> None:
    config = run("transformer", **TRANSFORMER, dropout=0.0)
    fused, explicit = ({n: saved_bytes(config, n, path) for n in LENGTHS} for path in (False, True))
    assert explicit[16] == fused[16], "so short a row is always computed explicitly"
    assert all(explicit[n] > fused[n] for n in LENGTHS if n > 64)
    assert fused[1_024] == pytest.approx(fused[32], rel=0.02), "level"
    for n in LENGTHS[1:-2]:  # a single row of 1,024 needs fewer copies
        assert explicit[2 * n] - explicit[n] == pytest.approx(attention_weight_bytes(config, n), rel=0.02)
    assert attention_weight_bytes(config, 128) == 2 * 2 * (TOKENS // 128) * 128 * 128 * 4


@pytest.mark.parametrize("model", ["feedforward", "rnn", "lstm", "gru"])
def test_other_models_save_the_same_bytes_for_the_same_tokens(model: str) -> None:
    byte_counts = [saved_bytes(run(model, dropout=0.0), n) for n in (64, 256, 1_024)]
    assert max(byte_counts) < 1.1 * min(byte_counts)


def test_saved_bytes_include_dropout_and_batch_norm() -> None:
    assert saved_bytes(run("feedforward", batch_norm=True, dropout=0.0), 64) > saved_bytes(
        run("feedforward", batch_norm=False, dropout=0.0), 64
    )
    assert saved_bytes(run("gru", dropout=0.5), 64) > saved_bytes(run("gru", dropout=0.0), 64)


@pytest.mark.parametrize("positions", ["learned", "sinusoidal", "rotary", "none"])
def test_every_kind_of_positions_covers_the_longest_row(positions: str) -> None:
    assert saved_bytes(run("transformer", **TRANSFORMER, positions=positions, replicas=3), 1_024) > 0


def test_every_trained_model_is_measured_and_the_transformer_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_REPEATS", 1)
    monkeypatch.setattr(module, "LENGTHS", (16, 64))
    monkeypatch.setattr(module, "_ORDER", (64, 16))
    costs = measure_context_costs({name: run(name) for name in models_of("text")}, seconds=600.0)
    assert [(price.model, price.explicit) for price in costs.costs] == [
        *((name, False) for name in TRAINED),
        ("transformer", True),
    ]
    for price in costs.costs:
        assert (price.seconds > 0).all() and price.seconds.shape == (2,)
        assert price.saved_bytes.tolist() == [saved_bytes(run(price.model), n, price.explicit) for n in (16, 64)]
    assert costs.seconds > 0


def test_measurements_beyond_the_time_or_memory_limit_are_nan(monkeypatch: pytest.MonkeyPatch) -> None:
    (nothing,) = measure_context_costs({"gru": run("gru")}, seconds=0.0).costs
    assert np.isnan(nothing.seconds).all() and np.isnan(nothing.saved_bytes).all()
    assert math.isnan(growth_exponent(nothing.seconds))
    config = run("transformer", **TRANSFORMER)
    monkeypatch.setattr(module, "_REPEATS", 1)
    monkeypatch.setattr(module, "MAX_WEIGHT_BYTES", attention_weight_bytes(config, 256))
    fused, explicit = measure_context_costs({"transformer": config}, seconds=600.0).costs
    assert np.isfinite(fused.seconds).all()
    assert np.isfinite(explicit.seconds).tolist() == [n <= 256 for n in LENGTHS]


def test_an_ngram_is_not_measured() -> None:
    assert measure_context_costs({"ngram": run("ngram")}).costs == ()


def test_the_growth_exponent_is_fitted_from_128_tokens_on() -> None:
    n = np.array(LENGTHS, float)
    assert growth_exponent(3 * n**1.5) == pytest.approx(1.5)
    assert growth_exponent(np.where(n < 128, 1e9, n)) == pytest.approx(1)
    assert growth_exponent(np.where(n == 512, np.nan, 2 * n**0.5)) == pytest.approx(0.5)
    assert math.isnan(growth_exponent(np.where(n > 128, np.nan, n)))


def test_growth_is_the_ratio_of_exact_values_and_follows_the_fit_of_others() -> None:
    n = np.array(LENGTHS, float)
    exact = growth(2 * n, exact=True)
    assert exact is not None
    assert (exact.longest, exact.exponent, exact.factor) == (1_024, pytest.approx(1), pytest.approx(8))
    noisy = np.where(n == 1_024, 9 * n**0.5, 3 * n**0.5)
    fitted = growth(noisy, exact=False)
    assert fitted is not None
    assert fitted.factor == pytest.approx(8**fitted.exponent)
    assert growth(np.where(n > 128, np.nan, n), exact=True) is None
