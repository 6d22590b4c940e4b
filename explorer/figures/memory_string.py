"""How a string is learned, with memory and without, and the floor of whoever has none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from explorer.figures.comparison import Line
from explorer.figures.style import INK, across, escape, figure, paint, short, words

_GAP = 0.09  # of the height, between two labels
_ROOM = 84  # pixels for the labels at the right


def string_losses(lines: Sequence[Line], last: int, floor: tuple[float, str]) -> go.Figure:
    """The loss of each over the steps, on a logarithmic axis: mean, and lowest to highest seed as a band.

    `floor` is a height and what is written on it. Traces come as in `comparison`: low, high, mean of each line.
    """
    high = 1.05 * max((float(line.high.max()) for line in lines if len(line.x)), default=1.0)
    high = max(high, 1e-3)
    traces: list[dict[str, Any]] = []
    for line in lines:
        colour, x = paint(line.colour), [float(step) for step in line.x]
        common = {"type": "scatter", "mode": "lines", "x": x, "hoverinfo": "skip"}
        edge = {**common, "line": {"width": 0, "color": colour}, "fillcolor": paint(line.colour, 0.22)}
        mean = {"width": 3, "color": colour, "dash": line.dash}
        traces += [
            {**edge, "y": [short(v) for v in line.low], "name": f"{line.title}, lowest seed"},
            {**edge, "y": [short(v) for v in line.high], "name": f"{line.title}, highest seed", "fill": "tonexty"},
            {**common, "y": [short(v) for v in line.mean], "name": f"{line.title}, mean", "line": mean},
        ]
    labels = [
        words(f"<b>{escape(line.label)}</b>", 1.0, height, xref="paper", yref="paper", xanchor="left", xshift=8)
        | {"yanchor": "middle", "font": {"size": 15, "color": paint(line.colour)}}
        for line, height in zip(lines, _apart([float(line.mean[-1]) / high for line in lines]), strict=True)
    ]
    height, text = floor
    said = words(escape(text), 1.0, height, xref="paper", xanchor="right", yanchor="bottom", yshift=2)
    first = min((float(line.x[0]) for line in lines), default=1.0)
    ticks = [first, *(step for step in (10, 50, 200, 1000) if first < step <= last)]
    return figure(
        *traces,
        xaxis={
            "type": "log",
            "tickmode": "array",
            "tickvals": ticks,
            "ticktext": [f"{step:g}" for step in ticks],
            "title": {"text": "step"},
        },
        yaxis={"range": [-0.02 * high, high], "nticks": 4, "title": {"text": "nats a character"}},
        margin={"l": 8, "r": _ROOM, "t": 12, "b": 8},
        shapes=[across(height, INK, 1.5, "5px,4px")],
        annotations=[*labels, said],
    )


def _apart(heights: Sequence[float]) -> list[float]:
    """Heights of labels from 0 to 1, so far apart that none covers another: the lower one stays, the others rise."""
    placed: dict[int, float] = {}
    least = 0.02
    for i in sorted(range(len(heights)), key=lambda i: heights[i]):
        placed[i] = max(heights[i], least)
        least = placed[i] + _GAP
    return [placed[i] for i in range(len(heights))]
