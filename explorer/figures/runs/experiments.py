"""Results of an experiment: the final values over one setting with a dot for every seed, and low learning curves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from explorer.charts.style import (
    PAGE,
    SOFT,
    annotation,
    css_colour,
    end_label,
    figure,
    horizontal_line,
    line_trace,
    power_of_ten,
    round_values,
)
from explorer.figures.comparison import Line, comparison_figure

_LINE_SHIFT = 0.16  # between lines that share a value, as a share of the distance between values


@dataclass(frozen=True)
class FinalValues:
    """The final values of one line, a row for each value of the setting.

    NaN where there is no run yet, infinity where a run diverged.
    """

    label: str  # stands at the end of the line
    title: str
    colour: str
    dash: str
    values: Float[ndarray, "values replicas"]


def final_values_figure(
    lines: Sequence[FinalValues],
    values: Sequence[str],
    axis: str,
    span: tuple[float, float],
    reference: tuple[float, str] | None = None,
) -> go.Figure:
    """Return all lines over the values of the setting. Values above the frame are written at its upper edge.

    lines: the final values, one entry a line
    values: the values of the setting, as tick labels
    axis: the title of the x axis
    span: lowest and highest value of the y axis
    reference: the height of a reference line and its text, drawn if it lies inside the frame
    """
    low, high = span
    traces: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    for index, line in enumerate(lines):
        positions = np.arange(len(values)) + _LINE_SHIFT * (index - (len(lines) - 1) / 2)
        traces += _traces(line, positions, high)
        notes += _notes_above(line, positions, high, 2 + 18 * index)
        if line.label:
            last = [float(mean) for mean in line.values.mean(axis=1) if math.isfinite(mean)]
            end = (last[-1] - low) / (high - low) if last else 1.0
            notes.append(end_label(f"<b>{line.label}</b>", 1.0, end, colour=css_colour(line.colour)))
    shapes = []
    if reference and low < reference[0] < high:
        shapes.append(horizontal_line(reference[0], SOFT, 1.5, "5px,4px"))
        notes.append(annotation(reference[1], 0.0, reference[0], xref="paper", xanchor="left", yanchor="bottom"))
    return figure(
        *traces,
        xaxis={
            "tickvals": list(range(len(values))),
            "ticktext": list(values),
            "range": [-0.4, len(values) - 0.6],
            "title": {"text": axis},
        },
        yaxis={"range": [low, high], "nticks": 5},
        shapes=shapes,
        annotations=notes,
        margin={"l": 8, "r": 56 if any(line.label for line in lines) else 12, "t": 26 + 18 * (len(lines) - 1), "b": 8},
    )


def _traces(line: FinalValues, positions: Float[ndarray, " values"], high: float) -> list[dict[str, Any]]:
    """Return the means as a line and the seeds as dots; `high` is the upper edge of the frame."""
    means = line.values.mean(axis=1)
    x = np.broadcast_to(positions[:, None], line.values.shape)
    in_frame = line.values <= high  # NaN is not
    dots = {"size": 9, "color": css_colour(line.colour), "line": {"width": 1.5, "color": PAGE}}
    return [
        line_trace(
            round_values(positions),
            _nan_to_gap(np.where(means <= high, means, np.nan)),
            f"{line.title}, mean",
            line.colour,
            line.dash,
        ),
        {
            "type": "scatter",
            "mode": "markers",
            "x": round_values(x[in_frame]),
            "y": round_values(line.values[in_frame]),
            "marker": dots | ({} if line.dash == "solid" else {"symbol": "diamond"}),
            "name": f"{line.title}, every seed",
            "hovertemplate": "%{y:.3f} bits<extra>" + line.title + "</extra>",
            "cliponaxis": False,
        },
    ]


def _notes_above(
    line: FinalValues, positions: Float[ndarray, " values"], high: float, shift: int
) -> list[dict[str, Any]]:
    """Return the highest values above the frame, written `shift` pixels above its upper edge `high`."""
    notes = []
    for position, row in zip(positions, line.values, strict=True):
        if np.isnan(row).all() or (row <= high).all():
            continue
        most = float(np.nanmax(row))
        notes.append(
            annotation(
                f"↑ {most:.3g}" if math.isfinite(most) else "no numbers",
                float(position),
                high,
                font={"size": 14, "color": css_colour(line.colour)},
                yanchor="bottom",
                yshift=shift,
            )
        )
    return notes


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


def _nan_to_gap(values: Float[ndarray, " values"]) -> list[float | None]:
    return [round(float(v), 4) if math.isfinite(v) else None for v in values]
