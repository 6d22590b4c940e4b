"""Texts that the models generated at each evaluation, under one slider."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from explorer.catalogue import ModelRow
from explorer.training.record import Curves

CAPTION = (
    "Each text is sampled token by token after a line break (where that is no token, after the first token, such as "
    "“!”), with the same random numbers at every evaluation, by the first seed. The loss is that on "
    "held-out text, in nats per token."
)


def samples_data(rows: Sequence[tuple[ModelRow, Curves | None]], file: str, live: bool) -> dict[str, object]:
    """Return the texts of all models, a row each, as the browser shows them; see `text_samples/view.js`."""
    models = [_model_samples(row, curves) for row, curves in rows]
    return {"caption": CAPTION, "file": file, "live": live, "models": models}


def _model_samples(row: ModelRow, curves: Curves | None) -> dict[str, object]:
    """Return the texts of the first seed of a model at its evaluations, with the held-out losses there."""
    texts, losses = [], []
    if curves is not None and curves.metrics:
        whole, part = (curves.metrics[name][:, 0] for name in ("val_loss", "val_loss_part"))
        losses = [
            round(float(loss), 4) if math.isfinite(loss) else None for loss in np.where(np.isnan(whole), part, whole)
        ]
        texts = [texts[0] for texts in curves.samples][: len(losses)]
    return {
        "name": row.name,
        "title": row.title,
        "colour": row.colour,
        "steps": curves.evaluated[: len(texts)].tolist() if curves else [],
        "losses": losses[: len(texts)],
        "texts": texts,
        "counted": row.name == "ngram",  # nothing is trained step by step
    }
