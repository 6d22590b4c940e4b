"""Figures of the experiments with real models: what happens at which depth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from explorer.charts.style import (
    css_colour,
    figure,
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
