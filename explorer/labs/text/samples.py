"""Texts that the models generated at each evaluation, under one slider."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from explorer.catalogue import ModelRow
from explorer.training.record import Curves

CAPTION = (
    "Each text is sampled token by token after a line break (where that is no token, after the first token, such as "
    "“!”), with the same random numbers at every evaluation, by the first seed. The loss is that on "
    "held-out text, in nats per token."
)


@dataclass(frozen=True)
class SampleTexts:
    """The generated texts of one model, from the first of its seeds."""

    name: str
    title: str
    colour: str  # a variable of base.css
    steps: Sequence[int]  # of its evaluations, ascending
    losses: Sequence[float]  # held out, nats a token; NaN where it was not asked
    texts: Sequence[str]
    counted: bool = False  # nothing is trained step by step: what it wrote stands from the start

    @staticmethod
    def from_curves(row: ModelRow, curves: Curves | None) -> SampleTexts:
        """Return the texts of a finished or running training; empty without curves."""
        if curves is None or not curves.metrics:
            return SampleTexts(row.name, row.title, row.colour, (), (), ())
        losses = [
            float(part[0] if math.isnan(whole[0]) else whole[0])
            for whole, part in zip(curves.metrics["val_loss"], curves.metrics["val_loss_part"], strict=True)
        ]
        texts = [texts[0] for texts in curves.samples]
        count = min(len(texts), len(losses))
        steps = curves.evaluated[:count].tolist()
        return SampleTexts(row.name, row.title, row.colour, steps, losses[:count], texts[:count], row.name == "ngram")


def samples_data(rows: Sequence[SampleTexts], file: str, live: bool) -> dict[str, object]:
    """Return the texts of all models, a row each, as the browser shows them; see `text_samples/view.js`."""
    return {
        "caption": CAPTION,
        "file": file,
        "live": live,
        "models": [
            {
                "name": row.name,
                "title": row.title,
                "colour": row.colour,
                "steps": list(row.steps),
                "losses": [round(float(loss), 4) if math.isfinite(loss) else None for loss in row.losses],
                "texts": list(row.texts),
                "counted": row.counted,
            }
            for row in rows
        ],
    }
