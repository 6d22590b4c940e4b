"""A waterfall of contributions: each bar starts where the previous one ends."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.charts.chart import Drawing
from explorer.charts.style import INK, MINUS, PLUS, RULE, SOFT, labelled_ticks, round_values, vertical_line
from explorer.number_format import format_signed


def waterfall(
    parts: Sequence[str],
    values: Float[ndarray, " parts"] | Sequence[float],
    bias: float | None = None,
    words: str = "",
) -> Drawing:
    """Return the contribution of each part, and their sum in the last row.

    bias: a contribution before all others
    words: the text alternative, if it is not made from the parts and their values
    """
    steps = np.array([*([] if bias is None else [bias]), *values], dtype=float)
    ends = steps.cumsum()
    starts = ends - steps
    names = [*([] if bias is None else ["bias"]), *parts]
    labels = [*names, "together"]
    rows = list(range(len(labels)))
    total = float(ends[-1])
    low, high = min(starts.min(), ends.min(), 0.0), max(starts.max(), ends.max(), 0.0)
    margin = 0.28 * max(high - low, 0.1)
    bars = {
        "type": "bar",
        "orientation": "h",
        "x": [*round_values(steps), round(total, 4)],
        "y": rows,
        "base": [*round_values(starts), 0.0],
        "marker": {
            "color": [PLUS if v > 0 else MINUS for v in steps] + ["rgba(0,0,0,0)"],
            "line": {"color": [RULE] * len(steps) + [INK], "width": [0] * len(steps) + [2]},
        },
        "name": "contribution",
        "hoverinfo": "skip",
    }
    right = [v >= 0 for v in [*steps, total]]
    edges = [max(pair) if r else min(pair) for r, *pair in zip(right, [*starts, 0.0], [*ends, total], strict=True)]
    numbers = {
        "type": "scatter",
        "mode": "text",
        "x": round_values(edges),
        "y": rows,
        "text": [*(f" {format_signed(float(v))} " for v in steps), f" <b>{format_signed(total)}</b> "],
        "textposition": ["middle right" if r else "middle left" for r in right],
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
    layout = {
        "xaxis": {"range": [low - margin, high + margin], "visible": False},
        "yaxis": {**labelled_ticks(labels), "range": [len(labels) - 0.5, -0.5], "showgrid": False},
        "shapes": [vertical_line(0.0, SOFT)],
        "bargap": 0.25,
    }
    spoken = ", ".join(f"{name} {format_signed(float(value))}" for name, value in zip(names, steps, strict=True))
    return Drawing(words or spoken, [bars, connectors, numbers], layout)
