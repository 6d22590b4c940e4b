"""Checks a configuration against the limits of this server, which `environment.py` reads from the environment."""

from __future__ import annotations

from explorer.environment import environment
from explorer.errors import InvalidSetting
from explorer.jobs import estimate
from explorer.number_format import format_duration
from explorer.training.config import RunConfig


def check(config: RunConfig) -> RunConfig:
    """Return the configuration itself if this server trains it. Raises InvalidSetting, which names the limit."""
    limits = environment()
    model = config.model
    train_size = getattr(config.task, "train_size", 0)
    context, length = getattr(config.task, "context", 0), getattr(config.task, "length", 0)
    rows = (
        ("optimiser steps", config.steps, "most_steps", "fewer epochs, fewer sentences or larger batches"),
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
            seconds = estimate.estimate_seconds(config) if name == "most_length" else 0.0
            about = f", about {format_duration(seconds)} of training" if seconds else ""
            raise InvalidSetting(
                f"These settings ask for {count:,} {what}{about}; this server allows {limit:,} "
                f"(LINEAGE_{name.upper()}). Take {remedy}."
            )
    return config
