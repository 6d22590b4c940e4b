"""Low learning curves."""

from __future__ import annotations

import math
from collections.abc import Sequence

import plotly.graph_objects as go

from explorer.charts.style import power_of_ten
from explorer.figures.comparison import Line, comparison_figure


def low_comparison_figure(
    lines: Sequence[Line], x_title: str, span: tuple[float, float], x_end: float, log_y: bool = False
) -> go.Figure:
    """Return learning curves as on the Compare page, for a low frame.

    A logarithmic axis has room for only a few numbers there.
    """
    chart = comparison_figure(lines, x_title, span, log_y=log_y, x_end=x_end, right_margin=52)
    chart.layout.xaxis.update(nticks=4, tickangle=0)  # fits half the width of a phone
    if log_y:
        heights = log_ticks(*span)
        chart.layout.yaxis.update(
            tickmode="array", tickvals=heights, ticktext=[_format_tick(height) for height in heights]
        )
    return chart


def log_ticks(low: float, high: float) -> list[float]:
    """Return about four ticks of a logarithmic axis: 1 and 3 times powers of ten, or every n-th power if it is long."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    few = math.log10(high / low) < 3
    every = max(1, round(math.log10(high / low) / 4))
    candidates = [first * 10.0**power for power in powers[::every] for first in ((1, 3) if few else (1,))]
    return [value for value in candidates if low <= value <= high]


def _format_tick(value: float) -> str:
    return f"{value:,g}" if 0.001 <= value < 100_000 else power_of_ten(round(math.log10(value)))
