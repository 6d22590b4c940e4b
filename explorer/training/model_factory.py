"""Builds the initialized model of a configuration: a single one, or a stack of replicas."""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import replace
from functools import lru_cache

import torch
from torch import nn

from explorer.models.configs import NgramTextConfig
from explorer.models.layers import stack
from explorer.seeds import generator
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.rows import text_data
from explorer.training.config import RunConfig
from explorer.training.objective import objective_class


def build_model(config: RunConfig, vocabulary: int | None = None) -> nn.Module:
    """Return the initialized model of all replicas. `vocabulary`: if a stored run knows it, else data is read."""
    make = objective_class(config.task).build_model
    replicas = [make(config, generator(seed, "start"), vocabulary) for seed in config.seeds]
    return replicas[0] if len(replicas) == 1 else stack(replicas)


def build_empty_model(config: RunConfig, vocabulary: int | None = None) -> nn.Module:
    """Return the model of all replicas without values (meta device). Raises InvalidSetting if it is not allowed."""
    make = objective_class(config.task).build_model
    is_ngram = isinstance(config.model, NgramTextConfig)  # its tables are empty until it is fitted
    with nullcontext() if is_ngram else torch.device("meta"):
        model = make(config, generator(config.seed, "start"), vocabulary)
        return model if config.replicas == 1 else stack([model] * config.replicas)


@lru_cache(maxsize=1024)
def model_shapes(config: RunConfig, vocabulary: int | None = None) -> dict[str, tuple[tuple[int, ...], bool]]:
    """Return name, shape and whether it is learned of each weight of one replica. Raises InvalidSetting."""
    model = build_empty_model(replace(config, replicas=1), vocabulary)
    learned = {name for name, _ in model.named_parameters()}
    return {name: (tuple(value.shape), name in learned) for name, value in model.state_dict().items()}


def count_parameters(config: RunConfig) -> int:
    """Return the number of learnable parameters of one replica; the text of a language model is read for it."""
    vocabulary = None
    if isinstance(config.task, TextConfig):
        vocabulary = text_data(config.task).vocabulary
    return sum(math.prod(shape) for shape, learned in model_shapes(config, vocabulary).values() if learned)
