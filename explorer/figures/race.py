"""Learning curves: the mean over the seeds as a line, lowest to highest seed as a band."""

from __future__ import annotations

import plotly.graph_objects as go
from jaxtyping import Float, Int
from numpy import ndarray

from explorer.figures.style import INK, blank, paint

LOW, HIGH, MEAN = range(3)  # the traces, in this order


def learning_curve(
    epochs: Int[ndarray, " evaluations"],
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
    low, high, mean = values.min(axis=1), values.max(axis=1), values.mean(axis=1)
    figure = blank(
        xaxis={"range": [0, last_epoch], "nticks": 4, "title": {"text": "epoch"}},
        yaxis={"range": list(span), "nticks": 4},
    )
    edge = {"width": 0, "color": paint(colour)}
    x = [int(e) for e in epochs]
    for data, fill, what in ((low, "none", "lowest seed"), (high, "tonexty", "highest seed")):
        figure.add_scatter(
            x=x, y=_rounded(data), mode="lines", line=edge, fill=fill, fillcolor=paint(colour, 0.22),
            name=f"{name}, {what}", hoverinfo="skip",
        )  # fmt: skip
    figure.add_scatter(
        x=x, y=_rounded(mean), mode="lines", line={"width": 3, "color": paint(colour), "dash": dash},
        name=f"{name}, mean", hoverinfo="skip",
    )  # fmt: skip
    if ceiling:
        height, text = ceiling
        figure.add_hline(y=height, line={"color": INK, "width": 1.5, "dash": "5px,4px"})
        if text:
            figure.add_annotation(
                x=1, xref="paper", xanchor="right", y=height, yanchor="bottom", text=text, showarrow=False,
                font={"size": 14, "color": INK},
            )  # fmt: skip
    return figure


def _rounded(values: Float[ndarray, " n"]) -> list[float]:
    return [round(float(v), 4) for v in values]
