"""How each model came to its answer: sums, states and looks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from explorer.figures.style import INK, MINUS, PLUS, RULE, SOFT, blank, escape, paint, signed, ticks


def sum_of_words(tokens: Sequence[str], values: Float[ndarray, " tokens"], bias: float) -> go.Figure:
    """A waterfall: each token's contribution starts where the one before it ended."""
    steps = np.array([bias, *values], dtype=float)
    ends = steps.cumsum()
    starts = ends - steps
    labels = ["start", *tokens, "together"]
    rows = list(range(len(labels)))
    reach = max(float(np.abs([starts.min(), ends.min(), starts.max(), ends.max()]).max()), 0.1)
    low, high = min(starts.min(), ends.min(), 0.0), max(starts.max(), ends.max(), 0.0)
    figure = blank(
        xaxis={"range": [low - 0.4 * reach, high + 0.4 * reach], "visible": False},
        yaxis={**ticks(labels), "range": [len(labels) - 0.5, -0.5], "showgrid": False},
        bargap=0.25,
    )
    figure.add_bar(
        x=[*_rounded(steps), round(float(ends[-1]), 4)], y=rows, base=[*_rounded(starts), 0.0], orientation="h",
        marker={
            "color": [PLUS if v > 0 else MINUS for v in steps] + ["rgba(0,0,0,0)"],
            "line": {"color": [RULE] * len(steps) + [INK], "width": [0] * len(steps) + [2]},
        },
        name="adds to sustain", hoverinfo="skip",
    )  # fmt: skip
    for row, (start, end, value) in enumerate(zip([*starts, 0.0], [*ends, ends[-1]], [*steps, ends[-1]], strict=True)):
        right = value >= 0
        weight = ("<b>", "</b>") if row == rows[-1] else ("", "")
        figure.add_annotation(
            x=max(start, end) if right else min(start, end), y=row, xanchor="left" if right else "right", xshift=4 if right else -4,
            text=signed(float(value)).join(weight), showarrow=False, font={"size": 14, "color": INK},
        )  # fmt: skip
    figure.add_vline(x=0, line={"color": SOFT, "width": 1})
    for row, end in enumerate(ends):
        figure.add_shape(type="line", x0=end, x1=end, y0=row, y1=row + 1, line={"color": SOFT, "width": 1})
    return figure


def answers_on_the_way(
    tokens: Sequence[str], sustain: Float[ndarray, " tokens"], colour: str, classes: tuple[str, str]
) -> go.Figure:
    """What a recurrent net would answer after each token; the middle line is "undecided"."""
    places = list(range(len(tokens)))
    figure = blank(
        xaxis={**ticks(tokens), "range": [-0.5, len(tokens) - 0.5], "tickangle": -35},
        yaxis={"range": [-0.16, 1.16], "tickvals": [0, 0.5, 1], "ticktext": [classes[0], "undecided", classes[1]]},
    )
    figure.add_hline(y=0.5, line={"color": SOFT, "width": 1})
    crowded = len(tokens) > 12
    figure.add_scatter(
        x=places, y=[round(float(v), 4) for v in sustain], mode="lines+markers" + ("" if crowded else "+text"),
        text=[f"{v:.2f}" for v in sustain], cliponaxis=False,
        textposition=["top center" if v >= 0.5 else "bottom center" for v in sustain],
        textfont={"size": 14, "color": INK}, line={"width": 3, "color": paint(colour)},
        marker={"size": 9, "color": paint(colour)}, name="probability of sustain", hoverinfo="skip",
    )  # fmt: skip
    return figure


def attention_map(weights: Float[ndarray, "query key"], tokens: Sequence[str]) -> go.Figure:
    """Rows ask, columns answer. A masked pair (NaN) has no tile: empty means impossible."""
    size = len(tokens)
    shown = [[None if np.isnan(v) else round(float(v), 4) for v in row] for row in weights]
    figure = blank(
        xaxis={**ticks(tokens), "side": "top", "tickangle": -45, "showline": False, "ticks": "",
               "range": [-0.5, size - 0.5]},
        yaxis={**ticks(tokens), "range": [size - 0.5, -0.5], "showgrid": False},
    )  # fmt: skip
    figure.add_heatmap(
        z=shown, x=list(range(size)), y=list(range(size)), zmin=0, zmax=1, xgap=2, ygap=2, showscale=False,
        autocolorscale=True, name="attention", hovertemplate="%{z:.3f}<extra></extra>",
    )  # fmt: skip
    if size <= 12:
        for q, row in enumerate(weights):
            for k, v in enumerate(row):
                if v >= 0.15:
                    strong = "var(--page)" if v >= 0.55 else INK
                    figure.add_annotation(
                        x=k, y=q, text=f"{v:.2f}".lstrip("0"), showarrow=False, font={"size": 14, "color": strong}
                    )
    return figure


def word_weights(tokens: Sequence[str], weights: Float[ndarray, "classes tokens"], classes: Sequence[str]) -> go.Figure:
    """The weight of each token for each class, side by side."""
    places = list(range(len(tokens)))
    reach = 1.25 * max(float(np.abs(weights).max()), 0.1)
    figure = blank(
        xaxis={"range": [-reach, reach], "nticks": 5, "title": {"text": "weight"}},
        yaxis={**ticks(tokens), "range": [len(tokens) - 0.5, -0.5], "showgrid": False},
        bargap=0.3,
    )
    for row, name, colour in zip(weights, classes, (MINUS, PLUS), strict=True):
        figure.add_bar(
            x=[round(float(v), 4) for v in row], y=places, orientation="h", name=name, marker={"color": colour},
            hovertemplate="%{x:+.3f}<extra>" + name + "</extra>",
        )  # fmt: skip
    figure.add_vline(x=0, line={"color": SOFT, "width": 1})
    return figure


def embedding_map(tokens: Sequence[str], points: Float[ndarray, "tokens 2"], colour: str) -> go.Figure:
    """Word vectors in the plane; both axes have the same unit, so distances can be compared."""
    reach = 1.45 * max(float(np.abs(points).max()), 1e-3)
    axis = {"range": [-reach, reach], "zeroline": True, "zerolinecolor": RULE, "showticklabels": False, "ticks": ""}
    figure = blank(
        xaxis={**axis, "showline": False},
        yaxis={**axis, "scaleanchor": "x", "showgrid": False},
    )
    figure.add_scatter(
        x=[round(float(v), 4) for v in points[:, 0]], y=[round(float(v), 4) for v in points[:, 1]],
        mode="markers+text", text=[escape(t) for t in tokens], textposition=_free_sides(tokens, points / reach), cliponaxis=False,
        textfont={"size": 14, "color": INK}, marker={"size": 9, "color": paint(colour)}, name="embedding",
        hoverinfo="skip",
    )  # fmt: skip
    return figure


def _rounded(values: Float[ndarray, " n"]) -> list[float]:
    return [round(float(v), 4) for v in values]


def _free_sides(tokens: Sequence[str], points: Float[ndarray, "tokens 2"]) -> list[str]:
    """For each label the first side where it covers no other label or point; points within -1..1."""
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

        def covered(side: str, boxes: dict[str, tuple[float, float, float, float]] = boxes) -> float:
            left, right, bottom, top = boxes[side]
            over = 0.0
            for low_x, high_x, low_y, high_y in taken:
                wide, high = min(right, high_x) - max(left, low_x), min(top, high_y) - max(bottom, low_y)
                over += max(wide, 0.0) * max(high, 0.0)
            return over

        side = min(boxes, key=covered)  # the first of the best
        taken.append(boxes[side])
        sides.append(side)
    return sides
