"""Sentences about the budgets of compared runs: how many examples each one reads in training."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from explorer.models.configs import NgramTextConfig
from explorer.tasks.text.config import TextConfig
from explorer.training.config import RunConfig
from explorer.ui.wording import join_words

Value = TypeVar("Value")


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
    budgets = _names_by(configs, lambda config: (examples_read(config), config.steps, config.batch_size))
    if len({examples for examples, _, _ in budgets}) < 2:
        return ""
    is_text = all(isinstance(c.task, TextConfig) or isinstance(c.model, NgramTextConfig) for c in configs.values())
    unit, rows = ("tokens", " rows") if is_text else ("examples", "")
    parts = [
        f"{examples:,} {unit} ({steps:,} steps of {batch:,}{rows}) for {join_words(names)}"
        for (examples, steps, batch), names in budgets.items()
    ]
    return f"The training budgets differ: {'; '.join(parts)}."


def _names_by(configs: Mapping[str, RunConfig], value_of: Callable[[RunConfig], Value]) -> dict[Value, list[str]]:
    """Return the names of the trained runs by a value, in its order."""
    names: dict[Value, list[str]] = {}
    for name, config in configs.items():
        if not isinstance(config.model, NgramTextConfig):
            names.setdefault(value_of(config), []).append(name)
    return dict(sorted(names.items()))
