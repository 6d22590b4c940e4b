"""Learning curves: the median over the seeds as a line, lowest to highest seed as a band."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from explorer.charts.style import INK, annotation, band, figure, horizontal_line, line_trace, round_values

LOW, HIGH, MEDIAN = range(3)  # the traces, in this order


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
    """Return one model's curve in a frame of fixed size, so that the line grows into it during training.

    epochs: when the model was evaluated
    values: one column a seed
    name, colour, dash: of the model
    last_epoch: the end of the x axis
    span: lowest and highest value of the y axis
    ceiling: the height of a reference line and its text
    """
    x = round_values(epochs)
    low, high, median = map(round_values, (values.min(axis=1), values.max(axis=1), np.median(values, axis=1)))
    shapes, annotations = [], []
    if ceiling:
        height, text = ceiling
        shapes.append(horizontal_line(height, INK, 1.5, "5px,4px"))
        if text:
            annotations.append(annotation(text, 1.0, height, xref="paper", xanchor="right", yanchor="bottom"))
    return figure(
        *band(x, low, high, (f"{name}, lowest seed", f"{name}, highest seed"), colour, 0.22),
        line_trace(x, median, f"{name}, median", colour, dash),
        xaxis={"range": [0, last_epoch], "nticks": 4, "title": {"text": "epoch"}},
        yaxis={"range": list(span), "nticks": 4},
        shapes=shapes,
        annotations=annotations,
    )
