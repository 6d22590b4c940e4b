"""Sentences about the budgets of compared runs: how many examples each one reads in training."""

from __future__ import annotations

from collections.abc import Mapping

from explorer.models.configs import NgramTextConfig
from explorer.tasks.text.config import TextConfig
from explorer.training.config import RunConfig
from explorer.ui.wording import join_words


def examples_read(config: RunConfig) -> int:
    """Return how many examples one seed of a run reads in training: steps times batch, on text counted in tokens."""
    if config.iterations:
        examples = config.steps * config.batch_size
    else:  # the last batch of an epoch may be smaller
        examples = config.epochs * int(getattr(config.task, "train_size", 0))
    return examples * (config.task.context if isinstance(config.task, TextConfig) else 1)


def budget_sentence(configs: Mapping[str, RunConfig]) -> str:
    """Return how the training budgets of compared runs differ; "" if they do not.

    configs: the runs by the names that they have in the sentence. A model that is fitted by counting has no steps.
    """
    trained = {name: config for name, config in configs.items() if not isinstance(config.model, NgramTextConfig)}
    names_by_budget: dict[tuple[int, int, int], list[str]] = {}
    for name, config in trained.items():
        budget = examples_read(config), config.steps, config.batch_size
        names_by_budget.setdefault(budget, []).append(name)
    if len({examples for examples, _, _ in names_by_budget}) < 2:
        return ""
    unit = "tokens" if all(isinstance(config.task, TextConfig) for config in trained.values()) else "examples"
    parts = [
        f"{examples:,} {unit} ({steps:,} steps of {batch:,}{' rows' * (unit == 'tokens')}) for {join_words(names)}"
        for (examples, steps, batch), names in sorted(names_by_budget.items())
    ]
    return f"The training budgets differ: {'; '.join(parts)}."


def learning_rates_sentence(configs: Mapping[str, RunConfig]) -> str:
    """Return which learning rate each of several compared runs uses, for comparisons without a search for the best."""
    trained = {name: config for name, config in configs.items() if not isinstance(config.model, NgramTextConfig)}
    names_by_rate: dict[float, list[str]] = {}
    for name, config in trained.items():
        names_by_rate.setdefault(config.optimiser.learning_rate, []).append(name)
    if not names_by_rate:
        return ""
    if len(names_by_rate) == 1:
        return f"Learning rate of all: {next(iter(names_by_rate)):g}, set by hand and not searched for each model."
    parts = [f"{rate:g} for {join_words(names)}" for rate, names in sorted(names_by_rate.items())]
    return f"Learning rates: {'; '.join(parts)}. They were set by hand, not by the same search for each model."
