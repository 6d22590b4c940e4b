"""Sensitivity to word order with a dot for every seed, and delayed-copy accuracy by length."""

from __future__ import annotations

import math
from collections.abc import Sequence

import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from explorer.figures.comparison import Line, comparison_figure
from explorer.figures.style import (
    INK,
    PAGE,
    SOFT,
    annotation,
    css_colour,
    figure,
    labelled_ticks,
    power_of_ten,
    vertical_line,
)

LOWEST = 1e-9
_GROUP_GAP = 0.8  # rows between models without and with a causal mask
ROUNDING = 1e-5  # upper bound of float32 rounding when terms are summed in another order


def order_sensitivity(
    rows: Sequence[str], hollow: Sequence[bool], differences: Float[ndarray, "rows seeds"], colour: str
) -> go.Figure:
    """Return relative differences on a logarithmic axis, a row for each kind of model; 0 stands at the left edge.

    Models with a causal mask have hollow diamonds and stand apart: the mask itself tells them about the order.
    """
    places = [row + _GROUP_GAP * is_hollow for row, is_hollow in enumerate(hollow)]
    traces = []
    for place, name, is_hollow, values in zip(places, rows, hollow, differences, strict=True):
        dot = {
            "size": 11,
            "color": PAGE if is_hollow else css_colour(colour),
            "symbol": "diamond" if is_hollow else "circle",
        }
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": [float(f"{max(float(v), LOWEST):.4g}") for v in values],
                "y": [place] * len(values),
                "marker": {**dot, "line": {"width": 2, "color": css_colour(colour)}},
                "name": name,
                "hovertemplate": "%{x:.2g}<extra></extra>",
                "cliponaxis": False,
            }
        )
    marks = [10.0**power for power in range(-9, 1, 2)]
    edge = {"xanchor": "right", "xshift": -6, "yref": "paper", "yanchor": "bottom", "font": {"size": 14, "color": SOFT}}
    return figure(
        *traces,
        xaxis={
            "type": "log",
            "range": [-9.3, 0.5],
            "tickmode": "array",
            "tickvals": marks,
            "ticktext": [
                "0",
                *(f"{mark:g}" if mark > 1e-3 else power_of_ten(i) for i, mark in _label_exponents(marks[1:])),
            ],
            "title": {"text": "difference, as a share"},
        },
        yaxis={**labelled_ticks(rows), "tickvals": places, "range": [places[-1] + 0.5, -0.5]},
        shapes=[vertical_line(ROUNDING, SOFT, 1.5, "3px,3px")],
        annotations=[annotation("rounding", math.log10(ROUNDING), 1.0, **edge)],
        margin={"l": 8, "r": 16, "t": 26, "b": 8},
    )


def _label_exponents(marks: Sequence[float]) -> list[tuple[int, float]]:
    return [(round(2 * i - 7), mark) for i, mark in enumerate(marks)]


def exact_match_by_length(line: Line, trained: int, longest: int) -> go.Figure:
    """Return the exact match of one model by the number of digits; a vertical line ends the trained lengths."""
    chart = comparison_figure([line], "digits", (0.0, 1.04), x_end=float(longest), right_margin=14)
    style = {"xanchor": "left", "yanchor": "top", "xshift": 14, "font": {"size": 14, "color": SOFT}}
    chart.layout.annotations = [annotation("not trained", trained + 0.5, 1.0, **style)]
    chart.layout.shapes = (vertical_line(trained + 0.5, INK, 1.5, "3px,3px"),)
    chart.layout.xaxis.update(nticks=5, tickangle=0)
    chart.layout.yaxis.update(tickmode="array", tickvals=[0, 0.5, 1], ticktext=["0", "0.5", "1"])
    return chart
