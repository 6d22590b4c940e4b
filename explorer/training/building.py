"""From a configuration to the model it names, freshly started: one, or a stack of replicas."""

from __future__ import annotations

from torch import nn

from explorer.models.layers import stack
from explorer.seeds import generator
from explorer.training.config import RunConfig
from explorer.training.lesson import lesson


def build(config: RunConfig, vocabulary: int | None = None) -> nn.Module:
    """The model with its starting weights; with several replicas each parameter has them as first axis.

    `vocabulary`: how many tokens it knows, where a stored run says so; otherwise the task's data does.
    """
    make = lesson(config.task).build
    replicas = [make(config, generator(seed, "start"), vocabulary) for seed in config.seeds]
    return replicas[0] if len(replicas) == 1 else stack(replicas)
