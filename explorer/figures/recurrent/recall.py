"""Recall: accuracy by training step, accuracy by sequence length, and the share of seeds that solve each length."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from explorer.charts.style import INK, SOFT, figure, heatmap, horizontal_line, labelled_ticks, vertical_line
from explorer.figures.comparison import Line, comparison_figure

_LENGTHS = (1, 10, 100, 1_000)
_LABEL_MARGIN = 88  # px for the labels at the ends of the lines


def accuracy_by_step(lines: Sequence[Line], last: int, chance: float) -> go.Figure:
    """Return accuracy by step on the range 0 to 1, the same for all architectures."""
    return _with_chance_line(
        comparison_figure(lines, "step", (0.0, 1.04), x_end=float(last), right_margin=_LABEL_MARGIN),
        chance,
    )


def accuracy_by_length(lines: Sequence[Line], trained: int, longest: int, chance: float) -> go.Figure:
    """Return accuracy by sequence length (logarithmic axis); a vertical line marks the trained length."""
    chart = comparison_figure(lines, "length", (0.0, 1.04), log_x=True, right_margin=_LABEL_MARGIN)
    shown = [length for length in _LENGTHS if length <= longest]
    chart.layout.xaxis.update(
        range=[-0.05, float(np.log10(longest)) + 0.02],
        tickmode="array",
        tickvals=shown,
        ticktext=[f"{n:,}" for n in shown],
    )
    chart.layout.shapes = (*chart.layout.shapes, vertical_line(float(trained), INK, 1.5, "3px,3px"))
    return _with_chance_line(chart, chance)


def _with_chance_line(chart: go.Figure, chance: float) -> go.Figure:
    """Return the figure with few ticks and a line at chance accuracy."""
    chart.layout.shapes = (*chart.layout.shapes, horizontal_line(chance, SOFT, 1.5, "5px,4px"))
    chart.layout.yaxis.update(tickmode="array", tickvals=[0, chance, 1], ticktext=["0", f"{chance:.2g}", "1"])
    chart.layout.xaxis.update(nticks=4, tickangle=0)
    return chart


def solved_shares(
    shares: Float[ndarray, "rows columns"],
    texts: Sequence[Sequence[str]],
    rows: Sequence[str],
    columns: Sequence[str],
    axis: str,
) -> go.Figure:
    """Return a heat map of the share of seeds that solve the task, by row and length; no tile where there is no run.

    shares: the values, NaN where there is no run
    texts: what is written on each tile
    rows, columns: tick labels
    axis: the title of the columns
    """
    return figure(
        {**heatmap(shares, "share of seeds that solve it"), "text": [list(row) for row in texts], "hoverinfo": "skip"},
        xaxis={**labelled_ticks(columns), "title": {"text": axis}, "showgrid": False, "side": "top"},
        yaxis={**labelled_ticks(rows), "autorange": "reversed", "showgrid": False},
        margin={"l": 8, "r": 8, "t": 40, "b": 8},
    )


def train_and_test_accuracy(lines: Sequence[Line], last: int, early_stop: int) -> go.Figure:
    """Return accuracy by step on training and on fresh sequences; a vertical line marks `early_stop`, a step."""
    chart = comparison_figure(lines, "step", (0.0, 1.04), x_end=float(last), right_margin=_LABEL_MARGIN)
    chart.layout.shapes = (*chart.layout.shapes, vertical_line(float(early_stop), INK, 1.5, "3px,3px"))
    return _with_chance_line(chart, 0.5)
