"""Rows for the task place as tensors, and at which places a model gives the right answer."""

from __future__ import annotations

import math

import torch
from jaxtyping import Int
from torch import Tensor, nn

from explorer.seeds import generator
from explorer.tasks.labelled import Rows, everywhere, marked
from explorer.tasks.place import FIGURES, PlaceConfig

FRESH_ROWS = 256


def batch(config: PlaceConfig, seed: int, order: int, step: int, size: int) -> Rows:
    """What one replica reads in one step: fresh digits."""
    drawn = torch.randint(len(FIGURES), (size, config.length), generator=generator(seed, f"place/{order}/{step}"))
    return everywhere(drawn, wanted_of(config, drawn))


def wanted_of(config: PlaceConfig, ids: Int[Tensor, "batch time"]) -> Int[Tensor, "batch time"]:
    """The right answer at every place."""
    return (ids + torch.arange(ids.shape[-1]) % config.period) % len(FIGURES)


def fresh(config: PlaceConfig, length: int, seed: int = 0) -> Rows:
    """Rows that no training draws, the same for every model that is asked."""
    ids = torch.randint(len(FIGURES), (FRESH_ROWS, length), generator=generator(seed, "place/asked"))
    return everywhere(ids, wanted_of(config, ids))


def examine(config: PlaceConfig, model: nn.Module, replicas: int, whole: bool) -> dict[str, Tensor]:
    """The share of right answers at the places of the training and, at the end, at every place far beyond them."""
    right, surprise = marked(model, fresh(config, config.places if whole else config.length), replicas)
    by_place = right.float().mean(dim=-2)
    return {
        "accuracy": by_place[:, : config.length].mean(dim=-1),
        "loss": surprise[..., : config.length].mean(dim=(-2, -1)),
        "by_place": by_place if whole else torch.full((replicas, config.places), math.nan),
    }
