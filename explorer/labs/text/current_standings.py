"""The standings of the displayed runs."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from explorer.labs.text.standings import Standing, compute_standing
from explorer.tasks.text.config import TextConfig
from explorer.ui.training.run_view import RunView


def current_standings(views: Mapping[str, RunView]) -> dict[str, Standing]:
    """Return the standing of every model that has been evaluated."""
    counts = views.get("ngram")
    curves = counts.curves if counts else None
    line = float(np.mean(curves.last("val_loss_part"))) if curves and len(curves.evaluated) else None
    standings = {
        model: compute_standing(view.curves or view.result, view.config, None if model == "ngram" else line)
        for model, view in views.items()
    }
    return {model: each for model, each in standings.items() if each}


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
