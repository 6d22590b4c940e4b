"""Statistics of generated texts (variety, repetition, likelihood) over temperature, with a band over the seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from explorer.charts.style import (
    INK,
    annotation,
    band,
    css_colour,
    figure,
    horizontal_line,
    line_trace,
    round_values,
    vertical_line,
)
from explorer.number_format import format_number

TRACES_PER_LINE = 3  # traces: low, high, line


@dataclass(frozen=True)
class TextMeasure:
    """A statistic of the texts of one model; a row for each temperature, a column for each seed."""

    title: str
    colour: str
    dash: str
    values: Float[ndarray, "temperatures seeds"]


def measure_by_temperature(
    measures: Sequence[TextMeasure],
    temperatures: Float[ndarray, " temperatures"],
    current: float,
    human_values: Sequence[tuple[str, float]],
    limits: tuple[float, float],
) -> go.Figure:
    """Return a statistic of the texts of all models over temperature.

    measures: one for each model
    temperatures: the x axis
    current: the selected temperature, a vertical line
    human_values: colour and value of the same statistic of human text, dashed; it differs between models that use
        other tokens or assign other probabilities
    limits: lowest and highest value of the y axis
    """
    shapes = [vertical_line(current, INK, 1.5, "1px,3px")]
    marks: list[dict[str, Any]] = []
    low, high = limits
    for i, (colour, height) in enumerate(human_values):
        shapes.append(horizontal_line(height, css_colour(colour), 1.5, "5px,4px"))
        above = (height < low + 0.85 * (high - low)) != (i > 1)
        text = f"people {format_number(height)}"
        # Labels alternate between both ends and both sides of the line: those of several models lie close together.
        x, anchor = (0.0, "left") if i else (2.0, "right")
        colours = {"font": {"size": 14, "color": css_colour(colour)}}
        marks.append(annotation(text, x=x, xanchor=anchor, y=height, yanchor="bottom" if above else "top", **colours))
    return figure(
        *(trace for course in measures for trace in _traces(course, round_values(temperatures))),
        xaxis={"range": [0, 2], "tickvals": [0, 0.5, 1, 1.5, 2], "title": {"text": "temperature"}},
        yaxis={"range": list(limits), "nticks": 4},
        shapes=shapes,
        annotations=marks,
        margin={"l": 8, "r": 12, "t": 12, "b": 8},
    )


def _traces(measure: TextMeasure, x: list[float]) -> list[dict[str, Any]]:
    title, values = measure.title, measure.values
    low, high, mean = (round_values(fold(axis=1)) for fold in (values.min, values.max, values.mean))
    return [
        *band(x, low, high, (f"{title}, low", f"{title}, high"), measure.colour, 0.18),
        line_trace(x, mean, title, measure.colour, measure.dash, 2.5),
    ]
