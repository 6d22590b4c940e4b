"""Cosine similarity of the vectors of a word in two sentences, by layer, as small multiples on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from explorer.charts.style import (
    INK,
    band,
    css_colour,
    end_label,
    figure,
    labelled_ticks,
    line_end_labels,
    line_trace,
    round_significant,
)

SAME, OTHER = "same sense", "other sense"
_TOP = 1.04  # of the y axis


def similarity_by_layer(
    same: Float[ndarray, "replicas layers"], other: Float[ndarray, "replicas layers"], y_min: float
) -> go.Figure:
    """Return both cosine similarities over the layers: the median over the seeds, and a band from lowest to highest.

    `y_min` is the start of the y axis, shared by neighbouring figures.
    """
    traces = []
    for values, name, colour, dash in ((same, SAME, "--sign-5", "solid"), (other, OTHER, "--sign-1", "8px,4px")):
        x = list(range(values.shape[1]))
        rows = values.min(axis=0), values.max(axis=0), np.median(values, axis=0)
        low, high, median = ([round_significant(v) for v in row] for row in rows)
        line = line_trace(x, median, f"{name}, median", colour, dash)
        traces += [
            *band(x, low, high, (f"{name}, lowest seed", f"{name}, highest seed"), colour, 0.18),
            {**line, "mode": "lines+markers", "marker": {"size": 8, "color": css_colour(colour)}},
        ]
    return figure(
        *traces,
        xaxis={
            **labelled_ticks(layer_names(same.shape[1])),
            "range": [-0.15, same.shape[1] - 0.7],
            "title": {"text": "layer"},
        },
        yaxis={
            "range": [y_min, 1.04],
            "tickmode": "array",
            "tickvals": [0, 0.5, 1],
            "ticktext": ["0", "0.5", "1"],
            "title": {"text": "cosine similarity"},
        },
        annotations=_labels(float(np.median(same[:, -1])), float(np.median(other[:, -1])), y_min),
        margin={"l": 56, "r": 92, "t": 8, "b": 52},
    )


def layer_names(layers: int) -> list[str]:
    """Return the tick labels of the layers: 0 for the embeddings, then the number of each block."""
    return ["0", *(str(i) for i in range(1, layers))]


def _labels(same: float, other: float, y_min: float) -> list[dict[str, object]]:
    """Return the labels at the ends of both lines; a single label if both end at the same height."""
    if abs(same - other) < 0.02:
        ends = [("both", (same + other) / 2, INK)]
    else:
        ends = [(SAME, same, css_colour("--sign-5")), (OTHER, other, css_colour("--sign-1"))]
    return [end_label(f"<b>{name}</b>", 1.0, (end - y_min) / (1.04 - y_min), 14, colour) for name, end, colour in ends]


@dataclass(frozen=True)
class SimilarityLine:
    """The cosine similarity between a word in one sentence and in another one, by layer."""

    name: str  # short: it stands at the end of the line
    values: Float[ndarray, " layers"]


_DASHES = ("solid", "8px,4px", "2px,3px", "12px,4px,2px,4px", "4px,8px", "16px,4px", "12px,3px,2px,3px,2px,3px")


def similarity_to_one(lines: Sequence[SimilarityLine], colour: str) -> go.Figure:
    """Return the similarities to a word in one sentence over the layers, a line for each other sentence."""
    layers = len(lines[0].values)
    every = next(step for step in (1, 2, 5, 10, 20, 50, 100) if layers / step <= 8)
    heights = [(float(line.values[-1]) + _TOP) / (2 * _TOP) for line in lines]
    ends = [(line.name, colour, False, height) for line, height in zip(lines, heights, strict=True)]
    return figure(
        *(
            line_trace(
                list(range(layers)), [round_significant(value) for value in line.values], line.name, colour, dash
            )
            for line, dash in zip(lines, cycle(_DASHES), strict=False)
        ),
        xaxis={
            "tickmode": "array",
            "tickvals": list(range(0, layers, every)),
            "range": [0, layers - 1],
            "title": {"text": "layer"},
        },
        yaxis={
            "range": [-_TOP, _TOP],
            "tickmode": "array",
            "tickvals": [-1, 0, 1],
            "ticktext": ["−1", "0", "1"],
            "title": {"text": "cosine similarity"},
        },
        annotations=line_end_labels(ends),
        margin={"l": 62, "r": 110, "t": 8, "b": 52},
    )
