"""Measured and predicted costs over sizes on logarithmic axes, and the parameter count of each part as bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
from jaxtyping import Float, Int
from numpy import ndarray

from explorer.charts.style import (
    INK,
    SOFT,
    annotation,
    css_colour,
    escape_markup,
    figure,
    line_end_labels,
    line_trace,
    line_with_dots,
    round_significant,
)

TRACES_PER_LINE = 2  # traces: the formula, what was measured
ROW_HEIGHT = 52  # pixels of a bar and its label


@dataclass(frozen=True)
class CostLine:
    """The costs of one architecture at every size; NaN where there is no number."""

    name: str  # short: it stands at the end of the line
    colour: str
    dash: str
    x: Int[ndarray, " sizes"]
    measured: Float[ndarray, " sizes"]
    formula: Float[ndarray, " sizes"]
    hollow: bool = False  # a second line of the same architecture


def cost_figure(lines: Sequence[CostLine], x_title: str, y_title: str, sizes: Sequence[int]) -> go.Figure:
    """Return a log-log figure: dots are measured costs, dotted lines the formulas. A power law is a straight line."""
    values = [float(v) for line in lines for v in (*line.measured, *line.formula) if math.isfinite(v) and v > 0]
    low, high = math.log10(min(values, default=1.0)) - 0.15, math.log10(max(values, default=10.0)) + 0.15
    names = line_end_labels([(line.name, line.colour, line.hollow, _end_height(line, low, high)) for line in lines])
    shown = sizes if len(sizes) <= 6 else sizes[(len(sizes) - 1) % 2 :: 2]  # few enough for a phone; includes the last
    return figure(
        *(trace for line in lines for trace in _traces(line)),
        xaxis={
            "type": "log",
            "range": [math.log10(sizes[0]) - 0.04, math.log10(sizes[-1]) + 0.04],
            "tickvals": list(shown),
            "ticktext": [f"{size:,}" for size in shown],
            "tickangle": 0,
            "title": {"text": x_title},
        },
        yaxis={"type": "log", "range": [low, high], **_power_ticks(low, high), "title": {"text": y_title}},
        annotations=names,
        margin={"l": 8, "r": 124, "t": 12, "b": 8},
    )


def _traces(line: CostLine) -> list[dict[str, Any]]:
    x = [int(size) for size in line.x]
    heights = [round_significant(v) for v in line.formula]
    formula = line_trace(x, heights, f"{line.name}, formula", line.colour, "1px,4px", 1.5)
    return [formula, line_with_dots(line.name, line.colour, line.dash, x, line.measured.tolist(), line.hollow)]


def _end_height(line: CostLine, low: float, high: float) -> float | None:
    """Return where a measured line ends, as a share of the height; None for a line without a number."""
    last = next((float(v) for v in line.measured[::-1] if math.isfinite(v) and v > 0), None)
    return None if last is None else (math.log10(last) - low) / (high - low)


def _power_ticks(low: float, high: float) -> dict[str, Any]:
    """Return axis ticks at whole powers of ten."""
    powers = range(math.ceil(low), math.floor(high) + 1)
    return {"tickvals": [10.0**power for power in powers], "ticktext": [f"{10.0**power:,.10g}" for power in powers]}


def parameter_bars(parts: Sequence[tuple[str, int, str]], colour: str) -> go.Figure:
    """Return a bar for each part of a model: its name, its parameter count and a description; the first part on top."""
    most = max((count for _, count, _ in parts), default=1)
    rows = list(range(len(parts)))
    labels = [
        annotation(
            f"<b>{escape_markup(name)}</b>  {count:,}  <span style='color:{SOFT}'>{escape_markup(description)}</span>",
            0.0,
            float(row),
            xref="paper",
            xanchor="left",
            yshift=17,
        )
        for row, (name, count, description) in zip(rows, parts, strict=True)
    ]
    bar = {
        "type": "bar",
        "orientation": "h",
        "x": [count for _, count, _ in parts],
        "y": rows,
        "width": 0.32,
        "marker": {"color": css_colour(colour)},
        "hoverinfo": "skip",
        "name": "parameters",
    }
    return figure(
        bar,
        xaxis={"range": [0, most], "visible": False},
        yaxis={"range": [len(parts) - 0.6, -0.85], "visible": False},
        annotations=labels,
        font={"color": INK},
        margin={"l": 2, "r": 2, "t": 4, "b": 4},
    )
