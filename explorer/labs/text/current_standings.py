"""The standings of the displayed runs."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from explorer.labs.text.standings import Standing, compute_standing
from explorer.tasks.text.config import TextConfig
from explorer.training.comparability import loss_context
from explorer.training.config import RunConfig
from explorer.training.record import Curves
from explorer.ui.training.run_view import RunView


def current_standings(views: Mapping[str, RunView]) -> dict[str, Standing]:
    """Return the standing of every model that is being trained and has been evaluated, or that is finished."""
    ngram = views.get("ngram")
    curves = live_or_final_curves(ngram) if ngram else None
    ngram_loss = float(np.mean(curves.last("val_loss_part"))) if curves and len(curves.evaluated) else None

    def comparable_loss(model: str, config: RunConfig) -> float | None:
        same = ngram is not None and model != "ngram" and loss_context(config) == loss_context(ngram.config)
        return ngram_loss if same else None

    standings = {
        model: compute_standing(live_or_final_curves(view), view.config, comparable_loss(model, view.config))
        for model, view in views.items()
    }
    return {model: each for model, each in standings.items() if each}


def live_or_final_curves(view: RunView) -> Curves | None:
    """Return the curves from which a standing is computed; none of a run that was stopped or has diverged."""
    return (view.curves if view.live else None) or view.result


def characters_per_token(views: Mapping[str, RunView], task: TextConfig) -> float | None:
    """Return characters per token of the held-out text, from a run that measured it; None without such a run."""
    if task.tokenizer == "char":
        return 1.0
    for view in views.values():
        if view.result and len(view.result.evaluated):
            loss, bits = (float(view.result.last(name)[0]) for name in ("val_loss", "bits_per_char"))
            if bits > 0 and math.isfinite(loss):
                return loss / math.log(2) / bits
    return None
