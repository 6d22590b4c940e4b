"""Costs over sizes, measured and by formula, on logarithmic axes; and parameters, a bar a part."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
from jaxtyping import Float, Int
from numpy import ndarray

from explorer.figures.style import INK, SOFT, dotted, escape, figure, named_ends, paint, short, words

PER_LINE = 2  # traces: the formula, what was measured
ROW = 52  # px of a bar and its words
_GAP = 0.07  # between the names of two lines, as a share of the height


@dataclass(frozen=True)
class Costs:
    """One kind of part; NaN where there is no number."""

    name: str  # short: it stands at the end of the line
    colour: str
    dash: str
    x: Int[ndarray, " sizes"]
    measured: Float[ndarray, " sizes"]
    formula: Float[ndarray, " sizes"]
    hollow: bool = False  # a second line of the same architecture


def costs(lines: Sequence[Costs], x_title: str, y_title: str, sizes: Sequence[int]) -> go.Figure:
    """Dots are measured, dotted lines the formulas. Both axes grow by factors: a power is a straight line."""
    values = [float(v) for line in lines for v in (*line.measured, *line.formula) if math.isfinite(v) and v > 0]
    low, high = math.log10(min(values, default=1.0)) - 0.15, math.log10(max(values, default=10.0)) + 0.15
    names = named_ends([(line.name, line.colour, line.hollow, _end(line, low, high)) for line in lines], _GAP)
    shown = sizes if len(sizes) <= 6 else sizes[(len(sizes) - 1) % 2 :: 2]  # on a phone too, and the last among them
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
        yaxis={"type": "log", "range": [low, high], **_powers(low, high), "title": {"text": y_title}},
        annotations=names,
        margin={"l": 8, "r": 106, "t": 12, "b": 8},
    )


def _traces(line: Costs) -> list[dict[str, Any]]:
    x = [int(size) for size in line.x]
    formula = {
        "type": "scatter",
        "mode": "lines",
        "x": x,
        "y": [short(v) for v in line.formula],
        "line": {"width": 1.5, "color": paint(line.colour), "dash": "1px,4px"},
        "hoverinfo": "skip",
        "name": f"{line.name}, formula",
    }
    return [formula, dotted(line.name, line.colour, line.dash, x, line.measured.tolist(), line.hollow)]


def _end(line: Costs, low: float, high: float) -> float | None:
    """Where a measured line ends, as a share of the height; None for a line without a number."""
    last = next((float(v) for v in line.measured[::-1] if math.isfinite(v) and v > 0), None)
    return None if last is None else (math.log10(last) - low) / (high - low)


def _powers(low: float, high: float) -> dict[str, Any]:
    """Ticks at whole powers of ten."""
    powers = range(math.ceil(low), math.floor(high) + 1)
    return {"tickvals": [10.0**power for power in powers], "ticktext": [f"{10.0**power:,.10g}" for power in powers]}


def bars(parts: Sequence[tuple[str, int, str]], colour: str) -> go.Figure:
    """Parameters of each part: its name, how many, and the words that stand beside; the first part stands on top."""
    most = max((count for _, count, _ in parts), default=1)
    places = list(range(len(parts)))
    labels = [
        words(
            f"<b>{escape(name)}</b>  {count:,}  <span style='color:{SOFT}'>{escape(said)}</span>",
            0.0,
            float(place),
            xref="paper",
            xanchor="left",
            yshift=17,
        )
        for place, (name, count, said) in zip(places, parts, strict=True)
    ]
    bar = {
        "type": "bar",
        "orientation": "h",
        "x": [count for _, count, _ in parts],
        "y": places,
        "width": 0.32,
        "marker": {"color": paint(colour)},
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
