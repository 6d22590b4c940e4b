"""How far each language model has come: its losses, its best step, and whether it beats the n-gram."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.catalogue import ModelRow, model_row
from explorer.inspection.compare import mean_and_range
from explorer.labs.text.state import Unit
from explorer.training.config import RunConfig
from explorer.training.record import Curves

RISE = 0.005  # nats by which a loss must have risen again before it is called overfitting


@dataclass(frozen=True)
class Standing:
    """Summary of the curves of one model. Losses in nats a token, one value a seed unless noted."""

    row: ModelRow
    config: RunConfig
    held_out: Float[ndarray, " replicas"]  # at the end, over everything where that was asked
    train_loss: Float[ndarray, " replicas"]
    best_step: int  # where the mean over the seeds was lowest
    best_loss: float
    final_loss: float  # the mean at the last evaluation, over the same part of the text as `best`
    train_improvement: (
        float  # by how much the mean loss over known text has fallen since `best_step`; negative if it rose
    )
    # The step at which it was first below the n-gram in the same context, and seconds; None: never, or no such n-gram.
    ngram_passed: tuple[int, float] | None
    tokens_per_second: float  # tokens a second, all seeds together

    @property
    def gap(self) -> float:
        """The held-out loss minus the training loss: the generalization gap."""
        return float(np.mean(self.held_out) - np.mean(self.train_loss))

    @property
    def has_risen(self) -> bool:
        """Whether the held-out loss has risen by more than `RISE` since its best step."""
        return self.final_loss > self.best_loss + RISE

    @property
    def overfits(self) -> bool:
        """Whether the held-out loss rises while the training loss still falls; if both rise, training is unstable."""
        return self.has_risen and self.train_improvement > 0


def compute_standing(curves: Curves | None, config: RunConfig, ngram_loss: float | None = None) -> Standing | None:
    """Return the summary of the curves; None before the first evaluation.

    `ngram_loss` is the loss of the n-gram on the same part of the held-out text in the same context.
    """
    if curves is None or not len(curves.evaluated):
        return None
    part, whole = curves.metrics["val_loss_part"], curves.metrics["val_loss"]
    held_out_means = mean_and_range(part)[:, 0]
    if np.isnan(held_out_means).all():
        return None
    best = int(np.nanargmin(held_out_means))
    train_means = mean_and_range(curves.metrics["train_loss"])[:, 0]
    below = np.flatnonzero(held_out_means <= ngram_loss) if ngram_loss is not None else np.zeros(0, int)
    seconds = curves.axis_values("seconds", curves.evaluated, 0)
    tokens = float(curves.tokens[-1] - curves.tokens[0]) * config.replicas
    took = float(curves.seconds[-1] - curves.seconds[0])
    return Standing(
        model_row(config.model),
        config,
        part[-1] if np.isnan(whole[-1]).any() else whole[-1],
        curves.metrics["train_loss"][-1],
        int(curves.evaluated[best]),
        float(held_out_means[best]),
        float(held_out_means[-1]),
        float(train_means[best] - train_means[-1]),
        (int(curves.evaluated[below[0]]), float(seconds[below[0]] - curves.seconds[0])) if len(below) else None,
        tokens / took if took else 0.0,
    )


def convert_loss(loss: Float[ndarray, "*shape"], unit: Unit, characters: float | None) -> Float[ndarray, "*shape"]:
    """Convert a loss in nats a token to perplexity, or to bits a character with `characters` per token."""
    if unit == "perplexity":
        return np.asarray(np.exp(np.minimum(loss, 50.0)))
    return np.asarray(loss / math.log(2) / (characters or math.nan)) if unit == "bits" else loss


def training_steps(config: RunConfig) -> int:
    """Return the number of training steps; 0 for an n-gram."""
    return 0 if config.model_name == "ngram" else config.steps


def gradient_norm(curves: Curves) -> Float[ndarray, "steps replicas"]:
    """Return the recorded gradient norm; empty if there is none."""
    return curves.signals.get("gradient_norm", np.zeros((0, curves.losses.shape[1])))
