"""From a configuration to the model it names, freshly started: one, or a stack of replicas."""

from __future__ import annotations

from importlib import import_module

from torch import nn

from explorer.catalogue import model_row
from explorer.models.layers import stack
from explorer.tasks.negation import CLASSES, VOCABULARY
from explorer.training.config import RunConfig
from explorer.training.seeds import generator


def build(config: RunConfig) -> nn.Module:
    """The model with its starting weights; with several replicas each parameter has them as first axis."""
    module, _, name = model_row(config.model).place.partition(":")
    model_class = getattr(import_module(module), name)
    padding = VOCABULARY.id(VOCABULARY.padding)
    replicas: list[nn.Module] = [
        model_class(config.model, len(VOCABULARY.tokens), len(CLASSES), padding, generator(seed, "start"))
        for seed in config.seeds
    ]
    return replicas[0] if len(replicas) == 1 else stack(replicas)
