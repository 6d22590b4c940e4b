"""What the models wrote at each of their evaluations, under one slider; see `assets/samples.js`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from explorer.catalogue import ModelRow
from explorer.training.record import Curves
from explorer.ui.components import register

_samples = register("samples")
CAPTION = (
    "Each text begins after a line break, or, where that is no token, after the first token there is, such as “!”. It "
    "is drawn token by token from what the model predicts, with the same dice at every evaluation; of several seeds "
    "the first one writes. The loss is of the held-out text, in nats a token."
)


@dataclass(frozen=True)
class Written:
    """The texts of one model. The first of several seeds stands for all."""

    name: str
    title: str
    colour: str  # a variable of base.css
    steps: Sequence[int]  # of its evaluations, ascending
    losses: Sequence[float]  # held out, nats a token; NaN where it was not asked
    texts: Sequence[str]
    counted: bool = False  # nothing is trained step by step: what it wrote stands from the start

    @staticmethod
    def of(row: ModelRow, curves: Curves | None) -> Written:
        """From the curves of a training, over or under way; without any there is no text yet."""
        if curves is None or not curves.metrics:
            return Written(row.name, row.title, row.colour, (), (), ())
        losses = [
            float(part[0] if math.isnan(whole[0]) else whole[0])
            for whole, part in zip(curves.metrics["val_loss"], curves.metrics["val_loss_part"], strict=True)
        ]
        texts = [texts[0] for texts in curves.samples]
        known = min(len(texts), len(losses))
        steps = curves.evaluated[:known].tolist()
        return Written(row.name, row.title, row.colour, steps, losses[:known], texts[:known], row.name == "ngram")


def samples(rows: Sequence[Written], key: str, live: Mapping[str, object] | None = None) -> None:
    """The texts of all models, a row each. `live` is where they change, see `live.offer` and `pictured_samples`."""
    data = {**_pictured(rows), "caption": CAPTION, "file": key, "live": live}
    _samples(data=data, key=key, on_over_change=lambda: None)


def pictured_samples(rows: Sequence[Written]) -> dict[str, object]:
    """What changes of it while something trains, as its browser asks for it."""
    return {"samples": _pictured(rows)}


def _pictured(rows: Sequence[Written]) -> dict[str, object]:
    return {
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
        ]
    }
