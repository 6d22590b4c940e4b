"""softmax as vectors get wider: the weights of one draw as bars, and curves over d_k with a dot at the chosen width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from explorer.figures.style import INK, SOFT, across, figure, paint, rounded, short, spread, words

COLOUR = "--m-transformer"
PER_LINE = 3  # traces: low, high, line
_DASHES = ("6px,4px", "solid")  # as it is, divided
_LABELS = ("not divided", "divided")
_GAP = 0.12  # between the two, as a share of the height


@dataclass(frozen=True)
class Axis:
    """How high a quantity goes; `mark` is a height with its name."""

    span: tuple[float, float]
    ticks: tuple[float, ...]
    mark: tuple[float, str] | None = None
    log: bool = False


def bars(weights: Float[ndarray, "widths keys"], at: int) -> tuple[go.Figure, list[list[list[float]]]]:
    """The weights of one draw at a width, the strongest colour for the largest; and their heights at each width."""
    frames = [[rounded(row)] for row in weights]
    drawn = figure(
        {
            "type": "bar",
            "x": list(range(1, weights.shape[1] + 1)),
            "y": frames[at][0],
            "marker": {"color": paint("--amount-4")},
            "hoverinfo": "skip",
        },
        xaxis={"title": {"text": "key"}, "range": [0, weights.shape[1] + 1], "nticks": 4},
        yaxis={"range": [0, 1.02], "tickvals": [0, 0.5, 1]},
        bargap=0.15,
        margin={"l": 8, "r": 12, "t": 12, "b": 8},
    )
    return drawn, frames


def by_width(
    widths: Sequence[int], values: Float[ndarray, "kinds widths 3"], axis: Axis, at: int
) -> tuple[go.Figure, list[list[list[float | None]]]]:
    """Median and band over draws, as it is and divided; and the heights of every trace for each chosen width."""
    heights = np.log10(values) if axis.log else values
    low, high = (np.log10(axis.span) if axis.log else np.array(axis.span)).tolist()
    lines = [_line(widths, kind, dash) for kind, dash in zip(values, _DASHES, strict=True)]
    dots = [_dot(widths, kind, at) for kind in values]
    ends = spread([(float(kind[-1, 0]) - low) / (high - low) for kind in heights], _GAP)
    names = [
        words(label, 1.0, end, xref="paper", yref="paper", xanchor="left", xshift=8, yanchor="middle")
        for label, end in zip(_LABELS, ends, strict=True)
    ]
    shapes = []
    if axis.mark:
        shapes.append(across(axis.mark[0], SOFT, 1.5, "5px,4px"))
        place = axis.mark[0]
        names.append(words(axis.mark[1], 0.0, place, xref="paper", xanchor="left", xshift=4, yanchor="bottom"))
    drawn = figure(
        *(trace for line in lines for trace in line),
        *dots,
        xaxis={
            "type": "log",
            "range": [-0.05, float(np.log10(widths[-1])) + 0.05],
            "tickvals": [1, 4, 16, 64, 256, 1024],
            "ticktext": ["1", "4", "16", "64", "256", "1,024"],
            "tickangle": 0,
            "title": {"text": "d_k"},
        },
        yaxis={
            "type": "log" if axis.log else "linear",
            "range": [low, high],
            "tickvals": list(axis.ticks),
            "ticktext": [_tick(tick) for tick in axis.ticks],
        },
        shapes=shapes,
        annotations=names,
        margin={"l": 8, "r": 84, "t": 30, "b": 8},  # above: where one reads, said by the frame
    )
    fixed = [trace["y"] for line in lines for trace in line]
    return drawn, [[*fixed, *(_only(kind, stop) for kind in values)] for stop in range(len(widths))]


def _line(widths: Sequence[int], values: Float[ndarray, "widths 3"], dash: str) -> list[dict[str, Any]]:
    quiet = {"type": "scatter", "mode": "lines", "x": list(widths), "line": {"width": 0}, "hoverinfo": "skip"}
    middle, low, high = ([short(value) for value in column] for column in values.T)
    return [
        {**quiet, "y": low},
        {**quiet, "y": high, "fill": "tonexty", "fillcolor": paint(COLOUR, 0.22)},
        {**quiet, "y": middle, "line": {"width": 3, "color": paint(COLOUR), "dash": dash}},
    ]


def _dot(widths: Sequence[int], values: Float[ndarray, "widths 3"], at: int) -> dict[str, Any]:
    marker = {"size": 11, "color": INK}
    about = {"type": "scatter", "mode": "markers", "x": list(widths), "marker": marker, "hoverinfo": "skip"}
    return {**about, "y": _only(values, at)}


def _only(values: Float[ndarray, "widths 3"], at: int) -> list[float | None]:
    return [short(value) if i == at else None for i, value in enumerate(values[:, 0])]


def _tick(value: float) -> str:
    return f"{value:g}" if value == 0 or value >= 0.01 else f"10<sup>{round(np.log10(value))}</sup>".replace("-", "−")
