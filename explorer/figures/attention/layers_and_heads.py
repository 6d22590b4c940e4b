"""Figures of the attention page: the logit lens and head importance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from explorer.charts.style import (
    SOFT,
    css_colour,
    escape_markup,
    figure,
    heatmap,
    labelled_ticks,
    vertical_line,
)


def logit_lens(
    layers: Sequence[str],
    tokens: Sequence[str],
    predictions: Sequence[Sequence[str]],
    probabilities: Float[ndarray, "layers tokens"],
) -> go.Figure:
    """Return the likeliest next token at every position after every layer, with the last layer on top (logit lens)."""
    size = len(tokens)
    return figure(
        {
            **heatmap(probabilities, "probability"),
            "text": [[escape_markup(text) for text in row] for row in predictions],
            "textfont": {"size": 15},
            "hovertemplate": "%{text}: %{z:.3f}<extra></extra>",
        },
        xaxis={**labelled_ticks(tokens), "showline": False, "ticks": "", "range": [-0.5, size - 0.5], "tickangle": 0},
        yaxis={**labelled_ticks(layers), "range": [-0.5, len(layers) - 0.5], "showgrid": False},
    )


def rollout_map(weights: Float[ndarray, "query key"], tokens: Sequence[str]) -> go.Figure:
    """Return attention rollout as a heat map with a colour scale; shares from 0.1 on are written into the cells."""
    size = len(tokens)
    trace = heatmap(weights, "share")
    text = [["" if np.isnan(value) or value < 0.1 else f"{value:.2f}" for value in row] for row in weights]
    return figure(
        {
            **trace,
            "text": text,
            "texttemplate": "%{text}",
            "textfont": {"size": 13},
            "showscale": True,
            "colorbar": {"thickness": 12, "outlinewidth": 0, "tickfont": {"size": 14, "color": SOFT}, "nticks": 5},
        },
        xaxis={**labelled_ticks(tokens), "showline": False, "ticks": "", "range": [-0.5, size - 0.5], "side": "top"},
        yaxis={**labelled_ticks(tokens), "range": [size - 0.5, -0.5], "showgrid": False},
    )


def head_importance(
    labels: Sequence[str],
    loss: Float[ndarray, " heads"],
    error: Float[ndarray, " heads"],
    colour: str,
    title: str,
) -> go.Figure:
    """Return the loss without each head, the most important on top, with two standard errors on either side.

    The importance of a head is the loss when it is ablated (Michel et al. 2019).
    """
    order = np.argsort(-loss)
    extent = np.concatenate([loss - 2 * error, loss + 2 * error, [0.0]])
    low, high = float(extent.min()), float(extent.max())
    margin = 0.06 * max(high - low, 1e-3)
    return figure(
        {
            "type": "scatter",
            "mode": "markers",
            "x": [float(f"{v:.5g}") for v in loss[order]],
            "y": list(range(len(labels))),
            "error_x": {
                "type": "data",
                "array": [float(f"{2 * v:.5g}") for v in error[order]],
                "color": css_colour(colour, 0.6),
                "thickness": 2,
                "width": 0,
            },
            "marker": {"size": 11, "color": css_colour(colour)},
            "hoverinfo": "skip",
            "name": title,
        },
        xaxis={"range": [low - margin, high + margin], "nticks": 6, "title": {"text": title}},
        yaxis={
            **labelled_ticks([labels[i] for i in order]),
            "range": [len(labels) - 0.4, -0.6],
            "showgrid": True,
        },
        shapes=[vertical_line(0.0, SOFT)],
    )
