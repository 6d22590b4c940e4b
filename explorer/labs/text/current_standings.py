"""The standings of the runs that the page shows."""

from __future__ import annotations

import math
from collections.abc import Mapping

from explorer.labs.text.standings import Standing, compute_standing
from explorer.tasks.text.config import TextConfig
from explorer.ui.training.run_view import RunView


def current_standings(views: Mapping[str, RunView]) -> dict[str, Standing]:
    """Return the standing of every model whose training has ended; none of one that trains or was stopped."""
    standings = {model: compute_standing(view.result, view.config) for model, view in views.items() if not view.live}
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
