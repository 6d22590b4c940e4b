"""Sequences of random symbols for the recall task: what training draws, and what is asked."""

from __future__ import annotations

import torch
from jaxtyping import Int
from torch import Tensor

from explorer.seeds import generator
from explorer.tasks.recall import RecallConfig


def own_sequences(config: RecallConfig, seed: int) -> Int[Tensor, "sequences time"]:
    """The few sequences that a training on few sequences shows again and again."""
    drawn = generator(seed, f"recall/own/{config.length}")
    return torch.randint(config.symbols, (config.sequences, config.length), generator=drawn)


def batch(config: RecallConfig, seed: int, order: int, step: int, size: int) -> Int[Tensor, "batch time"]:
    """What one replica reads in one step: fresh sequences, or some of its own few, all of them where they fit."""
    drawn = generator(seed, f"recall/{order}/{step}")
    if not config.sequences:
        return torch.randint(config.symbols, (size, config.length), generator=drawn)
    own = own_sequences(config, seed)
    return own if size >= config.sequences else own[torch.randperm(config.sequences, generator=drawn)[:size]]


def fresh(config: RecallConfig, length: int, count: int, seed: int = 0) -> Int[Tensor, "count time"]:
    """Sequences that no training draws, the same for every model that is asked."""
    drawn = generator(seed, f"recall/asked/{length}")
    return torch.randint(config.symbols, (count, length), generator=drawn)
