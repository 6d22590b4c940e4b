"""Rows of noise as tensors, and what a model makes of them."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from explorer.seeds import generator
from explorer.tasks.labelled import Rows, everywhere, leaks
from explorer.tasks.noise import NoiseConfig

ASKED = 256  # fresh rows


def batch(config: NoiseConfig, seed: int, order: int, step: int, size: int) -> Rows:
    """What one replica reads in one step: fresh symbols, never the same again."""
    drawn = torch.randint(config.symbols, (size, config.length + 1), generator=generator(seed, f"noise/{order}/{step}"))
    return everywhere(drawn[:, :-1], drawn[:, 1:])


def fresh(config: NoiseConfig, count: int, seed: int = 0) -> Rows:
    """Rows that no training draws, the same for every model that is asked."""
    drawn = torch.randint(config.symbols, (count, config.length + 1), generator=generator(seed, "noise/asked"))
    return everywhere(drawn[:, :-1], drawn[:, 1:])


def examine(config: NoiseConfig, model: nn.Module, replicas: int, whole: bool) -> dict[str, Tensor]:
    """The loss when a row is read at once, as in training, and when it is read as in generation."""
    return leaks(model, fresh(config, ASKED), replicas)
