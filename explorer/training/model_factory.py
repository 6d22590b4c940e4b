"""Builds the initialized model of a configuration: a single one, or a stack of replicas."""

from __future__ import annotations

from functools import lru_cache

from torch import nn

from explorer.models.layers import stack
from explorer.seeds import generator
from explorer.training.config import RunConfig, with_settings
from explorer.training.objective import objective_class


def build_model(config: RunConfig, vocabulary: int | None = None) -> nn.Module:
    """Return the initialized model; with several replicas every parameter has a leading replica axis.

    `vocabulary`: the number of its tokens if a stored run knows it; otherwise the task's data is read.
    """
    make = objective_class(config.task).build_model
    replicas = [make(config, generator(seed, "start"), vocabulary) for seed in config.seeds]
    return replicas[0] if len(replicas) == 1 else stack(replicas)


@lru_cache(maxsize=512)
def count_parameters(config: RunConfig) -> int:
    """Return the number of learnable parameters of one replica."""
    return sum(p.numel() for p in build_model(with_settings(config, {"replicas": 1})).parameters())
