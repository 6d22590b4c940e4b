"""Losses with and without a causal mask, compared with the lowest possible loss, by step and by position."""

from __future__ import annotations

import math
from collections.abc import Sequence

import plotly.graph_objects as go

from explorer.figures.comparison import Line, comparison_figure


def loss_figure(
    lines: Sequence[Line],
    by_position: bool,
    x_end: float,
    span: tuple[float, float],
    loss_floor: tuple[float, str] | None,
) -> go.Figure:
    """Return the loss in nats on a logarithmic axis: a copied symbol costs a hundredth of a guessed one.

    lines: one for each model
    by_position: whether the x axis is the position in the row (from 1) or the training step
    x_end: the end of the x axis
    span: lowest and highest value of the y axis
    loss_floor: the lowest possible loss of a causal model and the text of its line
    """
    reference = None if loss_floor is None else (*loss_floor, "--soft")
    axis = "place" if by_position else "step"
    chart = comparison_figure(lines, axis, span, log_y=True, x_end=x_end, reference=reference, right_margin=92)
    chart.layout.xaxis.update(nticks=5, tickangle=0)
    powers = [10.0**power for power in range(round(math.log10(span[0])), math.floor(math.log10(span[1])) + 1)]
    chart.layout.yaxis.update(tickmode="array", tickvals=powers, ticktext=[f"{each:g}" for each in powers])
    if by_position:
        each = 3 if x_end < 20 else 10
        chart.layout.xaxis.update(
            range=[0.8, x_end], tickmode="array", tickvals=[1, *range(each, int(x_end) + 1, each)]
        )
    return chart
