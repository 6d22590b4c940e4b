"""How each negation model computes its answer: contributions of words, states over time, attention, weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from explorer.charts.style import (
    INK,
    MINUS,
    PLUS,
    RULE,
    SOFT,
    css_colour,
    escape_markup,
    figure,
    heatmap,
    horizontal_line,
    labelled_ticks,
    round_values,
    vertical_line,
)
from explorer.charts.waterfall import waterfall


def contributions(
    parts: Sequence[str], values: Float[ndarray, " parts"] | Sequence[float], bias: float | None = None
) -> go.Figure:
    """Return a waterfall chart: the contribution of each part (or word) starts where the previous one ends."""
    return waterfall(parts, values, bias).figure()


def answer_after_each_token(
    tokens: Sequence[str], sustain: Float[ndarray, " tokens"], colour: str, classes: tuple[str, str]
) -> go.Figure:
    """Return the answer of a recurrent network after each token; the middle line is "undecided"."""
    crowded = len(tokens) > 12
    ends = [escape_markup(classes[0]), "undecided", escape_markup(classes[1])]
    return figure(
        {
            "type": "scatter",
            "mode": "lines+markers" + ("" if crowded else "+text"),
            "x": list(range(len(tokens))),
            "y": round_values(sustain),
            "text": [f"{v:.2f}" for v in sustain],
            "textposition": ["top center" if v >= 0.5 else "bottom center" for v in sustain],
            "textfont": {"size": 14, "color": INK},
            "line": {"width": 3, "color": css_colour(colour)},
            "marker": {"size": 9, "color": css_colour(colour)},
            "cliponaxis": False,
            "name": f"probability of {escape_markup(classes[1])}",
            "hoverinfo": "skip",
        },
        xaxis={**labelled_ticks(tokens), "range": [-0.5, len(tokens) - 0.5], "tickangle": -35},
        yaxis={
            "range": [-0.16, 1.16],
            "tickvals": [0, 0.5, 1],
            "ticktext": ends,
        },
        shapes=[horizontal_line(0.5, SOFT)],
    )


def attention_map(weights: Float[ndarray, "query key"], tokens: Sequence[str]) -> go.Figure:
    """Return a heat map of attention: rows are query tokens, columns key tokens. A masked pair (NaN) has no tile."""
    size = len(tokens)
    crowded = size > 12
    return figure(
        {
            **heatmap(weights, "attention"),
            "text": [["" if crowded or not v >= 0.095 else f"{v:.2f}".lstrip("0") for v in row] for row in weights],
            "textfont": {"size": 14},
            "hovertemplate": "%{z:.3f}<extra></extra>",
        },
        xaxis={
            **labelled_ticks(tokens),
            "side": "top",
            "tickangle": -45,
            "showline": False,
            "ticks": "",
            "range": [-0.5, size - 0.5],
        },
        yaxis={**labelled_ticks(tokens), "range": [size - 0.5, -0.5], "showgrid": False},
    )


def word_weights(tokens: Sequence[str], weights: Float[ndarray, "classes tokens"], classes: Sequence[str]) -> go.Figure:
    """Return bars of the weight of each token for each class.

    With more than two classes, each token has one bar, for its class: by how much its largest weight is above the mean
    of the others.
    """
    if len(classes) > 2:
        chosen, count = weights.argmax(axis=0), len(classes)
        largest = weights.max(axis=0)
        weights = ((largest - weights.mean(axis=0)) * count / (count - 1))[None]
        tokens = [f"{token} → {classes[i]}" for token, i in zip(tokens, chosen, strict=True)]
    extent = 1.25 * max(float(np.abs(weights).max()), 0.1)
    names = classes if len(classes) == 2 else ["above the other classes"]
    bars = [
        {
            "type": "bar",
            "orientation": "h",
            "x": round_values(row),
            "y": list(range(len(tokens))),
            "name": escape_markup(name),
            "marker": {"color": colour},
            "hovertemplate": "%{x:+.3f}<extra>" + escape_markup(name) + "</extra>",
        }
        for row, name, colour in zip(weights, names, (MINUS, PLUS) if len(names) == 2 else (PLUS,), strict=True)
    ]
    return figure(
        *bars,
        xaxis={"range": [-extent, extent], "nticks": 5, "title": {"text": "weight"}},
        **(
            {"showlegend": True, "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"}}
            if len(classes) > 2
            else {}
        ),
        yaxis={**labelled_ticks(tokens), "range": [len(tokens) - 0.5, -0.5], "showgrid": False},
        shapes=[vertical_line(0.0, SOFT)],
        bargap=0.3,
    )


def embedding_map(tokens: Sequence[str], points: Float[ndarray, "tokens 2"], colour: str) -> go.Figure:
    """Return word vectors in the plane; both axes have the same unit, so distances can be compared."""
    extent = 1.45 * max(float(np.abs(points).max()), 1e-3)
    axis = {"range": [-extent, extent], "zeroline": True, "zerolinecolor": RULE, "showticklabels": False, "ticks": ""}
    return figure(
        {
            "type": "scatter",
            "mode": "markers+text",
            "x": round_values(points[:, 0]),
            "y": round_values(points[:, 1]),
            "text": [escape_markup(t) for t in tokens],
            "textposition": _label_sides(tokens, points / extent),
            "textfont": {"size": 14, "color": INK},
            "marker": {"size": 9, "color": css_colour(colour)},
            "cliponaxis": False,
            "name": "embedding",
            "hoverinfo": "skip",
        },
        xaxis={**axis, "showline": False},
        yaxis={**axis, "scaleanchor": "x", "showgrid": False},
    )


def _label_sides(tokens: Sequence[str], points: Float[ndarray, "tokens 2"]) -> list[str]:
    """Return for each label the first side where it overlaps least with other labels and points (within -1 to 1)."""
    letter, line, gap = 0.05, 0.14, 0.05  # of a figure about 300 pixels wide
    taken = [(x - 0.03, x + 0.03, y - 0.03, y + 0.03) for x, y in points]
    sides = []
    for token, (x, y) in zip(tokens, points, strict=True):
        width = letter * len(token)
        boxes = {
            "top center": (x - width / 2, x + width / 2, y + gap, y + gap + line),
            "bottom center": (x - width / 2, x + width / 2, y - gap - line, y - gap),
            "middle right": (x + gap, x + gap + width, y - line / 2, y + line / 2),
            "middle left": (x - gap - width, x - gap, y - line / 2, y + line / 2),
        }

        def covered_width(side: str, boxes: dict[str, tuple[float, float, float, float]] = boxes) -> float:
            left, right, bottom, top = boxes[side]
            over = 0.0
            for low_x, high_x, low_y, high_y in taken:
                wide, high = min(right, high_x) - max(left, low_x), min(top, high_y) - max(bottom, low_y)
                over += max(wide, 0.0) * max(high, 0.0)
            return over

        side = min(boxes, key=covered_width)  # the first of the best
        taken.append(boxes[side])
        sides.append(side)
    return sides
