"""How far each language model has come: in any unit, against the counts, against its own best."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.catalogue import ModelRow, model_row
from explorer.inspection.comparing import over_seeds
from explorer.tasks.text import TextConfig
from explorer.training.config import RunConfig
from explorer.training.record import Curves
from explorer.ui.runs import Lane
from explorer.ui.text_lab import Unit

RISE = 0.005  # nats by which a loss must have risen again before it is called overfitting


@dataclass(frozen=True)
class Standing:
    """What the curves of one model come to. Losses in nats a token, one value a seed unless said."""

    row: ModelRow
    config: RunConfig
    held_out: Float[ndarray, " replicas"]  # at the end, over everything where that was asked
    trained: Float[ndarray, " replicas"]
    best_step: int  # where the mean over the seeds was lowest
    best: float
    end: float  # the mean at the last evaluation, over the same part of the text as `best`
    learned: float  # by how much the mean loss over known text has fallen since `best_step`; negative if it rose
    passed: tuple[int, float] | None  # the step at which it was first below the counts, and seconds; None: never yet
    pace: float  # tokens a second, all seeds together

    @property
    def gap(self) -> float:
        """By how much the held-out text surprises it more than what it was trained on."""
        return float(np.mean(self.held_out) - np.mean(self.trained))

    @property
    def risen(self) -> bool:
        return self.end > self.best + RISE

    @property
    def overfits(self) -> bool:
        """Whether it loses on new text what it gains on known text; where both get worse, training is unstable."""
        return self.risen and self.learned > 0


def standing(curves: Curves | None, config: RunConfig, counts: float | None = None) -> Standing | None:
    """None until a model has been asked for the first time. `counts`: the loss of the n-gram over a part."""
    if curves is None or not len(curves.evaluated):
        return None
    part, whole = curves.metrics["val_loss_part"], curves.metrics["val_loss"]
    mean = over_seeds(part)[:, 0]
    if np.isnan(mean).all():
        return None
    best = int(np.nanargmin(mean))
    known = over_seeds(curves.metrics["train_loss"])[:, 0]
    below = np.flatnonzero(mean <= counts) if counts is not None else np.zeros(0, int)
    seconds = curves.along("seconds", curves.evaluated, 0)
    tokens = float(curves.tokens[-1] - curves.tokens[0]) * config.replicas
    took = float(curves.seconds[-1] - curves.seconds[0])
    return Standing(
        model_row(config.model),
        config,
        part[-1] if np.isnan(whole[-1]).any() else whole[-1],
        curves.metrics["train_loss"][-1],
        int(curves.evaluated[best]),
        float(mean[best]),
        float(mean[-1]),
        float(known[best] - known[-1]),
        (int(curves.evaluated[below[0]]), float(seconds[below[0]] - curves.seconds[0])) if len(below) else None,
        tokens / took if took else 0.0,
    )


def standings(lanes: Mapping[str, Lane]) -> dict[str, Standing]:
    """Of every model that has been asked."""
    counts = lanes.get("ngram")
    curves = counts.curves if counts else None
    line = float(np.mean(curves.last("val_loss_part"))) if curves and len(curves.evaluated) else None
    found = {
        model: standing(lane.curves or lane.result, lane.config, None if model == "ngram" else line)
        for model, lane in lanes.items()
    }
    return {model: each for model, each in found.items() if each}


def characters_per_token(lanes: Mapping[str, Lane], task: TextConfig) -> float | None:
    """Of the held-out text, as the run that knows it measured it; None where none does yet."""
    if task.tokenizer == "char":
        return 1.0
    for lane in lanes.values():
        if lane.result and len(lane.result.evaluated):
            loss, bits = (float(lane.result.last(name)[0]) for name in ("val_loss", "bits_per_char"))
            if bits > 0 and math.isfinite(loss):
                return loss / math.log(2) / bits
    return None


def in_unit(loss: Float[ndarray, "*shape"], unit: Unit, characters: float | None) -> Float[ndarray, "*shape"]:
    """A loss in nats a token as perplexity, or in bits a character of so many a token."""
    if unit == "perplexity":
        return np.asarray(np.exp(np.minimum(loss, 50.0)))
    return np.asarray(loss / math.log(2) / (characters or math.nan)) if unit == "bits" else loss


def steps_of(config: RunConfig) -> int:
    """Steps that a model is trained for; counting takes none."""
    return 0 if config.model_name == "ngram" else config.steps


def gradient_norm(curves: Curves) -> Float[ndarray, "steps replicas"]:
    return curves.signals.get("gradient_norm", np.zeros((0, curves.losses.shape[1])))
