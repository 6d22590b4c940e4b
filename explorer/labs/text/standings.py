"""Summaries of finished language models: their losses, the step with the lowest loss, and the training text."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.catalogue import ModelRow, model_row
from explorer.inspection.compare import median_and_range
from explorer.labs.text.state import UNITS, Unit
from explorer.training.comparability import TOKEN_NOUNS
from explorer.training.config import RunConfig
from explorer.training.record import LOSS_RISE, Curves


@dataclass(frozen=True)
class Standing:
    """Summary of the curves of one model. Losses in nats a token, one value a seed unless noted."""

    row: ModelRow
    config: RunConfig
    held_out: Float[ndarray, " replicas"]  # at the end, over everything where that was asked
    train_loss: Float[ndarray, " replicas"]
    best_step: int  # where the median over the seeds was lowest
    best_loss: float
    final_loss: float  # the median at the last evaluation, over the same part of the text as `best_loss`
    train_improvement: (
        float  # by how much the median loss on training text has fallen since `best_step`; negative if it rose
    )
    training_tokens: float  # read by one seed

    @property
    def gap(self) -> float:
        """The held-out loss minus the training loss, medians over the seeds: the generalization gap."""
        return float(np.median(self.held_out) - np.median(self.train_loss))

    @property
    def has_risen(self) -> bool:
        """Whether the held-out loss has risen by more than `LOSS_RISE` since its best step."""
        return self.final_loss > self.best_loss + LOSS_RISE

    @property
    def overfits(self) -> bool:
        """Whether the held-out loss rises while the training loss still falls; if both rise, training is unstable."""
        return self.has_risen and self.train_improvement > 0


def compute_standing(curves: Curves | None, config: RunConfig) -> Standing | None:
    """Return the summary of the curves; None before the first evaluation."""
    if curves is None or not len(curves.evaluated):
        return None
    part, whole = curves.metrics["val_loss_part"], curves.metrics["val_loss"]
    held_out_medians = median_and_range(part)[:, 0]
    if np.isnan(held_out_medians).all():
        return None
    best = int(np.nanargmin(held_out_medians))
    train_medians = median_and_range(curves.metrics["train_loss"])[:, 0]
    return Standing(
        model_row(config.model),
        config,
        part[-1] if np.isnan(whole[-1]).any() else whole[-1],
        curves.metrics["train_loss"][-1],
        int(curves.evaluated[best]),
        float(held_out_medians[best]),
        float(held_out_medians[-1]),
        float(train_medians[best] - train_medians[-1]),
        float(curves.tokens[-1] - curves.tokens[0]),
    )


def unit_name(unit: Unit, tokenizer: str) -> str:
    """Return the name of a unit of the loss; the tokens are named, as in nats per character."""
    return f"nats per {TOKEN_NOUNS[tokenizer]}" if unit == "loss" else UNITS[unit]


def convert_loss(loss: Float[ndarray, "*shape"], unit: Unit, characters: float | None) -> Float[ndarray, "*shape"]:
    """Convert a loss in nats a token to perplexity, or to bits a character with `characters` per token."""
    if unit == "perplexity":
        return np.asarray(np.exp(np.minimum(loss, 50.0)))
    return np.asarray(loss / math.log(2) / (characters or math.nan)) if unit == "bits" else loss
