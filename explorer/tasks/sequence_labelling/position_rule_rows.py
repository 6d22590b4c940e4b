"""Rows of the position-rule task as tensors, and the accuracy of a model by position."""

from __future__ import annotations

import math

import torch
from jaxtyping import Int
from torch import Tensor, nn

from explorer.seeds import generator
from explorer.tasks.sequence_labelling.position_rule import DIGITS, PositionRuleConfig
from explorer.tasks.sequence_labelling.rows import Rows, score, unmasked_rows

EVALUATION_ROWS = 256


def batch(config: PositionRuleConfig, seed: int, order: int, step: int, size: int) -> Rows:
    """Return the training batch of one replica and step: new digits.

    `order` is the seed of the batches, `step` is counted from 0, `size` is the number of rows.
    """
    ids = torch.randint(len(DIGITS), (size, config.length), generator=generator(seed, f"place/{order}/{step}"))
    return unmasked_rows(ids, target_labels(config, ids))


def target_labels(config: PositionRuleConfig, ids: Int[Tensor, "batch time"]) -> Int[Tensor, "batch time"]:
    """Return the correct label at every position."""
    return (ids + torch.arange(ids.shape[-1]) % config.period) % len(DIGITS)


def evaluation_rows(config: PositionRuleConfig, length: int, seed: int = 0) -> Rows:
    """Return rows for evaluation, drawn independently of training and equal for all models."""
    ids = torch.randint(len(DIGITS), (EVALUATION_ROWS, length), generator=generator(seed, "place/asked"))
    return unmasked_rows(ids, target_labels(config, ids))


def evaluate(config: PositionRuleConfig, model: nn.Module, replicas: int, whole: bool) -> dict[str, Tensor]:
    """Return accuracy and loss at the trained positions and, if `whole`, the accuracy at every evaluated position."""
    correct, losses = score(model, evaluation_rows(config, config.max_length if whole else config.length), replicas)
    by_position = correct.float().mean(dim=-2)
    return {
        "accuracy": by_position[:, : config.length].mean(dim=-1),
        "loss": losses[..., : config.length].mean(dim=(-2, -1)),
        "by_place": by_position if whole else torch.full((replicas, config.max_length), math.nan),
    }
