"""Sequences of random symbols for the recall task, for training and for evaluation."""

from __future__ import annotations

import torch
from jaxtyping import Int
from torch import Tensor

from explorer.seeds import generator
from explorer.tasks.recall import RecallConfig


def fixed_sequences(config: RecallConfig, seed: int) -> Int[Tensor, "sequences time"]:
    """Return the fixed training sequences of a run with `sequences` > 0."""
    rng = generator(seed, f"recall/own/{config.length}")
    return torch.randint(config.symbols, (config.sequences, config.length), generator=rng)


def batch(config: RecallConfig, seed: int, order: int, step: int, size: int) -> Int[Tensor, "batch time"]:
    """Return the training batch of one replica and step: new sequences, or a sample of the fixed ones.

    config: the settings of the task
    seed: the seed of the replica
    order: the seed of the batch order
    step: the training step, counted from 0
    size: rows in the batch; all fixed sequences if there are no more than that
    """
    rng = generator(seed, f"recall/{order}/{step}")
    if not config.sequences:
        return torch.randint(config.symbols, (size, config.length), generator=rng)
    fixed = fixed_sequences(config, seed)
    return fixed if size >= config.sequences else fixed[torch.randperm(config.sequences, generator=rng)[:size]]


def evaluation_sequences(config: RecallConfig, length: int, count: int) -> Int[Tensor, "count time"]:
    """Return sequences for evaluation, drawn independently of training and equal for all models."""
    rng = generator(0, f"recall/asked/{length}")
    return torch.randint(config.symbols, (count, length), generator=rng)
