"""Teacher forcing compared with free running: accuracy and loss by target position."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from explorer.figures.comparison import Line, comparison_figure

TEACHER_FORCED_DASH, FREE_RUNNING_DASH = "solid", "2px,4px"  # the dashes of the two curves


def teacher_forcing_lines(
    teacher_forced: Float[ndarray, "replicas positions"],
    free_running: Float[ndarray, "replicas positions"],
    title: str,
    colour: str,
) -> tuple[Line, Line]:
    """Return the curves of teacher forcing and of free running: median over the seeds, lowest and highest seed."""
    x = np.arange(1, teacher_forced.shape[1] + 1, dtype=float)
    return (
        Line(
            "correct",
            f"{title}, after correct tokens",
            colour,
            TEACHER_FORCED_DASH,
            x,
            *_median_and_range(teacher_forced),
        ),
        Line("own", f"{title}, after its own output", colour, FREE_RUNNING_DASH, x, *_median_and_range(free_running)),
    )


def curves_by_position(lines: Sequence[Line], *, loss: bool) -> go.Figure:
    """Return both curves by target position; the y axis of an accuracy ends at 1, that of a loss is in nats."""
    positions = max(len(line.x) for line in lines)
    high = 1.1 * max(float(np.nanmax(line.high)) for line in lines) if loss else 1.04
    chart = comparison_figure(lines, "position in the target", (0.0, max(high, 0.01)), right_margin=52)
    chart.layout.xaxis.update(range=[0.5, positions + 0.5], rangemode="normal")
    if not loss:
        chart.layout.yaxis.update(tickmode="array", tickvals=[0, 0.5, 1], ticktext=["0", "0.5", "1"])
    return chart


def _median_and_range(values: Float[ndarray, "replicas positions"]) -> tuple[ndarray, ndarray, ndarray]:
    return np.median(values, axis=0), values.min(axis=0), values.max(axis=0)
