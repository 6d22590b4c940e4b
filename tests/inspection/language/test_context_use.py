"""The loss of a language model by the number of tokens before the same targets."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from explorer.catalogue import models_of
from explorer.errors import TextError
from explorer.inspection.language.context_use import ContextUse, measure_context_use
from explorer.inspection.language.perplexity import held_out_tokens
from explorer.models.kneser_ney import Ngram
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.rows import text_data
from explorer.training.config import RunConfig, default_config, with_settings
from explorer.training.model_factory import build_model

SIZES: dict[str, dict[str, object]] = {  # a model that is not named here has its default sizes
    "ngram": {"n": 3},
    "feedforward": {"width": 4, "hidden": 9, "window": 3},
    "rnn": {"width": 4, "hidden": 9},
    "lstm": {"width": 4, "hidden": 9},
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


@pytest.mark.parametrize("model", models_of("text"))
def test_every_target_is_predicted_after_each_context(model: str) -> None:
    config = run(model)
    stack, task = build_and_fit(config), config.task_as(TextConfig)
    use = measure_context_use(stack, config)
    tokens = torch.as_tensor(held_out_tokens(task, text_data(task).held_out_targets).astype(np.int64))
    assert use.contexts.tolist() == [1, 2, 4, 8, 11]
    assert use.targets == len(tokens) - 11
    for column, context in enumerate(use.contexts.tolist()):
        expected = [
            -float(stack(tokens[None, end - context : end]).log_softmax(-1)[0, -1, tokens[end]])
            for end in range(11, len(tokens))
        ]
        assert use.losses[0, column] == pytest.approx(np.mean(expected), rel=1e-4)
    assert use.gain == pytest.approx(use.losses[0] - use.losses[0, -1])
    assert use.gain_error[-1] == 0
    seen = {"ngram": 2}.get(model, getattr(config.model, "window", None))
    assert use.limit == seen
    if seen:
        assert use.losses[0, use.contexts >= seen] == pytest.approx(use.losses[0, -1], rel=1e-6)


def test_losses_of_a_stack_equal_those_of_each_replica() -> None:
    config = run("gru", replicas=2)
    use = measure_context_use(build_and_fit(config), config)
    for seed in range(2):
        alone = replace(config, seed=seed, replicas=1)
        assert use.losses[seed] == pytest.approx(measure_context_use(build_and_fit(alone), alone).losses[0], rel=1e-4)


def test_a_text_that_is_too_short_is_reported() -> None:
    config = run("gru", size=1_000, context=200)
    with pytest.raises(TextError, match="shorter than a row"):
        measure_context_use(build_and_fit(config), config)


def test_seeds_that_diverged_are_left_out() -> None:
    config = run("gru", replicas=2)
    stack = build_and_fit(config)
    for weight in stack.parameters():
        weight.data[0] = math.nan
    use = measure_context_use(stack, config)
    assert (use.diverged, len(use.losses)) == (1, 1) and np.isfinite(use.median).all()
    for weight in stack.parameters():
        weight.data.fill_(math.nan)
    use = measure_context_use(stack, config)
    assert (use.diverged, len(use.losses)) == (2, 0) and np.isnan(use.median).all()


def make(losses: list[float], error: float = 0.01, limit: int | None = None) -> ContextUse:
    """Return the result of one seed; the gain is the difference to the longest context."""
    values = np.array(losses)
    contexts = 2 ** np.arange(len(values))
    errors = np.full(len(values), error)
    return ContextUse(contexts, 100, values[None], errors, values - values[-1], errors, limit)


def test_the_sufficient_context_is_the_smallest_without_a_measurable_loss() -> None:
    assert make([3.0, 2.0, 1.5, 1.5, 1.5]).sufficient_context == 4
    assert make([3.0, 2.0, 1.5, 1.4, 1.3]).sufficient_context == 16
    assert make([3.0, 2.0, 1.51, 1.5, 1.5]).sufficient_context == 4, "less than 2.5 standard errors"
    assert make([1.5] * 5).sufficient_context == 1
    assert make([3.0, 2.0, 1.5, 1.5], limit=3).sufficient_context == 3
    assert not make([3.0, 2.0, 1.5]).worsens_with_context
    assert make([3.0, 2.0, 2.4]).worsens_with_context
