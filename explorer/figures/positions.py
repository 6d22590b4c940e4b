"""How far apart two sentences stand, a dot for every seed; and how each model echoes, by length and by step."""

from __future__ import annotations

import math
from collections.abc import Sequence

import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from explorer.figures.comparison import Line, comparison
from explorer.figures.style import INK, PAGE, SOFT, figure, paint, ticks, upright, words

LOWEST, HIGHEST = 1e-9, 3.0
ROUNDING = 1e-5  # what 32-bit numbers make of sums in another order stays below


def order(rows: Sequence[str], hollow: Sequence[bool], apart: Float[ndarray, "rows seeds"], colour: str) -> go.Figure:
    """Differences as shares on a logarithmic axis, a row for each kind of model; what is exactly 0 stands at the left
    edge. Hollow diamonds for models with a mask."""
    traces = []
    for row, (name, open_, values) in enumerate(zip(rows, hollow, apart, strict=True)):
        dot = {"size": 11, "color": PAGE if open_ else paint(colour), "symbol": "diamond" if open_ else "circle"}
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": [float(f"{max(float(v), LOWEST):.4g}") for v in values],
                "y": [row] * len(values),
                "marker": {**dot, "line": {"width": 2, "color": paint(colour)}},
                "name": name,
                "hovertemplate": "%{x:.2g}<extra></extra>",
                "cliponaxis": False,
            }
        )
    marks = [10.0**power for power in range(-9, 1, 2)]
    edge = {"xanchor": "right", "xshift": -6, "yref": "paper", "yanchor": "bottom", "font": {"size": 14, "color": SOFT}}
    return figure(
        *traces,
        xaxis={
            "type": "log",
            "range": [-9.3, 0.5],
            "tickmode": "array",
            "tickvals": marks,
            "ticktext": ["0", *(f"{mark:g}" if mark > 1e-3 else f"10<sup>{i}</sup>" for i, mark in _powers(marks[1:]))],
            "title": {"text": "difference, as a share"},
        },
        yaxis={**ticks(rows), "range": [len(rows) - 0.5, -0.5]},
        shapes=[upright(ROUNDING, SOFT, 1.5, "3px,3px")],
        annotations=[words("rounding", math.log10(ROUNDING), 1.0, **edge)],
        margin={"l": 8, "r": 16, "t": 26, "b": 8},
    )


def _powers(marks: Sequence[float]) -> list[tuple[int, float]]:
    return [(round(2 * i - 7), mark) for i, mark in enumerate(marks)]


def by_length(line: Line, trained: int, longest: int) -> go.Figure:
    """Exact match of one model by the number of digits, on the frame that all share; an upright line behind the
    longest row that was trained."""
    drawn = comparison([line], "digits", (0.0, 1.04), end=float(longest), room=14)
    beyond = {"xanchor": "left", "yanchor": "top", "xshift": 14, "font": {"size": 14, "color": SOFT}}
    drawn.layout.annotations = [words("not trained", trained + 0.5, 1.0, **beyond)]
    drawn.layout.shapes = (upright(trained + 0.5, INK, 1.5, "3px,3px"),)
    drawn.layout.xaxis.update(nticks=5, tickangle=0)
    drawn.layout.yaxis.update(tickmode="array", tickvals=[0, 0.5, 1], ticktext=["0", "0.5", "1"])
    return drawn
