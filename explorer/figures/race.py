"""Learning curves: the mean over the seeds as a line, lowest to highest seed as a band."""

from __future__ import annotations

import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from explorer.figures.style import INK, across, figure, paint, rounded, words

LOW, HIGH, MEAN = range(3)  # the traces, in this order


def learning_curve(
    epochs: Float[ndarray, " evaluations"],
    values: Float[ndarray, "evaluations replicas"],
    name: str,
    colour: str,
    dash: str,
    last_epoch: int,
    span: tuple[float, float],
    ceiling: tuple[float, str] | None = None,
) -> go.Figure:
    """One model's curve in a frame that is fixed from the start, so that the line grows into it.

    `ceiling` is a height and what is written on it.
    """
    common = {"type": "scatter", "mode": "lines", "x": rounded(epochs), "hoverinfo": "skip"}
    edge = {**common, "line": {"width": 0, "color": paint(colour)}, "fillcolor": paint(colour, 0.22)}
    line = {"width": 3, "color": paint(colour), "dash": dash}
    shapes, annotations = [], []
    if ceiling:
        height, text = ceiling
        shapes.append(across(height, INK, 1.5, "5px,4px"))
        if text:
            annotations.append(words(text, 1.0, height, xref="paper", xanchor="right", yanchor="bottom"))
    return figure(
        {**edge, "y": rounded(values.min(axis=1)), "name": f"{name}, lowest seed"},
        {**edge, "y": rounded(values.max(axis=1)), "name": f"{name}, highest seed", "fill": "tonexty"},
        {**common, "y": rounded(values.mean(axis=1)), "name": f"{name}, mean", "line": line},
        xaxis={"range": [0, last_epoch], "nticks": 4, "title": {"text": "epoch"}},
        yaxis={"range": list(span), "nticks": 4},
        shapes=shapes,
        annotations=annotations,
    )
