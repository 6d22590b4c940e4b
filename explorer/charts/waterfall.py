"""A sum as bars: each part starts where the one before it ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.charts.chart import Readout, Trace
from explorer.charts.style import (
    INK,
    MINUS,
    PLUS,
    RULE,
    SOFT,
    figure,
    labelled_ticks,
    round_values,
    vertical_line,
)
from explorer.lazy_libraries import go
from explorer.number_format import format_signed


@dataclass(frozen=True, eq=False)
class Waterfall:
    """Parts of a sum, the first on top, and the sum below them.

    parts, values: their names and what each adds
    bias: what is added before all parts, if there is something
    text: the text alternative
    """

    parts: Sequence[str]
    values: Float[ndarray, " parts"] | Sequence[float]
    text: str
    bias: float | None = None

    @property
    def readouts(self) -> list[Readout]:
        return []  # each bar has its number

    @property
    def _steps(self) -> Float[ndarray, " steps"]:
        return np.array([*([] if self.bias is None else [self.bias]), *self.values], dtype=float)

    def traces(self) -> list[Trace]:
        steps = self._steps
        ends = steps.cumsum()
        starts, total = [*(ends - steps), 0.0], float(ends[-1])
        rows = list(range(len(steps) + 1))
        bars = {
            "type": "bar",
            "orientation": "h",
            "x": [*round_values(steps), round(total, 4)],
            "y": rows,
            "base": round_values(starts),
            "marker": {
                "color": [PLUS if step > 0 else MINUS for step in steps] + ["rgba(0,0,0,0)"],
                "line": {"color": [RULE] * len(steps) + [INK], "width": [0] * len(steps) + [2]},
            },
            "name": "contribution",
            "hoverinfo": "skip",
        }
        right = [step >= 0 for step in [*steps, total]]
        edges = [max(pair) if on else min(pair) for on, *pair in zip(right, starts, [*ends, total], strict=True)]
        numbers = {
            "type": "scatter",
            "mode": "text",
            "x": round_values(edges),
            "y": rows,
            "text": [*(f" {format_signed(float(step))} " for step in steps), f" <b>{format_signed(total)}</b> "],
            "textposition": ["middle right" if on else "middle left" for on in right],
            "textfont": {"size": 14, "color": INK},
            "cliponaxis": False,
            "name": "value",
            "hoverinfo": "skip",
        }
        connectors = {
            "type": "scatter",
            "mode": "lines",
            "x": [x for end in round_values(ends) for x in (end, end, None)],
            "y": [y for row in range(len(ends)) for y in (row, row + 1, None)],
            "line": {"color": SOFT, "width": 1},
            "name": "so far",
            "hoverinfo": "skip",
        }
        return [bars, connectors, numbers]

    def figure(self) -> go.Figure:
        reached = [0.0, *self._steps.cumsum()]
        low, high = min(reached), max(reached)
        margin = 0.28 * max(high - low, 0.1)
        labels = [*([] if self.bias is None else ["bias"]), *self.parts, "together"]
        return figure(
            *self.traces(),
            xaxis={"range": [low - margin, high + margin], "visible": False},
            yaxis={**labelled_ticks(labels), "range": [len(labels) - 0.5, -0.5], "showgrid": False},
            shapes=[vertical_line(0.0, SOFT)],
            bargap=0.25,
        )
