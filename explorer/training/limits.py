"""What one visitor may ask of this server: the ceilings of `environment.py`, each named where it refuses."""

from __future__ import annotations

from explorer.environment import environment
from explorer.errors import InvalidSetting
from explorer.training import estimate
from explorer.training.config import RunConfig


def check(config: RunConfig) -> RunConfig:
    """The same configuration, if this server trains it. Raises InvalidSetting that names the limit."""
    most = environment()
    model = config.model
    drawn = getattr(config.task, "train_size", 0)
    context, length = getattr(config.task, "context", 0), getattr(config.task, "length", 0)
    asked = (
        ("optimiser steps", config.steps, "most_steps", "fewer epochs, fewer sentences or larger batches"),
        ("sentences to see", config.epochs * drawn, "most_draws", "fewer epochs or fewer sentences"),
        ("tokens in a batch", config.batch_size * context, "most_tokens", "smaller batches or less context"),
        ("symbols in a sequence", length, "most_length", "shorter sequences"),
        ("numbers in a layer", max(getattr(model, n, 0) for n in ("width", "hidden")), "most_width", "narrower layers"),
        ("layers", getattr(model, "layers", 1), "most_layers", "fewer layers"),
        ("sentences in a batch", config.batch_size, "most_batch", "smaller batches"),
        ("seeds side by side", config.replicas, "most_replicas", "fewer seeds"),
    )
    for what, count, name, cure in asked:
        limit = getattr(most, name)
        if count > limit:
            taken = estimate.seconds(config) if name == "most_length" else 0.0
            about = f", about {estimate.duration(taken)} of training" if taken else ""
            raise InvalidSetting(
                f"These settings ask for {count:,} {what}{about}; this server allows {limit:,} "
                f"(LINEAGE_{name.upper()}). Take {cure}."
            )
    return config
