"""Several runs on the same axes: one line each, a band from the lowest to the highest seed, a label at its end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from explorer.figures.style import (
    annotation,
    css_colour,
    escape_markup,
    figure,
    horizontal_line,
    round_significant,
    spread_apart,
)

TRACES_PER_RUN = 3  # traces: lowest seed, highest seed, mean


@dataclass(frozen=True, eq=False)
class Line:
    """The curve of one run; its arrays are already thinned. Lines are equal only if they are the same object."""

    label: str  # short: it stands at the end of the line
    title: str
    colour: str
    dash: str
    x: Float[ndarray, " points"]
    mean: Float[ndarray, " points"]
    low: Float[ndarray, " points"]
    high: Float[ndarray, " points"]


@runtime_checkable
class Variant(Protocol):
    """How a model variant is drawn (`experiments.model_variant`)."""

    @property
    def label(self) -> str: ...
    @property
    def words(self) -> str: ...
    @property
    def colour(self) -> str: ...
    @property
    def dash(self) -> str: ...


def variant_line(
    variant: Variant,
    x: Float[ndarray, " points"],
    mean: Float[ndarray, " points"],
    low: Float[ndarray, " points"],
    high: Float[ndarray, " points"],
) -> Line:
    """Return the line of a model variant, with its label, words, colour and dash."""
    return Line(variant.label, variant.words, variant.colour, variant.dash, x, mean, low, high)


def comparison_figure(
    lines: Sequence[Line],
    x_title: str,
    y_range: tuple[float, float],
    *,
    log_x: bool = False,
    log_y: bool = False,
    x_end: float | None = None,
    reference: tuple[float, str, str] | None = None,
    right_margin: int = 44,
    label_gap: float = 0.07,
) -> go.Figure:
    """Return a figure of all runs. Ranges are in the units of the axis, also where it is logarithmic.

    lines: the runs, in the order of their traces
    x_title: the title of the x axis
    y_range: lowest and highest value of the y axis
    log_x, log_y: whether an axis is logarithmic
    x_end: a fixed end of the x axis, so that lines grow into it during training
    reference: height, text and colour of a horizontal reference line
    right_margin: pixels for the labels on the right
    label_gap: smallest distance between two labels, as a share of the height
    """
    lowest = min((float(line.x[line.x > 0].min()) for line in lines if (line.x > 0).any()), default=1.0)
    # On a logarithmic axis there is no zero: the first point stands half a step before the second.
    traces = [trace for line in lines for trace in _traces(line, lowest / 2 if log_x else None)]
    annotations = [
        _label(line, height)
        for line, height in zip(lines, _label_heights(lines, y_range, log_y, label_gap), strict=True)
        if len(line.x)
    ]
    shapes: list[dict[str, Any]] = []
    if reference:
        height, text, colour = reference
        shapes.append(horizontal_line(height, css_colour(colour), 2.0, "8px,3px,2px,3px"))
        y = _log(height) if log_y else height  # plotly takes the logarithm for an annotation, not for a shape
        label = annotation(escape_markup(text), 0.0, y, xref="paper", xanchor="left", yanchor="bottom", xshift=8)
        annotations.append(label | {"font": {"size": 14, "color": css_colour(colour)}})
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
            **({} if x_end is None else {"range": [0, x_end]}),
        },
        yaxis={**y_axis, "nticks": 5},
        margin={"l": 8, "r": right_margin, "t": 12, "b": 8},
        dragmode="zoom",
        annotations=annotations,
        shapes=shapes,
    )


def _traces(line: Line, x_min: float | None) -> list[dict[str, Any]]:
    """Return the traces of a run: its lowest seed, its highest seed, the mean. No x is below `x_min`."""
    x = [round_significant(float(v) if x_min is None else max(float(v), x_min)) for v in line.x]
    common = {"type": "scatter", "mode": "lines", "x": x, "hoverinfo": "skip"}
    edge = {
        **common,
        "line": {"width": 0, "color": css_colour(line.colour)},
        "fillcolor": css_colour(line.colour, 0.16),
    }
    mean = {"width": 3, "color": css_colour(line.colour), "dash": line.dash}
    name = f"{line.label} {line.title}"
    return [
        {**edge, "y": [round_significant(v) for v in line.low], "name": f"{name}, lowest seed"},
        {**edge, "y": [round_significant(v) for v in line.high], "name": f"{name}, highest seed", "fill": "tonexty"},
        {**common, "y": [round_significant(v) for v in line.mean], "name": f"{name}, mean", "line": mean},
    ]


def _label(line: Line, height: float) -> dict[str, Any]:
    """Return the label of a run to the right of the axes; `height` is a share of the figure's height."""
    place = {"xref": "paper", "xanchor": "left", "xshift": 14, "yref": "paper", "yanchor": "middle"}
    font = {"size": 15, "color": css_colour(line.colour)}
    return annotation(f"<b>{escape_markup(line.label)}</b>", 1.0, height, font=font, **place)


def _label_heights(lines: Sequence[Line], span: tuple[float, float], log: bool, gap: float) -> list[float]:
    """Return the heights of the labels (0 to 1): where the lines end, moved apart where they would overlap."""
    low, high = (_log(span[0]), _log(span[1])) if log else span
    ends = [next((float(v) for v in line.mean[::-1] if math.isfinite(v)), span[0]) for line in lines]
    heights = [((_log(end) if log else end) - low) / (high - low) for end in ends]
    return spread_apart(heights, gap)


def _log(value: float) -> float:
    return math.log10(max(value, 1e-12))
