"""Use and cost of context. Bytes are tested exactly; seconds depend on the machine, so no test asserts on them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from explorer.errors import TextError
from explorer.inspection.language import context_cost as module
from explorer.inspection.language.context_use import ContextUse, measure_context_use
from explorer.inspection.language.perplexity import held_out_tokens
from explorer.models.kneser_ney import Ngram
from explorer.models.layers import Embedding, Linear
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.rows import text_data
from explorer.training.config import RunConfig, default_config, with_settings
from explorer.training.model_factory import build_model

SIZES: dict[str, dict[str, object]] = {  # a model that is not named here has its default sizes
    "ngram": {"n": 3},
    "feedforward": {"width": 4, "hidden": 9, "window": 3},
    "gru": {"width": 4, "hidden": 9},
    "transformer": {"width": 8, "heads": 2, "layers": 1, "hidden": 12, "model.start": "usual"},
}


def run(model: str, **changes: object) -> RunConfig:
    text = {"corpus": "brackets", "size": 2_000, "context": 11}
    return with_settings(default_config("text", model), {**text, **SIZES.get(model, {}), **changes})


def build_and_fit(config: RunConfig) -> nn.Module:
    """Return a model with non-uniform predictions; an n-gram is fitted first."""
    model = build_model(config)
    if isinstance(model, Ngram):
        model.fit(*text_data(config.task_as(TextConfig)).full_training_batch())
    return model.eval().requires_grad_(False)


@pytest.mark.parametrize("model", ["ngram", "feedforward", "transformer"])
def test_every_target_is_predicted_after_each_context(model: str) -> None:
    config = run(model)
    stack, task = build_and_fit(config), config.task_as(TextConfig)
    use = measure_context_use(stack, config)
    tokens = torch.as_tensor(held_out_tokens(task, text_data(task).held_out_targets).astype(np.int64))
    assert (use.contexts.tolist(), use.targets) == ([1, 2, 4, 8, 11], len(tokens) - 11)
    for column, context in enumerate(use.contexts.tolist()):
        windows = torch.stack([tokens[end - context : end] for end in range(11, len(tokens))])
        expected = F.cross_entropy(stack(windows)[:, -1], tokens[11:])
        assert use.losses[0, column] == pytest.approx(float(expected), rel=1e-4)
    assert use.gain == pytest.approx(use.losses[0] - use.losses[0, -1])
    assert use.gain_error[-1] == 0 and use.error.shape == (5,) and (use.error > 0).all()
    assert use.limit == {"ngram": 2}.get(model, getattr(config.model, "window", None))


def test_seeds_are_measured_separately_and_diverged_ones_are_left_out() -> None:
    config = run("gru", replicas=2)
    stack = build_and_fit(config)
    use = measure_context_use(stack, config)
    for seed in range(2):
        alone = replace(config, seed=seed, replicas=1)
        assert use.losses[seed] == pytest.approx(measure_context_use(build_and_fit(alone), alone).losses[0], rel=1e-4)
    assert use.median == pytest.approx(use.losses.mean(axis=0)) and use.diverged == 0
    stack.get_parameter("readout.bias")[0] = math.nan
    one = measure_context_use(stack, config)
    assert one.diverged == 1 and one.losses == pytest.approx(use.losses[1:])
    stack.get_parameter("readout.bias")[:] = math.nan
    use = measure_context_use(stack, config)
    assert (use.diverged, len(use.losses)) == (2, 0) and np.isnan(use.median).all()


def test_a_text_that_is_too_short_is_reported() -> None:
    config = run("gru", size=1_000, context=99)  # it has 100 held-out characters
    assert measure_context_use(build_and_fit(config), config).targets == 2
    with pytest.raises(TextError, match="shorter than a row of 100 tokens"):
        measure_context_use(build_and_fit(config), with_settings(config, {"context": 100}))


def make(losses: list[float], error: float = 0.01, limit: int | None = None) -> ContextUse:
    """Return the result of one seed; the gain is the difference to the longest context."""
    values, errors = np.array(losses), np.full(len(losses), error)
    return ContextUse(2 ** np.arange(len(losses)), 100, values[None], errors, values - values[-1], errors, limit)


def test_the_sufficient_context_is_the_smallest_without_a_measurable_loss() -> None:
    assert make([3.0, 2.0, 1.5, 1.4, 1.3]).sufficient_context == 16
    assert make([3.0, 2.0, 1.51, 1.5, 1.5]).sufficient_context == 4, "less than 2.5 standard errors"
    assert make([1.5] * 5).sufficient_context == 1
    assert make([3.0, 2.0, 1.5, 1.5], limit=3).sufficient_context == 3
    assert not make([3.0, 2.0, 1.5]).worsens_with_context
    assert make([3.0, 2.0, 2.4]).worsens_with_context
    assert not make([3.0, 2.0, 2.02]).worsens_with_context, "less than 2.5 standard errors"
    assert not make([3.0, 2.0, 2.004], error=0.0001).worsens_with_context, "negligible"
    assert make([3.0, 2.004, 2.0], error=0.0001).sufficient_context == 2
    assert make([3.0, 2.006, 2.0], error=0.0001).sufficient_context == 4


TRANSFORMER: dict[str, object] = {"width": 16, "heads": 2, "layers": 2, "hidden": 24}
N = np.array(module.LENGTHS, float)


def saved_bytes(config: RunConfig, length: int, explicit: bool = False) -> int:
    vocabulary = text_data(config.task_as(TextConfig)).vocabulary
    model, batch = module.build_untrained(config, vocabulary), module.random_batch(vocabulary, length)
    return module.step_saved_bytes(model, config, batch, explicit)


def test_saved_bytes_by_hand() -> None:
    class Plain(module.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            draws = module.generator(0, "plain")
            self.embedding, self.readout = Embedding(11, 6, draws), Linear(6, 11, draws)

        def features(self, ids: Any) -> Any:
            return self.embedding(ids).tanh(), ()

    ids = targets = 8 * module.TOKENS
    tanh, logits = 4 * 6 * module.TOKENS, 4 * 11 * module.TOKENS  # each once, though the readout needs the tanh as well
    batch = module.random_batch(11, 128)
    assert batch.ids.shape == batch.targets.shape == (8, 128) and (batch.ids[:, 1:] == batch.targets[:, :-1]).all()
    assert 0 <= module.step_saved_bytes(Plain(), run("rnn"), batch) - (ids + targets + tanh + logits) <= 64


def test_only_explicit_attention_saves_its_weights() -> None:
    config = run("transformer", **TRANSFORMER, dropout=0.0)
    fused, explicit = ({n: saved_bytes(config, n, path) for n in module.LENGTHS} for path in (False, True))
    assert explicit[16] == fused[16], "so short a row is always computed explicitly"
    assert all(explicit[n] > fused[n] for n in module.LENGTHS if n > 64)
    assert fused[1_024] == pytest.approx(fused[32], rel=0.02), "level"
    for n in module.LENGTHS[1:-2]:  # a single row of 1,024 needs fewer copies
        assert explicit[2 * n] - explicit[n] == pytest.approx(module.attention_weight_bytes(config, n), rel=0.02)
    assert module.attention_weight_bytes(config, 128) == 2 * 2 * (module.TOKENS // 128) * 128 * 128 * 4


def test_every_trained_model_is_measured_within_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    (nothing,) = module.measure_context_costs({"gru": run("gru")}, seconds=0.0).costs
    assert np.isnan(nothing.seconds).all() and np.isnan(nothing.saved_bytes).all()
    config = run("transformer", **TRANSFORMER)
    monkeypatch.setattr(module, "_REPEATS", 1)
    monkeypatch.setattr(module, "LENGTHS", (16, 64, 128))
    monkeypatch.setattr(module, "_ORDER", (64, 16))
    monkeypatch.setattr(module, "MAX_WEIGHT_BYTES", module.attention_weight_bytes(config, 16))
    runs = {"ngram": run("ngram"), "gru": run("gru"), "transformer": config}
    costs = module.measure_context_costs(runs, seconds=600.0)
    measured = [("gru", False, (16, 64)), ("transformer", False, (16, 64)), ("transformer", True, (16,))]
    assert [(cost.model, cost.explicit) for cost in costs.costs] == [each[:2] for each in measured]
    for cost, (_, explicit, lengths) in zip(costs.costs, measured, strict=True):
        model = run("gru") if cost.model == "gru" else config
        expected = [saved_bytes(model, n, explicit) if n in lengths else np.nan for n in (16, 64, 128)]
        np.testing.assert_array_equal(cost.saved_bytes, expected)
        assert (cost.seconds > 0).tolist() == [n in lengths for n in (16, 64, 128)]
    assert costs.seconds > 0


def test_growth_is_fitted_from_128_tokens_on() -> None:
    assert module.growth_exponent(3 * N**1.5) == pytest.approx(1.5)
    assert module.growth_exponent(np.where(N < 128, 1e9, N)) == pytest.approx(1)
    assert module.growth_exponent(np.where(N == 512, np.nan, 2 * N**0.5)) == pytest.approx(0.5)
    assert math.isnan(module.growth_exponent(np.where(N > 128, np.nan, N)))
    assert module.growth_exponent(np.where(N > 256, np.nan, N)) == pytest.approx(1)
    exact = module.growth(2 * N, exact=True)
    assert exact is not None
    assert (exact.longest, exact.exponent, exact.factor) == (1_024, pytest.approx(1), pytest.approx(8))
    fitted = module.growth(np.where(N == 1_024, 9 * N**0.5, 3 * N**0.5), exact=False)
    assert fitted is not None and fitted.factor == pytest.approx(8**fitted.exponent) and fitted.exponent > 0.6
    assert module.growth(np.where(N > 128, np.nan, N), exact=True) is None
    assert module.growth(np.where(N > 256, np.nan, N), exact=True).longest == 256  # type: ignore[union-attr]
