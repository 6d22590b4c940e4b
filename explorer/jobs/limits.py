"""Checks a configuration against the limits of this server, which `environment.py` reads from the environment.

The cost of a training (memory, time) is limited, and some of its numbers. The message of a refusal names the setting to
change, and the largest value of it with which the training is allowed.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from functools import partial

from explorer.catalogue import task_row
from explorer.environment import environment
from explorer.errors import InvalidSetting, LineageError
from explorer.jobs.cost import Cost, estimate_cost, expected_seconds
from explorer.models.configs import NgramTextConfig
from explorer.number_format import format_bytes, format_duration
from explorer.tasks.negation import NegationConfig
from explorer.tasks.own_sentences import negation_data
from explorer.training.config import RunConfig, default_config, setting_declaration, with_settings

# Settings whose lowering makes a training cheaper, in the order in which they are proposed, with their words.
REDUCIBLE = {
    "replicas": "seeds",
    "model.layers": "layers",
    "task.context": "tokens of context",
    "task.length": "symbols in a sequence",
    "model.hidden": "hidden units",
    "model.width": "numbers in a vector (width)",
    "batch_size": "rows in a batch",
    "snapshots": "snapshots",
    "task.vocabulary": "tokens in the vocabulary",
    "iterations": "steps",
    "epochs": "epochs",
}
_MOST_PROPOSALS = 2
_SMALL_REPLICAS = {"echo": 4}  # seeds of the default configuration that surely are allowed, where these are not eight


def check(config: RunConfig) -> RunConfig:
    """Return the configuration itself if this server trains it. Raises InvalidSetting, which names the limit."""
    check_size(config)
    if not _is_small(config):
        _check_time(config)
    return config


def describe_excess(config: RunConfig) -> str:
    """Return why this server does not train a configuration; empty if it does."""
    try:
        check(config)
    except LineageError as error:
        return str(error)
    return ""


def check_size(config: RunConfig) -> RunConfig:
    """Return the configuration itself if its model fits on this server, however long its training takes.

    An address is checked so, because it has to open on a slow machine as it does on a fast one. Memory is not checked
    while the file of own sentences is missing: its size is not known, and the page asks for it. Raises InvalidSetting.
    """
    check_numbers(config)
    if not _is_small(config) and not _lacks_sentences(config):
        _check_memory(config)
    return config


def check_numbers(config: RunConfig) -> RunConfig:
    """Return the configuration itself if none of its numbers exceeds a limit. Raises InvalidSetting."""
    limits = environment()
    model = config.model
    train_size = getattr(config.task, "train_size", 0)
    context, length = getattr(config.task, "context", 0), getattr(config.task, "length", 0)
    shorter = "fewer steps" if config.iterations else "fewer epochs, fewer sentences or larger batches"
    rows = (
        ("optimiser steps", config.steps, "most_steps", shorter),
        ("sentences to see", config.epochs * train_size, "most_draws", "fewer epochs or fewer sentences"),
        ("tokens in a batch", config.batch_size * context, "most_tokens", "smaller batches or less context"),
        ("symbols in a sequence", length, "most_length", "shorter sequences"),
        ("numbers in a layer", max(getattr(model, n, 0) for n in ("width", "hidden")), "most_width", "narrower layers"),
        ("layers", getattr(model, "layers", 1), "most_layers", "fewer layers"),
        ("sentences in a batch", config.batch_size, "most_batch", "smaller batches"),
        ("seeds side by side", config.replicas, "most_replicas", "fewer seeds"),
    )
    for what, count, name, remedy in rows:
        limit = getattr(limits, name)
        if count > limit:
            raise InvalidSetting(
                f"These settings ask for {count:,} {what}; this server allows {limit:,}. Take {remedy}."
            )
    return config


def _lacks_sentences(config: RunConfig) -> bool:
    """Whether a training reads own sentences that this visitor has not given; it cannot start without them."""
    if not (isinstance(config.task, NegationConfig) and config.own_text):
        return False
    try:
        negation_data(config.task)
    except LineageError:
        return True
    return False


def _is_small(config: RunConfig) -> bool:
    """Whether the default limits surely allow a configuration; then its cost, which needs torch, is not computed."""
    limits, fields = environment(), type(environment()).model_fields
    if any(
        getattr(limits, each) != fields[each].default for each in ("most_memory", "most_seconds", "most_step_seconds")
    ):
        return False
    task = task_row(config.task).name
    if task in ("negation", "pairs") and config.own_text:  # a file has more tokens and longer rows than the default
        return False
    most = dataclasses.replace(default_config(task, config.model_name), replicas=_SMALL_REPLICAS.get(task, 8))
    allowed = _sizes(most)
    return config.branch is None and all(value <= allowed[name] for name, value in _sizes(config).items())


def _sizes(config: RunConfig) -> dict[tuple[str, str], int]:
    """Return the whole numbers of a configuration that change its cost, by section and name; a seed does not."""
    return {
        (section, field.name): value
        for section, part in (("", config), ("task", config.task), ("model", config.model))
        for field in dataclasses.fields(part)
        if type(value := getattr(part, field.name)) is int and "seed" not in field.name and field.name != "order"
    }


def _check_memory(config: RunConfig) -> None:
    limit, needed = environment().memory_of_one_job, estimate_cost(config).peak_bytes
    if needed > limit:
        raise InvalidSetting(
            f"These settings need about {format_bytes(needed)} of memory; this server allows {format_bytes(limit)}. "
            f"{_describe_remedies(config, lambda each: each.peak_bytes <= limit)}"
        )


def _check_time(config: RunConfig) -> None:
    limits, cost = environment(), estimate_cost(config)
    if cost.seconds > limits.most_seconds:
        raise InvalidSetting(
            f"These settings need about {format_duration(cost.seconds)} of training; this server allows "
            f"{format_duration(limits.most_seconds)}. "
            f"{_describe_remedies(config, lambda each: each.seconds <= limits.most_seconds)}"
        )
    # Fitting an n-gram is one step, and takes seconds only for the longest texts.
    blocks = limits.executor == "here" and not isinstance(config.model, NgramTextConfig)
    limit = limits.most_step_seconds
    if blocks and not _is_prompt(cost, limit):
        remedies = _describe_remedies(config, lambda each: _is_prompt(each, limit))
        raise InvalidSetting(
            f"These settings need about {format_duration(cost.turn_seconds)} for one step or one batch of an "
            f"evaluation, during which no other training goes on; this server allows {limit:g} s for a step and "
            f"{2 * limit:g} s for a batch. {remedies}"
        )


def _is_prompt(cost: Cost, limit: float) -> bool:
    """Whether a training lets others have their turns soon; an evaluation is rare, so its batches may take longer."""
    return cost.step_seconds <= limit and cost.turn_seconds <= 2 * limit


def _describe_remedies(config: RunConfig, is_allowed: Callable[[Cost], bool]) -> str:
    """Say which settings, lowered alone, make a training allowed, and to which values."""

    def allows(name: str, value: int) -> bool:
        try:
            return is_allowed(estimate_cost(with_settings(config, {name: value})))
        except LineageError:  # a combination that does not exist; a smaller value may
            return False

    found = []
    for name, words in REDUCIBLE.items():
        given = read_setting(config, name)
        if given > 1 and (most := largest_value(given, partial(allows, name))):
            changed = read_setting(default_config(task_row(config.task).name, config.model_name), name) < given
            found.append((not changed, f"{format_size(most, words)} ({given:,} given)"))
    found.sort(key=lambda each: each[0])  # first what differs from the default
    chosen = [words for _, words in found[:_MOST_PROPOSALS]]
    return f"Take at most {', or at most '.join(chosen)}." if chosen else "Take a smaller model and fewer seeds."


def format_size(value: int, words: str) -> str:
    """Return a number with its noun, as in “1 seed”."""
    return f"{value:,} {words}" if value > 1 else "1 " + re.sub(r"s\b", "", words, count=1)


def read_setting(config: RunConfig, name: str) -> int:
    """Return a whole number among the settings, given by its section and name; 0 if there is none."""
    section, _, field = name.rpartition(".")
    value = getattr(getattr(config, section) if section else config, field, 0)
    return value if isinstance(value, int) else 0


def largest_value(given: int, allows: Callable[[int], bool]) -> int | None:
    """Return about the largest number below the given one that is allowed, or None; a smaller one always is, too."""
    low, high = 0, given  # allowed (or nothing), not allowed
    while high - low > max(1, low // 50):  # two digits are enough
        middle = (low + high) // 2 or 1
        if allows(middle):
            low = middle
        else:
            high = middle
    return low or None


def fit_to_seconds(config: RunConfig, seconds: float, min_evaluations: int = 0, on_cores: int = 1) -> RunConfig:
    """Return the configuration with as many steps as fit into about this time on so many cores, with evaluations.

    The estimate of the time decides (`cost.py`), so wall-clock time never enters a run. If the run is evaluated at all,
    then at least `min_evaluations` times. Raises InvalidSetting if the task is counted in epochs.
    """
    if not config.iterations:
        raise InvalidSetting("A time can be given where training counts in steps; this task counts in epochs.")
    if config.model_name == "ngram":
        return config

    def with_steps(steps: int) -> RunConfig:
        every = config.evaluate_every
        every = max(1, min(every, steps // min_evaluations)) if every and min_evaluations else every
        return with_settings(config, {"iterations": steps, "evaluate_every": every})

    most = setting_declaration(config, "iterations").metadata["high"]
    steps = largest_value(most + 1, lambda steps: expected_seconds(with_steps(steps), on_cores) <= seconds) or 1
    digits = max(0, len(str(steps)) - 2)  # the estimate is good to about two digits
    return with_steps(steps // 10**digits * 10**digits)
