"""One model over one text, twice: learning on (solid), and standing still (dashed); the mean so far."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int
from numpy import ndarray

from explorer.figures.style import INK, figure, paint, rounded, words

LEARNING, STILL, COUNTS = range(3)  # the traces, in this order; the last only where there is an n-gram
_POINTS = 200  # of a curve
_SETTLED = 0.1  # of the text: before it a mean over so little leaps
_FLAT = 3  # times: so much longer an axis may become
_GAP = 0.09  # of the height: between two labels
_LABELS = {"learning on": "learning", "standing still": "still", "n-gram": "n-gram"}  # at the end of each line


@dataclass(frozen=True)
class Course:
    """A mean so far, in the unit of the axis."""

    tokens: Int[ndarray, " pieces"]
    values: Float[ndarray, " pieces"]

    @property
    def settled(self) -> Float[ndarray, " _"]:
        """The values after the first leaps."""
        late: Float[ndarray, " _"] = self.values[self.tokens >= _SETTLED * self.tokens[-1]]
        return late


def span(courses: Iterable[Course], beside: Iterable[Course] = ()) -> tuple[float, float]:
    """One axis for all of these; also for those beside them, unless that would press the others flat."""
    settled = [course.settled for course in courses]
    values = np.concatenate(settled)
    every = np.concatenate([*settled, *(course.settled for course in beside)])
    if np.ptp(every) <= _FLAT * np.ptp(values):
        values = every
    low, high = float(values.min()), float(values.max())
    room = max(0.08 * (high - low), 0.005)
    return low - room, high + room


def reading_on(
    learning: Course,
    still: Course,
    colour: str,
    y_range: tuple[float, float],
    x_title: str,
    y_title: str,
    counts: tuple[Course, str, str] | None = None,
) -> go.Figure:
    """Both courses of a model, and if wanted that of the n-gram, with its colour and dash."""
    last = int(still.tokens[-1])
    lines = [
        ("learning on", learning, {"color": paint(colour), "width": 3}),
        ("standing still", still, {"color": paint(colour), "width": 2, "dash": "5px,4px"}),
    ]
    if counts:
        course, hue, dash = counts
        inside = course.tokens <= last
        course = Course(course.tokens[inside], course.values[inside])
        lines.append(("n-gram", course, {"color": paint(hue), "width": 2, "dash": dash}))
    traces: list[dict[str, Any]] = []
    for name, course, line in lines:
        kept = np.unique(np.linspace(0, len(course.tokens) - 1, _POINTS).round().astype(int))
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": course.tokens[kept].tolist(),
                "y": rounded(course.values[kept]),
                "name": name,
                "line": line,
                "hoverinfo": "skip",
            }
        )
    ends = [float(course.values[-1]) for _, course, _ in lines]
    labels = [
        words(
            _beyond(end, y_range) + _LABELS[name],
            1.0,
            height,
            xref="paper",
            yref="paper",
            xanchor="left",
            yanchor="middle",
            xshift=8,
        )
        | {"font": {"size": 14, "color": paint("--m-ngram") if name == "n-gram" else INK}}
        for (name, _, _), end, height in zip(lines, ends, _apart(ends, y_range), strict=True)
    ]
    return figure(
        *traces,
        xaxis={"range": [0, last], "nticks": 5, "title": {"text": x_title}},
        yaxis={"range": list(y_range), "nticks": 5, "title": {"text": y_title}},
        annotations=labels,
        margin={"l": 8, "r": 72, "t": 12, "b": 8},
    )


def _beyond(end: float, y_range: tuple[float, float]) -> str:
    """Where a line is that ends outside of the axis."""
    return "↓ " if end < y_range[0] else "↑ " if end > y_range[1] else ""


def _apart(ends: Sequence[float], y_range: tuple[float, float]) -> list[float]:
    """Heights of the labels, 0 to 1: where the lines end, pushed up where they would cover each other."""
    low, high = y_range
    heights = [min(1.0, max(0.0, (end - low) / (high - low))) for end in ends]
    floor = -np.inf
    for i in sorted(range(len(heights)), key=lambda i: heights[i]):
        heights[i] = floor = max(heights[i], float(floor))
        floor += _GAP
    over = max(0.0, max(heights, default=0.0) - 1.0)
    return [height - over for height in heights]
