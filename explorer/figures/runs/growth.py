"""Losses of several sizes or shares of a text on logarithmic axes: dots are means over seeds, bands their range."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from explorer.charts.style import band, figure, line_end_labels, line_with_dots, round_significant

TRACES_PER_LINE = 3  # traces: lowest seed, highest seed, mean
_TICK_STEPS = (1.0, 0.5, 0.2, 0.1, 0.05)  # of the losses on their axis: the largest that gives enough ticks
_LEAST_TICKS = 3


@dataclass(frozen=True, eq=False)
class GrowthLine:
    """The losses of one architecture, or of one size or share of it, at growing x."""

    name: str  # short: it stands at the end of the line
    colour: str
    dash: str
    x: Float[ndarray, " points"]
    mean: Float[ndarray, " points"]
    low: Float[ndarray, " points"]
    high: Float[ndarray, " points"]


def growth_figure(
    lines: Sequence[GrowthLine],
    x_title: str,
    x_range: tuple[float, float],
    x_ticks: Sequence[float],
    y_range: tuple[float, float],
) -> go.Figure:
    """Return a log-log figure of losses. Ranges are in the units of the axes, so that two figures can share them."""
    low, high = (math.log10(end) for end in y_range)
    names = line_end_labels(
        [(line.name, line.colour, False, (math.log10(line.mean[-1]) - low) / (high - low)) for line in lines]
    )
    ticks = _loss_ticks(*y_range)
    return figure(
        *(trace for line in lines for trace in _traces(line)),
        xaxis={
            "type": "log",
            "range": [math.log10(end) for end in x_range],
            "tickvals": list(x_ticks),
            "ticktext": [_short_number(tick) for tick in x_ticks],
            "tickangle": 0,
            "title": {"text": x_title},
        },
        yaxis={
            "type": "log",
            "range": [low, high],
            "tickvals": ticks,
            "ticktext": [f"{tick:g}" for tick in ticks],
            "title": {"text": "nats per character"},
        },
        annotations=names,
        margin={"l": 8, "r": 112, "t": 12, "b": 8},
    )


def _traces(line: GrowthLine) -> list[dict[str, Any]]:
    x = line.x.tolist()
    low, high = ([round_significant(v) for v in values] for values in (line.low, line.high))
    return [
        *band(x, low, high, (f"{line.name}, lowest seed", f"{line.name}, highest seed"), line.colour, 0.16),
        line_with_dots(f"{line.name}, mean", line.colour, line.dash, x, line.mean.tolist()),
    ]


def _loss_ticks(low: float, high: float) -> list[float]:
    """Return round losses within a range."""
    for step in _TICK_STEPS:
        ticks = [round(i * step, 2) for i in range(math.ceil(low / step), math.floor(high / step) + 1)]
        if len(ticks) >= _LEAST_TICKS:
            break
    return ticks


def _short_number(value: float) -> str:
    """Return 2.5k for 2,500 and 1M for a million, to fit under an axis."""
    if value >= 1e6:
        return f"{value / 1e6:.3g}M"
    return f"{value / 1e3:.3g}k" if value >= 1e3 else f"{value:g}"
