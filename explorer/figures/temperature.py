"""What temperature does to whole texts: variety, repetition and likelihood over temperature, a band over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from explorer.figures.style import INK, across, figure, paint, rounded, upright, words

PER_LINE = 3  # traces: low, high, line


@dataclass(frozen=True)
class Course:
    """A measure of one model's texts; a row a temperature, a column a seed."""

    title: str
    colour: str
    dash: str
    values: Float[ndarray, "temperatures seeds"]


def by_temperature(
    courses: Sequence[Course],
    temperatures: Float[ndarray, " temperatures"],
    here: float,
    people: Sequence[tuple[str, float]],
    limits: tuple[float, float],
) -> go.Figure:
    """All models on one pair of axes, upright the temperature just now.

    `people`: the same measure of text that people wrote, dashed, by the colour of its line. It differs where models cut
    the text into other tokens, or expect it otherwise.
    """
    shapes = [upright(here, INK, 1.5, "1px,3px")]
    marks: list[dict[str, Any]] = []
    low, high = limits
    for i, (colour, height) in enumerate(people):
        shapes.append(across(height, paint(colour), 1.5, "5px,4px"))
        above = (height < low + 0.85 * (high - low)) != (i > 1)
        said = f"people {height:.2f}".replace("-", "−")
        # At either end, the third across its line: those of several models lie close together.
        x, anchor = (0.0, "left") if i else (2.0, "right")
        own = {"font": {"size": 14, "color": paint(colour)}}
        marks.append(words(said, x=x, xanchor=anchor, y=height, yanchor="bottom" if above else "top", **own))
    return figure(
        *(trace for course in courses for trace in _traces(course, rounded(temperatures))),
        xaxis={"range": [0, 2], "tickvals": [0, 0.5, 1, 1.5, 2], "title": {"text": "temperature"}},
        yaxis={"range": list(limits), "nticks": 4},
        shapes=shapes,
        annotations=marks,
        margin={"l": 8, "r": 12, "t": 12, "b": 8},
    )


def _traces(course: Course, x: list[float]) -> list[dict[str, Any]]:
    common = {"type": "scatter", "mode": "lines", "x": x, "hoverinfo": "skip"}
    edge = {
        **common,
        "line": {"width": 0, "color": paint(course.colour)},
        "fillcolor": paint(course.colour, 0.18),
    }
    line = {"width": 2.5, "color": paint(course.colour), "dash": course.dash}
    values = course.values
    return [
        {**edge, "y": rounded(values.min(axis=1)), "name": f"{course.title}, low"},
        {**edge, "y": rounded(values.max(axis=1)), "name": f"{course.title}, high", "fill": "tonexty"},
        {**common, "y": rounded(values.mean(axis=1)), "name": course.title, "line": line},
    ]
