"""Figures of the experiments with real models: what happens at which depth, and the heads of all layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from explorer.charts.style import (
    css_colour,
    figure,
    heatmap,
    horizontal_line,
    line_end_labels,
    line_with_dots,
    round_significant,
)


@dataclass(frozen=True)
class DepthLine:
    """A line over the depths of a model, and the band around it."""

    name: str
    colour: str
    dash: str
    values: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


def by_depth(
    lines: Sequence[DepthLine],
    y_title: str,
    y_range: tuple[float, float],
    reference: float | None = None,
    powers: bool = False,
) -> go.Figure:
    """Return lines with bands over the depth; depth 0 is the embedding.

    reference: height of a horizontal line
    powers: whether the values are powers of ten, whose axis is labelled with the numbers
    """
    low, high = y_range
    depths = len(lines[0].values)
    ends = [(line.name, line.colour, False, (line.values[-1] - low) / (high - low)) for line in lines]
    return figure(
        *(trace for line in lines for trace in _traces(line)),
        xaxis={"range": [-0.2, depths - 0.7], "nticks": 8, "title": {"text": "layers that were computed"}},
        yaxis={"range": [low, high], "nticks": 5, "title": {"text": y_title}, **(_powers(high) if powers else {})},
        annotations=line_end_labels(ends),
        shapes=[] if reference is None else [horizontal_line(reference, css_colour("--soft"), 1.5, "4px,4px")],
        margin={"l": 8, "r": 112, "t": 12, "b": 8},
    )


def _powers(highest: float) -> dict[str, object]:
    """Return the ticks of an axis of powers of ten, from 1 on."""
    powers = range(0, int(highest) + 1)
    return {"tickvals": list(powers), "ticktext": [f"{10**power:,}" for power in powers]}


def _traces(line: DepthLine) -> list[dict[str, object]]:
    x = list(range(len(line.values)))
    common = {"type": "scatter", "x": x, "hoverinfo": "skip", "mode": "lines", "line": {"width": 0}}
    return [
        {**common, "y": [round_significant(v) for v in line.low], "name": f"{line.name}, low"},
        {
            **common,
            "y": [round_significant(v) for v in line.high],
            "name": f"{line.name}, high",
            "fill": "tonexty",
            "fillcolor": css_colour(line.colour, 0.18),
        },
        line_with_dots(line.name, line.colour, line.dash, x, line.values),
    ]


def heads_by_layer(shares: Float[ndarray, "layers heads"], name: str) -> go.Figure:
    """Return a heat map of a share from 0 to 1 for every head: columns are layers, rows are heads."""
    layers, heads = shares.shape
    step = max(1, layers // 10)
    return figure(
        {**heatmap(shares.T, name), "hoverinfo": "skip", "texttemplate": "", "xgap": 1, "ygap": 1},
        xaxis={
            "tickvals": list(range(0, layers, step)),
            "ticktext": [str(layer + 1) for layer in range(0, layers, step)],
            "title": {"text": "layer"},
            "showgrid": False,
        },
        yaxis={
            "tickvals": list(range(heads)),
            "ticktext": [str(head + 1) for head in range(heads)],
            "title": {"text": "head"},
            "autorange": "reversed",
            "showgrid": False,
        },
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
    )
