"""Running mean loss of one model over one text, with dynamic evaluation (solid) and with fixed weights (dashed).

An n-gram beside it likewise: with a cache of the text read so far (solid), and without one (dashed).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int
from numpy import ndarray

from explorer.charts.style import INK, css_colour, end_label, figure, line_trace, round_values

ADAPTING, STATIC, NGRAM, CACHE = range(4)  # the traces, in this order; the last two only where there is an n-gram
_MAX_POINTS = 200  # of a curve
_WARM_UP = 0.1  # share of the text that is ignored for the axis: a mean over so few tokens is too noisy
_MAX_AXIS_GROWTH = 3  # factor by which optional curves may lengthen the axis
# At the end of each line.
_LABELS = {
    "dynamic evaluation": "dynamic",
    "fixed weights": "fixed",
    "n-gram": "n-gram",
    "n-gram with a cache": "cache",
}


@dataclass(frozen=True)
class RunningMean:
    """The mean loss over all tokens so far, in the unit of the axis."""

    tokens: Int[ndarray, " pieces"]
    values: Float[ndarray, " pieces"]

    @property
    def settled_values(self) -> Float[ndarray, " _"]:
        """The values after the noisy beginning."""
        late: Float[ndarray, " _"] = self.values[self.tokens >= _WARM_UP * self.tokens[-1]]
        return late


def shared_y_range(courses: Iterable[RunningMean], optional: Iterable[RunningMean] = ()) -> tuple[float, float]:
    """Return one y range for all courses; the optional ones count unless they would make the axis too long."""
    settled = [course.settled_values for course in courses]
    values = np.concatenate(settled)
    every = np.concatenate([*settled, *(course.settled_values for course in optional)])
    if np.ptp(every) <= _MAX_AXIS_GROWTH * np.ptp(values):
        values = every
    low, high = float(values.min()), float(values.max())
    room = max(0.08 * (high - low), 0.005)
    return low - room, high + room


def dynamic_evaluation_figure(
    adapting: RunningMean,
    static: RunningMean,
    colour: str,
    y_range: tuple[float, float],
    x_title: str,
    y_title: str,
    ngram: tuple[RunningMean, RunningMean, str, str] | None = None,
) -> go.Figure:
    """Return the running means of a model, and optionally of an n-gram.

    adapting, static: with dynamic evaluation, and with fixed weights
    colour: the colour of the model
    y_range: lowest and highest value of the y axis
    x_title, y_title: titles of the axes
    ngram: the running means of the n-gram without and with a cache, its colour and its dash
    """
    last = int(static.tokens[-1])
    lines: list[tuple[str, RunningMean, str, str | None, int]] = [
        ("dynamic evaluation", adapting, colour, None, 3),
        ("fixed weights", static, colour, "5px,4px", 2),
    ]
    if ngram:
        static_ngram, cached_ngram, hue, dash = ngram
        without, cached = (_course_until(course, last) for course in (static_ngram, cached_ngram))
        lines += [("n-gram", without, hue, dash, 2), ("n-gram with a cache", cached, hue, None, 3)]
    traces: list[dict[str, Any]] = []
    for name, course, hue, dashes, width in lines:
        indices = np.unique(np.linspace(0, len(course.tokens) - 1, _MAX_POINTS).round().astype(int))
        x, y = course.tokens[indices].tolist(), round_values(course.values[indices])
        traces.append(line_trace(x, y, name, hue, dashes, width))
    ends = [(name, float(course.values[-1])) for name, course, *_ in lines]
    low, high = y_range
    labels = [
        end_label(
            _off_axis_arrow(end, y_range) + _LABELS[name],
            1.0,
            (end - low) / (high - low),
            14,
            css_colour("--m-ngram") if name.startswith("n-gram") else INK,
        )
        for name, end in ends
    ]
    return figure(
        *traces,
        xaxis={"range": [0, last], "nticks": 5, "title": {"text": x_title}},
        yaxis={"range": list(y_range), "nticks": 5, "title": {"text": y_title}},
        annotations=labels,
        margin={"l": 8, "r": 72, "t": 12, "b": 8},
    )


def _course_until(course: RunningMean, last: int) -> RunningMean:
    """Return the part of a running mean over at most `last` tokens."""
    inside = course.tokens <= last
    return RunningMean(course.tokens[inside], course.values[inside])


def _off_axis_arrow(end: float, y_range: tuple[float, float]) -> str:
    """Return an arrow towards the end of a line that lies outside the axis, or an empty string."""
    return "↓ " if end < y_range[0] else "↑ " if end > y_range[1] else ""
