"""Reverse, copy and dates: exact match by source length, by date format, by training step and by ablation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from explorer.charts.style import (
    INK,
    SOFT,
    annotation,
    css_colour,
    escape_markup,
    figure,
    heatmap,
    horizontal_line,
    labelled_ticks,
    vertical_line,
)
from explorer.figures.comparison import Line, comparison_figure

_LABELLED, _FEW_COLUMNS = 0.15, 12  # weights from here on, and as many columns, have room for numbers
_LABEL_LEVELS = (0.82, 0.66, 0.5, 0.34, 0.18)  # heights at which the lines are labelled, one each


def exact_match_by_length(lines: Sequence[Line], trained: int, longest: int) -> go.Figure:
    """Return exact match by source length; a vertical line ends the trained lengths.

    A line is labelled where it falls, because the lines overlap at their ends.
    """
    chart = comparison_figure(lines, "source length", (0.0, 1.04), x_end=float(longest), right_margin=20)
    chart.layout.annotations = [
        *(
            _line_label(line, level, i == 0)
            for i, (line, level) in enumerate(zip(lines, _LABEL_LEVELS, strict=False))
            if len(line.x)
        ),
        annotation("trained", trained + 0.5, 0.04, xanchor="right", yanchor="bottom", xshift=-6),
        annotation("beyond", trained + 0.5, 0.04, xanchor="left", yanchor="bottom", xshift=6),
    ]
    chart.layout.shapes = (vertical_line(trained + 0.5, INK, 1.5, "3px,3px"),)
    chart.layout.yaxis.update(tickmode="array", tickvals=[0, 0.5, 1], ticktext=["0", "0.5", "1"])
    return chart


def _line_label(line: Line, level: float, on_left: bool) -> dict[str, object]:
    """Return the label of a line, left or right of its last crossing of the height `level`."""
    above = np.flatnonzero(line.mean >= level)
    at = int(above[-1]) if len(above) else 0
    x = float(line.x[at])
    if at + 1 < len(line.x) and line.mean[at] > line.mean[at + 1]:
        x += float((line.mean[at] - level) / (line.mean[at] - line.mean[at + 1]) * (line.x[at + 1] - line.x[at]))
    font = {"size": 15, "color": css_colour(line.colour)}
    where = {"xanchor": "right", "xshift": -8} if on_left else {"xanchor": "left", "xshift": 8}
    return annotation(f"<b>{escape_markup(line.label)}</b>", x, level, font=font, **where)


def exact_match_by_step(lines: Sequence[Line], last: int) -> go.Figure:
    """Return exact match by training step."""
    chart = comparison_figure(lines, "step", (0.0, 1.04), x_end=float(last), right_margin=104)
    chart.layout.yaxis.update(tickmode="array", tickvals=[0, 0.5, 1], ticktext=["0", "0.5", "1"])
    return chart


def exact_match_by_format(
    shares: Float[ndarray, "formats models"], formats: Sequence[str], models: Sequence[str]
) -> go.Figure:
    """Return a heat map of exact match by date format and model."""
    texts = [["" if np.isnan(share) else f"{share:.2f}" for share in row] for row in shares]
    return figure(
        {**heatmap(shares, "exact match"), "text": texts, "hoverinfo": "skip"},
        xaxis={**labelled_ticks(models), "showgrid": False, "side": "top"},
        yaxis={**labelled_ticks(formats), "autorange": "reversed", "showgrid": False},
        margin={"l": 8, "r": 8, "t": 36, "b": 8},
    )


def exact_match_by_ablation(
    values: Float[ndarray, "ablations models replicas"], rows: Sequence[str], models: Sequence[str]
) -> go.Figure:
    """Return a heat map of exact match by ablation and model, the median over seeds with their range.

    NaN, an ablation that a model does not have, has no tile.
    """
    texts = [
        ["" if np.isnan(each).any() else f"{np.median(each):.2f}  ({each.min():.2f}–{each.max():.2f})" for each in row]
        for row in values
    ]
    return figure(
        {**heatmap(np.median(values, axis=-1), "exact match"), "text": texts, "hoverinfo": "skip"},
        xaxis={**labelled_ticks(models), "showgrid": False, "side": "top"},
        yaxis={**labelled_ticks(rows), "autorange": "reversed", "showgrid": False},
        margin={"l": 8, "r": 8, "t": 36, "b": 8},
    )


def copy_accuracy_by_step(lines: Sequence[Line], last: int, chance: float) -> go.Figure:
    """Return the share of correctly copied tokens by step, with and without attention, and a line at chance."""
    chart = comparison_figure(lines, "step", (0.0, 1.04), x_end=float(last), right_margin=96)
    chart.layout.shapes = (horizontal_line(chance, SOFT, 1.5, "5px,4px"),)
    chart.layout.yaxis.update(tickmode="array", tickvals=[0, 0.5, 1], ticktext=["0", "0.5", "1"])
    return chart


def alignment_map(weights: Float[ndarray, "target source"], target: Sequence[str], source: Sequence[str]) -> go.Figure:
    """Return attention weights as a heat map: a row for each token that is written, a column for each of the source."""
    rows, columns = weights.shape
    text = [
        [f"{value:.2f}" if value >= _LABELLED and columns <= _FEW_COLUMNS else "" for value in row] for row in weights
    ]
    return figure(
        {**heatmap(weights, "attention"), "text": text, "textfont": {"size": 13}, "hoverinfo": "skip"},
        xaxis={
            **labelled_ticks(source),
            "showline": False,
            "ticks": "",
            "range": [-0.5, columns - 0.5],
            "side": "top",
            "tickangle": 0 if columns <= _FEW_COLUMNS else -90,
        },
        yaxis={**labelled_ticks(target), "range": [rows - 0.5, -0.5], "showgrid": False},
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
    )
