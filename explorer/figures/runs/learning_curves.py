"""Learning curves: the median over the seeds as a line, lowest to highest seed as a band."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from explorer.figures.style import INK, annotation, css_colour, figure, horizontal_line, round_values

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
    common = {"type": "scatter", "mode": "lines", "x": round_values(epochs), "hoverinfo": "skip"}
    edge = {**common, "line": {"width": 0, "color": css_colour(colour)}, "fillcolor": css_colour(colour, 0.22)}
    line = {"width": 3, "color": css_colour(colour), "dash": dash}
    shapes, annotations = [], []
    if ceiling:
        height, text = ceiling
        shapes.append(horizontal_line(height, INK, 1.5, "5px,4px"))
        if text:
            annotations.append(annotation(text, 1.0, height, xref="paper", xanchor="right", yanchor="bottom"))
    return figure(
        {**edge, "y": round_values(values.min(axis=1)), "name": f"{name}, lowest seed"},
        {**edge, "y": round_values(values.max(axis=1)), "name": f"{name}, highest seed", "fill": "tonexty"},
        {**common, "y": round_values(np.median(values, axis=1)), "name": f"{name}, median", "line": line},
        xaxis={"range": [0, last_epoch], "nticks": 4, "title": {"text": "epoch"}},
        yaxis={"range": list(span), "nticks": 4},
        shapes=shapes,
        annotations=annotations,
    )
