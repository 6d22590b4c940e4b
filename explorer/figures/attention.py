"""What follows from attention: answers before and after a touch, what each layer would say, what each head is worth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from explorer.figures.style import INK, SOFT, escape, figure, paint, rounded, ticks, tiles, upright


def answers(
    labels: Sequence[str],
    now: Float[ndarray, " answers"],
    before: Float[ndarray, " answers"] | None,
    colour: str,
) -> go.Figure:
    """Probabilities of the likeliest answers; where something was touched, pale behind them what it said before."""
    rows = list(range(len(labels)))
    pale = {
        "type": "bar",
        "orientation": "h",
        "x": rounded(np.zeros(len(now)) if before is None else before),
        "y": rows,
        "width": 0.78,
        "marker": {"color": paint(colour, 0.25)},
        "name": "untouched",
        "hoverinfo": "skip",
    }
    solid = {
        **pale,
        "x": rounded(now),
        "width": 0.42,
        "marker": {"color": paint(colour)},
        "text": [f"{p:.2f}" for p in now],
        "textposition": "outside",
        "textfont": {"size": 16, "color": INK},
        "constraintext": "none",
        "cliponaxis": False,
        "name": "now",
    }
    return figure(
        pale,
        solid,
        xaxis={"range": [0, 1.12], "visible": False},
        yaxis={**ticks(labels), "range": [len(labels) - 0.4, -0.6], "showgrid": False, "tickfont": {"size": 16}},
        barmode="overlay",
    )


def lens(
    layers: Sequence[str],
    tokens: Sequence[str],
    said: Sequence[Sequence[str]],
    sure: Float[ndarray, "layers tokens"],
) -> go.Figure:
    """The likeliest next token at every place after every layer, the last layer on top."""
    size = len(tokens)
    return figure(
        {
            **tiles(sure, "probability"),
            "text": [[escape(text) for text in row] for row in said],
            "textfont": {"size": 15},
            "hovertemplate": "%{text}: %{z:.3f}<extra></extra>",
        },
        xaxis={**ticks(tokens), "showline": False, "ticks": "", "range": [-0.5, size - 0.5], "tickangle": 0},
        yaxis={**ticks(layers), "range": [-0.5, len(layers) - 0.5], "showgrid": False},
    )


def worth(
    labels: Sequence[str],
    loss: Float[ndarray, " heads"],
    error: Float[ndarray, " heads"],
    colour: str,
    title: str,
) -> go.Figure:
    """What is lost without each head, the dearest on top, with two standard errors to either side."""
    order = np.argsort(-loss)
    reach = np.concatenate([loss - 2 * error, loss + 2 * error, [0.0]])
    low, high = float(reach.min()), float(reach.max())
    room = 0.06 * max(high - low, 1e-3)
    return figure(
        {
            "type": "scatter",
            "mode": "markers",
            "x": [float(f"{v:.5g}") for v in loss[order]],
            "y": list(range(len(labels))),
            "error_x": {
                "type": "data",
                "array": [float(f"{2 * v:.5g}") for v in error[order]],
                "color": paint(colour, 0.6),
                "thickness": 2,
                "width": 0,
            },
            "marker": {"size": 11, "color": paint(colour)},
            "hoverinfo": "skip",
            "name": title,
        },
        xaxis={"range": [low - room, high + room], "nticks": 6, "title": {"text": title}},
        yaxis={
            **ticks([labels[i] for i in order]),
            "range": [len(labels) - 0.4, -0.6],
            "showgrid": True,
        },
        shapes=[upright(0.0, SOFT)],
    )
