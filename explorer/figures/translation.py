"""Reverse, copy and dates: exact match by the length of the source, by the way of writing, and while a model learns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from explorer.figures.comparison import Line, comparison
from explorer.figures.style import INK, SOFT, across, escape, figure, paint, ticks, tiles, upright, words

_LEVELS = (0.82, 0.66, 0.5, 0.34, 0.18)  # heights at which lines are named, one each, where they fall through


def by_length(lines: Sequence[Line], trained: int, longest: int) -> go.Figure:
    """Exact match by the length of the source; an upright line behind the longest that was trained.

    A line is named where it falls, for at their ends they lie on each other.
    """
    drawn = comparison(lines, "digits", (0.0, 1.04), end=float(longest), room=20)
    drawn.layout.annotations = [
        *(
            _named(line, level, i == 0)
            for i, (line, level) in enumerate(zip(lines, _LEVELS, strict=False))
            if len(line.x)
        ),
        words("trained", trained + 0.5, 0.04, xanchor="right", yanchor="bottom", xshift=-6),
        words("beyond", trained + 0.5, 0.04, xanchor="left", yanchor="bottom", xshift=6),
    ]
    drawn.layout.shapes = (upright(trained + 0.5, INK, 1.5, "3px,3px"),)
    drawn.layout.yaxis.update(tickmode="array", tickvals=[0, 0.5, 1], ticktext=["0", "0.5", "1"])
    return drawn


def _named(line: Line, level: float, before: bool) -> dict[str, object]:
    """A line's name, beside where it is at this height for the last time: before it, or behind."""
    above = np.flatnonzero(line.mean >= level)
    at = int(above[-1]) if len(above) else 0
    x = float(line.x[at])
    if at + 1 < len(line.x) and line.mean[at] > line.mean[at + 1]:
        x += float((line.mean[at] - level) / (line.mean[at] - line.mean[at + 1]) * (line.x[at + 1] - line.x[at]))
    font = {"size": 15, "color": paint(line.colour)}
    where = {"xanchor": "right", "xshift": -8} if before else {"xanchor": "left", "xshift": 8}
    return words(f"<b>{escape(line.label)}</b>", x, level, font=font, **where)


def by_step(lines: Sequence[Line], last: int) -> go.Figure:
    """Exact match by step."""
    drawn = comparison(lines, "step", (0.0, 1.04), end=float(last), room=104, apart=0.09)
    drawn.layout.yaxis.update(tickmode="array", tickvals=[0, 0.5, 1], ticktext=["0", "0.5", "1"])
    return drawn


def by_way(shares: Float[ndarray, "ways models"], ways: Sequence[str], models: Sequence[str]) -> go.Figure:
    """Exact match for each way of writing a date, a tile a model."""
    said = [["" if np.isnan(share) else f"{share:.2f}" for share in row] for row in shares]
    return figure(
        {**tiles(shares, "exact match"), "text": said, "hoverinfo": "skip"},
        xaxis={**ticks(models), "showgrid": False, "side": "top"},
        yaxis={**ticks(ways), "autorange": "reversed", "showgrid": False},
        margin={"l": 8, "r": 8, "t": 36, "b": 8},
    )


def touches(values: Float[ndarray, "touches models replicas"], rows: Sequence[str], models: Sequence[str]) -> go.Figure:
    """Exact match under every touch, a tile a model, with its spread over seeds; none where nothing can be touched."""
    said = [
        ["" if np.isnan(each).any() else f"{each.mean():.2f}  ({each.min():.2f}–{each.max():.2f})" for each in row]
        for row in values
    ]
    return figure(
        {**tiles(values.mean(axis=-1), "exact match"), "text": said, "hoverinfo": "skip"},
        xaxis={**ticks(models), "showgrid": False, "side": "top"},
        yaxis={**ticks(rows), "autorange": "reversed", "showgrid": False},
        margin={"l": 8, "r": 8, "t": 36, "b": 8},
    )


def copying(lines: Sequence[Line], last: int, chance: float) -> go.Figure:
    """Tokens copied rightly by step, with attention and without; a line at what guessing comes to."""
    drawn = comparison(lines, "step", (0.0, 1.04), end=float(last), room=96)
    drawn.layout.shapes = (across(chance, SOFT, 1.5, "5px,4px"),)
    drawn.layout.yaxis.update(tickmode="array", tickvals=[0, 0.5, 1], ticktext=["0", "0.5", "1"])
    return drawn
