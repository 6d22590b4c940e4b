"""Rows of random symbols as tensors, and the losses of a model on them."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from explorer.seeds import generator
from explorer.tasks.sequence_labelling.random_symbols import RandomSymbolsConfig
from explorer.tasks.sequence_labelling.rows import Rows, prefix_losses, unmasked_rows

EVALUATION_ROWS = 256


def batch(config: RandomSymbolsConfig, seed: int, order: int, step: int, size: int) -> Rows:
    """Return the training batch of one replica and step: new symbols.

    `order` is the seed of the batches, `step` is counted from 0, `size` is the number of rows.
    """
    symbols = torch.randint(
        config.symbols, (size, config.length + 1), generator=generator(seed, f"noise/{order}/{step}")
    )
    return unmasked_rows(symbols[:, :-1], symbols[:, 1:])


def evaluation_rows(config: RandomSymbolsConfig, count: int, seed: int = 0) -> Rows:
    """Return rows for evaluation, drawn independently of training and equal for all models."""
    symbols = torch.randint(config.symbols, (count, config.length + 1), generator=generator(seed, "noise/asked"))
    return unmasked_rows(symbols[:, :-1], symbols[:, 1:])


def evaluate(config: RandomSymbolsConfig, model: nn.Module, replicas: int, whole: bool) -> dict[str, Tensor]:
    """Return the loss of whole rows, as in training, and of their prefixes, as in generation."""
    return prefix_losses(model, evaluation_rows(config, EVALUATION_ROWS), replicas)
