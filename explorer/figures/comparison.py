"""Several runs on the same axes: a line each, its spread over the seeds as a band, its number at its end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from explorer.figures.style import across, escape, figure, paint, short, spread, words

PER_RUN = 3  # traces: lowest seed, highest seed, mean


@dataclass(frozen=True)
class Line:
    """A run to draw; the arrays are thinned already."""

    label: str  # short: it stands at the end of the line
    title: str
    colour: str
    dash: str
    x: Float[ndarray, " points"]
    mean: Float[ndarray, " points"]
    low: Float[ndarray, " points"]
    high: Float[ndarray, " points"]


def comparison(
    lines: Sequence[Line],
    x_title: str,
    y_range: tuple[float, float],
    *,
    log_x: bool = False,
    log_y: bool = False,
    end: float | None = None,
    mark: tuple[float, str, str] | None = None,
    room: int = 44,
    apart: float = 0.07,
) -> go.Figure:
    """All runs in one frame. Ranges are in the units of the axis, also where it is logarithmic.

    `end`: where the axis ends from the start, so that lines grow into it. `mark`: a height that all are measured by,
    what is written on it, and its colour. `room`: pixels for the labels at the right. `apart`: two of
    them at least, as a share of the height.
    """
    traces: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    lowest = min((float(line.x[line.x > 0].min()) for line in lines if (line.x > 0).any()), default=1.0)
    for line in lines:
        # On a logarithmic axis there is no zero: the first moment stands half a step before the second.
        x = [short(max(float(v), lowest / 2) if log_x else float(v)) for v in line.x]
        common = {"type": "scatter", "mode": "lines", "x": x, "hoverinfo": "skip"}
        edge = {**common, "line": {"width": 0, "color": paint(line.colour)}, "fillcolor": paint(line.colour, 0.16)}
        mean = {"width": 3, "color": paint(line.colour), "dash": line.dash}
        name = f"{line.label} {line.title}"
        traces += [
            {**edge, "y": [short(v) for v in line.low], "name": f"{name}, lowest seed"},
            {**edge, "y": [short(v) for v in line.high], "name": f"{name}, highest seed", "fill": "tonexty"},
            {**common, "y": [short(v) for v in line.mean], "name": f"{name}, mean", "line": mean},
        ]
    for line, height in zip(lines, _apart(lines, y_range, log_y, apart), strict=True):
        if len(line.x):
            label = {"text": f"<b>{escape(line.label)}</b>", "x": 1.0, "xref": "paper", "xanchor": "left", "xshift": 14}
            label |= {"y": height, "yref": "paper", "yanchor": "middle", "showarrow": False}
            annotations.append({**label, "font": {"size": 15, "color": paint(line.colour)}})
    shapes: list[dict[str, Any]] = []
    if mark:
        height, text, colour = mark
        shapes.append(across(height, paint(colour), 2.0, "8px,3px,2px,3px"))
        at = _log(height) if log_y else height  # a plotly annotation wants the logarithm, a shape does not
        said = words(escape(text), 0.0, at, xref="paper", xanchor="left", yanchor="bottom", xshift=8)
        annotations.append(said | {"font": {"size": 14, "color": paint(colour)}})
    low, high = y_range
    y_axis: dict[str, Any] = {"range": [low, high]}
    if log_y:
        y_axis = {"type": "log", "range": [_log(low), _log(high)], "exponentformat": "power"}
    return figure(
        *traces,
        xaxis={
            "title": {"text": x_title},
            "nticks": 6,
            **({"type": "log"} if log_x else {"rangemode": "tozero"}),
            **({} if end is None else {"range": [0, end]}),
        },
        yaxis={**y_axis, "nticks": 5},
        margin={"l": 8, "r": room, "t": 12, "b": 8},
        dragmode="zoom",
        annotations=annotations,
        shapes=shapes,
    )


def _apart(lines: Sequence[Line], span: tuple[float, float], log: bool, gap: float) -> list[float]:
    """Heights of the labels, 0 to 1: where the lines end, pushed apart where they would cover each other."""
    low, high = (_log(span[0]), _log(span[1])) if log else span
    ends = [next((float(v) for v in line.mean[::-1] if math.isfinite(v)), span[0]) for line in lines]
    wanted = [((_log(end) if log else end) - low) / (high - low) for end in ends]
    return spread(wanted, gap)


def _log(value: float) -> float:
    return math.log10(max(value, 1e-12))
