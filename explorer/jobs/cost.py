"""A placeholder, which the model of costs replaces."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.training.config import RunConfig


@dataclass(frozen=True)
class Cost:
    """What a training takes."""

    parameters: int
    peak_bytes: int
    seconds: float
    step_seconds: float


def estimate_cost(config: RunConfig) -> Cost:
    """Return the cost of a training."""
    import dataclasses

    from explorer.training.model_factory import build_model

    count = sum(p.numel() for p in build_model(dataclasses.replace(config, replicas=1)).parameters())
    return Cost(count, 16 * count * config.replicas, 1.0, 0.001)
