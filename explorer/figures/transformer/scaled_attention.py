"""Softmax by vector width: attention weights of one sample as bars, and curves over d_k with a dot at one width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from explorer.charts.style import (
    INK,
    SOFT,
    css_colour,
    end_label,
    figure,
    horizontal_line,
    power_of_ten,
    round_significant,
    round_values,
)

COLOUR = "--m-transformer"
TRACES_PER_LINE = 3  # traces: low, high, line
_DASHES = ("6px,4px", "solid")  # not divided, divided by sqrt(d_k)
_LABELS = ("not divided", "divided")


@dataclass(frozen=True)
class Axis:
    """The y axis of a quantity; `reference` is the height of a dashed line and its name on the axis."""

    span: tuple[float, float]
    ticks: tuple[float, ...]
    reference: tuple[float, str] | None = None
    log: bool = False


def weight_bars(weights: Float[ndarray, "widths keys"], index: int) -> tuple[go.Figure, list[list[list[float]]]]:
    """Return the attention weights of one sample at a width as bars, and their heights at every width."""
    frames = [[round_values(row)] for row in weights]
    chart = figure(
        {
            "type": "bar",
            "x": list(range(1, weights.shape[1] + 1)),
            "y": frames[index][0],
            "marker": {"color": css_colour("--amount-4")},
            "hoverinfo": "skip",
        },
        xaxis={"title": {"text": "key"}, "range": [0, weights.shape[1] + 1], "nticks": 4},
        yaxis={"range": [0, 1.02], "tickvals": [0, 0.5, 1]},
        bargap=0.15,
        margin={"l": 8, "r": 12, "t": 12, "b": 8},
    )
    return chart, frames


def quantity_by_width(
    widths: Sequence[int], values: Float[ndarray, "kinds widths 3"], axis: Axis, index: int
) -> tuple[go.Figure, list[list[list[float | None]]]]:
    """Return median and band over samples, with and without division by sqrt(d_k), and the heights of every trace.

    `index` is the width that has a dot; the heights are given for each choice of it.
    """
    heights = np.log10(values) if axis.log else values
    low, high = (np.log10(axis.span) if axis.log else np.array(axis.span)).tolist()
    lines = [_line(widths, kind, dash) for kind, dash in zip(values, _DASHES, strict=True)]
    dots = [_dot(widths, kind, index) for kind in values]
    names = [
        end_label(label, 1.0, (float(kind[-1, 0]) - low) / (high - low), 14)
        for label, kind in zip(_LABELS, heights, strict=True)
    ]
    marks = [(tick, _tick(tick)) for tick in axis.ticks] + ([axis.reference] if axis.reference else [])
    chart = figure(
        *(trace for line in lines for trace in line),
        *dots,
        xaxis={
            "type": "log",
            "range": [-0.05, float(np.log10(widths[-1])) + 0.05],
            "tickvals": [1, 4, 16, 64, 256, 1024],
            "ticktext": ["1", "4", "16", "64", "256", "1,024"],
            "tickangle": 0,
            "title": {"text": "dₖ"},
        },
        yaxis={
            "type": "log" if axis.log else "linear",
            "range": [low, high],
            "tickvals": [value for value, _ in marks],
            "ticktext": [name for _, name in marks],
        },
        shapes=[horizontal_line(axis.reference[0], SOFT, 1.5, "5px,4px")] if axis.reference else [],
        annotations=names,
        margin={"l": 8, "r": 84, "t": 30, "b": 8},  # the frame writes the current width above
    )
    fixed = [trace["y"] for line in lines for trace in line]
    return chart, [[*fixed, *(_only_at(kind, stop) for kind in values)] for stop in range(len(widths))]


def _line(widths: Sequence[int], values: Float[ndarray, "widths 3"], dash: str) -> list[dict[str, Any]]:
    common = {"type": "scatter", "mode": "lines", "x": list(widths), "line": {"width": 0}, "hoverinfo": "skip"}
    middle, low, high = ([round_significant(value) for value in column] for column in values.T)
    return [
        {**common, "y": low},
        {**common, "y": high, "fill": "tonexty", "fillcolor": css_colour(COLOUR, 0.22)},
        {**common, "y": middle, "line": {"width": 3, "color": css_colour(COLOUR), "dash": dash}},
    ]


def _dot(widths: Sequence[int], values: Float[ndarray, "widths 3"], index: int) -> dict[str, Any]:
    marker = {"size": 11, "color": INK}
    common = {"type": "scatter", "mode": "markers", "x": list(widths), "marker": marker, "hoverinfo": "skip"}
    return {**common, "y": _only_at(values, index)}


def _only_at(values: Float[ndarray, "widths 3"], index: int) -> list[float | None]:
    return [round_significant(value) if i == index else None for i, value in enumerate(values[:, 0])]


def _tick(value: float) -> str:
    return f"{value:g}" if value == 0 or value >= 0.01 else power_of_ten(round(np.log10(value)))
