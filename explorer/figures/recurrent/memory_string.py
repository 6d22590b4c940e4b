"""Learning curves on one string, and the loss floor of a model without memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from explorer.charts.style import (
    INK,
    annotation,
    band,
    css_colour,
    end_label,
    escape_markup,
    figure,
    horizontal_line,
    line_trace,
    round_significant,
)
from explorer.figures.comparison import Line

_RIGHT_MARGIN = 84  # pixels for the labels at the right


def string_loss_figure(lines: Sequence[Line], last: int, loss_floor: tuple[float, str]) -> go.Figure:
    """Return the loss of each model over the steps (logarithmic axis): median, and a band over the seeds.

    `loss_floor` is the height of a reference line and its text. Each line has three traces: low, high, median.
    """
    high = 1.05 * max((float(line.high.max()) for line in lines if len(line.x)), default=1.0)
    high = max(high, 1e-3)
    traces: list[dict[str, Any]] = []
    for line in lines:
        x = [float(step) for step in line.x]
        low, top, middle = ([round_significant(v) for v in values] for values in (line.low, line.high, line.mean))
        traces += [
            *band(x, low, top, (f"{line.title}, lowest seed", f"{line.title}, highest seed"), line.colour, 0.22),
            line_trace(x, middle, f"{line.title}, {line.statistic}", line.colour, line.dash),
        ]
    labels = [
        end_label(
            f"<b>{escape_markup(line.label)}</b>", 1.0, float(line.mean[-1]) / high, colour=css_colour(line.colour)
        )
        for line in lines
    ]
    height, text = loss_floor
    floor_label = annotation(
        escape_markup(text), 1.0, height, xref="paper", xanchor="right", yanchor="bottom", yshift=2
    )
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
        yaxis={"range": [-0.02 * high, high], "nticks": 4, "title": {"text": "nats per character"}},
        margin={"l": 8, "r": _RIGHT_MARGIN, "t": 12, "b": 8},
        shapes=[horizontal_line(height, INK, 1.5, "5px,4px")],
        annotations=[*labels, floor_label],
    )
