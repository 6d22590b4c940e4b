"""Figures of word vectors: words on a map, and lengths and agreement by frequency."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int
from numpy import ndarray

from explorer.charts.style import css_colour, escape_markup, figure, labelled_ticks, round_values

_POSITIONS = ("top center", "bottom center", "middle right", "middle left")
_CHARACTER, _LINE = 0.016, 0.05  # size of a letter, as a share of the figure


def label_positions(points: Float[ndarray, "words 2"], words: Sequence[str]) -> list[str]:
    """Return where the label of each point stands, so that labels overlap as little as possible."""
    low, high = points.min(axis=0), points.max(axis=0)
    places = (points - low) / np.where(high > low, high - low, 1)
    taken: list[tuple[float, float, float, float]] = [(x, y, 0.012, 0.02) for x, y in places.tolist()]
    chosen = []
    for (x, y), word in zip(places.tolist(), words, strict=True):
        half = _CHARACTER * len(word) / 2
        boxes = {
            "top center": (x, y + _LINE, half, _LINE / 2),
            "bottom center": (x, y - _LINE, half, _LINE / 2),
            "middle right": (x + half + 0.015, y, half, _LINE / 2),
            "middle left": (x - half - 0.015, y, half, _LINE / 2),
        }
        position = min(_POSITIONS, key=lambda name: sum(_overlap(boxes[name], other) for other in taken))
        taken.append(boxes[position])
        chosen.append(position)
    return chosen


def _overlap(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> float:
    width = one[2] + other[2] - abs(one[0] - other[0])
    height = one[3] + other[3] - abs(one[1] - other[1])
    return max(width, 0.0) * max(height, 0.0)


def word_map(points: Float[ndarray, "words 2"], words: Sequence[str], colour: str, marked: Sequence[str]) -> go.Figure:
    """Return words as labelled points; those in `marked` have larger points."""
    margin = 0.16 * (np.ptp(points, axis=0) + 1e-6)
    ranges = np.stack([points.min(axis=0) - margin, points.max(axis=0) + margin])
    return figure(
        {
            "type": "scatter",
            "mode": "markers+text",
            "x": round_values(points[:, 0]),
            "y": round_values(points[:, 1]),
            "text": [escape_markup(word) for word in words],
            "textposition": label_positions(points, words),
            "textfont": {"size": 14, "color": css_colour("--ink")},
            "marker": {"size": [13 if word in marked else 8 for word in words], "color": css_colour(colour)},
            "hoverinfo": "skip",
            "cliponaxis": False,
            "name": "words",
        },
        xaxis={"range": round_values(ranges[:, 0]), "title": {"text": "first component"}, "nticks": 5},
        yaxis={"range": round_values(ranges[:, 1]), "title": {"text": "second component"}, "nticks": 5},
        margin={"l": 48, "r": 12, "t": 12, "b": 44},
    )


def length_by_count(counts: Int[ndarray, " words"], lengths: Float[ndarray, " words"], colour: str) -> go.Figure:
    """Return the length of each word's vector by how often the word occurs, on a logarithmic axis."""
    return figure(
        {
            "type": "scatter",
            "mode": "markers",
            "x": counts.tolist(),
            "y": round_values(lengths),
            "marker": {"size": 4, "color": css_colour(colour, 0.5)},
            "hoverinfo": "skip",
            "name": "words",
        },
        xaxis={"type": "log", "title": {"text": "occurrences of the word"}, "nticks": 5},
        yaxis={"rangemode": "tozero", "title": {"text": "length of its vector"}, "nticks": 5},
        margin={"l": 48, "r": 12, "t": 12, "b": 44},
    )


def agreement_by_count(groups: Sequence[str], agreement: Float[ndarray, "pairs groups"], colour: str) -> go.Figure:
    """Return the share of nearest neighbours that two seeds have in common, with its range over pairs of seeds."""
    mean = agreement.mean(axis=0)
    return figure(
        {
            "type": "bar",
            "x": list(range(len(groups))),
            "y": round_values(mean),
            "marker": {"color": css_colour(colour)},
            "error_y": {
                "type": "data",
                "symmetric": False,
                "array": round_values(agreement.max(axis=0) - mean),
                "arrayminus": round_values(mean - agreement.min(axis=0)),
                "color": css_colour("--ink"),
            },
            "hoverinfo": "skip",
            "name": "agreement",
        },
        xaxis={**labelled_ticks(groups), "title": {"text": "occurrences of the word"}},
        yaxis={"range": [0, 1], "tickvals": [0, 0.5, 1], "title": {"text": "neighbours in common"}},
        margin={"l": 48, "r": 12, "t": 12, "b": 44},
    )
