"""The position-rule task (`place` in stored runs): the label of a digit depends on its position.

At position t (counted from 0) the label is the digit plus t mod `period`; with a period of 2, the digit itself and its
successor alternate. The digits are random and carry no information about t, so a model has to count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from explorer.array_types import Int
from explorer.lazy_libraries import torch
from explorer.models.settings import setting
from explorer.seeds import generator
from explorer.tasks.sequence_labelling.config import PAD, LabellingConfig
from explorer.tasks.sequence_labelling.rows import Rows, score, unmasked_rows

VERSION = 1
DIGITS = "0123456789"
EVALUATION_LENGTH_FACTOR = 4  # length of the evaluated rows, as a multiple of the trained length


@dataclass(frozen=True)
class PositionRuleConfig(LabellingConfig):
    """The length of the rows, and the period of the rule."""

    length: int = setting(20, "Digits in a row.", 2, 100, label="Length of a row")
    period: int = setting(2, "Places after which the rule begins anew.", 2, 100, label="Period of the rule")
    vocabulary = (*DIGITS, PAD)
    labels = tuple(DIGITS)
    metrics = ("accuracy", "loss")

    @property
    def max_length(self) -> int:
        return EVALUATION_LENGTH_FACTOR * self.length

    @property
    def answers(self) -> dict[str, int]:
        return {"by_place": self.max_length}


EVALUATION_ROWS = 256


def batch(config: PositionRuleConfig, seed: int, order: int, step: int, size: int) -> Rows:
    """Return the training batch of one replica and step: new digits."""
    return _draw_rows(config, size, config.length, generator(seed, f"place/{order}/{step}"))


def target_labels(config: PositionRuleConfig, ids: Int[torch.Tensor, "batch time"]) -> Int[torch.Tensor, "batch time"]:
    """Return the correct label at every position."""
    return (ids + torch.arange(ids.shape[-1]) % config.period) % len(DIGITS)


def evaluation_rows(config: PositionRuleConfig, length: int, seed: int = 0) -> Rows:
    """Return rows for evaluation, drawn independently of training and equal for all models."""
    return _draw_rows(config, EVALUATION_ROWS, length, generator(seed, "place/asked"))


def _draw_rows(config: PositionRuleConfig, size: int, length: int, rng: torch.Generator) -> Rows:
    ids = torch.randint(len(DIGITS), (size, length), generator=rng)
    return unmasked_rows(ids, target_labels(config, ids))


def evaluate(config: PositionRuleConfig, model: torch.nn.Module, replicas: int, whole: bool) -> dict[str, torch.Tensor]:
    """Return accuracy and loss at the trained positions and, if `whole`, the accuracy at every evaluated position."""
    correct, losses = score(model, evaluation_rows(config, config.max_length if whole else config.length), replicas)
    by_position = correct.float().mean(dim=-2)
    return {
        "accuracy": by_position[:, : config.length].mean(dim=-1),
        "loss": losses[..., : config.length].mean(dim=(-2, -1)),
        "by_place": by_position if whole else torch.full((replicas, config.max_length), math.nan),
    }
