"""Figures of activation patching: maps of the share of an answer that states restore, and the answers themselves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from explorer.charts.style import INK, SOFT, css_colour, escape_markup, figure, labelled_ticks, round_values

MAX_WRITTEN = 10  # rows and columns of a map whose numbers are written into the cells
_LARGE_NUMBERS = 8  # columns up to which large numbers fit into the cells on a phone
LEAST_WRITTEN = 0.05  # share
MAX_ROW_LABELS = 12


def share_map(
    rows: Sequence[str],
    columns: Sequence[str],
    shares: Float[ndarray, "rows columns"],
    selected: tuple[int, int] | None = None,
    legend: bool = False,
) -> go.Figure:
    """Return a heat map of shares, the first row at the bottom, with diverging colours: 0 is neutral.

    selected: row and column of the cell with a frame
    legend: whether the meaning of the colours is shown
    """
    written = max(shares.shape) <= MAX_WRITTEN
    every = -(-len(rows) // MAX_ROW_LABELS)
    ticks = labelled_ticks([name if i % every == 0 else "" for i, name in enumerate(rows)])
    trace = {
        "type": "heatmap",
        "z": [[None if np.isnan(value) else round(float(value), 4) for value in row] for row in shares],
        "x": list(range(len(columns))),
        "y": list(range(len(rows))),
        "zmin": -1,
        "zmax": 1,
        "xgap": 2 if len(rows) <= MAX_WRITTEN else 1,
        "ygap": 2 if len(rows) <= MAX_WRITTEN else 1,
        "autocolorscale": True,
        "hovertext": [
            [
                f"{escape_markup(row)}, {escape_markup(column)}: {value:.2f}"
                for column, value in zip(columns, values, strict=True)
            ]
            for row, values in zip(rows, shares, strict=True)
        ],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "showscale": legend,
        "name": "share",
    }
    if written:
        text = [[f"{value:.2f}" if abs(value) >= LEAST_WRITTEN else "" for value in row] for row in shares]
        size = 13 if len(columns) <= _LARGE_NUMBERS else 11
        trace |= {"text": text, "texttemplate": "%{text}", "textfont": {"size": size}}
    if legend:
        trace["colorbar"] = {
            "orientation": "h",
            "x": 0,
            "xanchor": "left",
            "y": 1,
            "yanchor": "bottom",
            "len": 0.75,
            "thickness": 10,
            "outlinewidth": 0,
            "tickvals": [-1, 0, 1],
            "ticktext": ["−1", "0 changed", "1 first"],
            "tickangle": 0,
            "tickfont": {"size": 14, "color": SOFT},
        }
    return figure(
        trace,
        margin={"l": 8, "r": 8, "t": 64 if legend else 28, "b": 8},
        xaxis={
            "tickmode": "array",
            "tickvals": list(range(len(columns))),
            "ticktext": [escape_markup(column) for column in columns],
            "showline": False,
            "ticks": "",
            "range": [-0.52, len(columns) - 0.48],
            "autotickangles": [0, 90],  # upright on a narrow screen
        },
        yaxis={**ticks, "range": [-0.52, len(rows) - 0.48], "showgrid": False},
        shapes=[] if selected is None else [_cell_frame(*selected)],
    )


def _cell_frame(row: int, column: int) -> dict[str, object]:
    """Return a layout shape: a frame around one cell."""
    line = {"color": INK, "width": 3}
    corners = {"x0": column - 0.5, "x1": column + 0.5, "y0": row - 0.5, "y1": row + 0.5}
    return {"type": "rect", **corners, "line": line, "fillcolor": "rgba(0,0,0,0)"}


def patched_answers(
    outcomes: Sequence[str],
    changed: Float[ndarray, " outcomes"],
    patched: Float[ndarray, " outcomes"],
    first: Float[ndarray, " outcomes"],
    colour: str,
) -> go.Figure:
    """Return bars of the probabilities of the outcomes: changed text, with the patched state, first text."""
    bars = [
        {
            "type": "bar",
            "orientation": "h",
            "x": round_values(values),
            "y": list(range(len(outcomes))),
            "name": name,
            "marker": {"color": shown},
            "hovertemplate": "%{x:.3f}<extra>" + name + "</extra>",
        }
        for name, values, shown in (
            ("changed text", changed, SOFT),
            ("with the state from the first text", patched, css_colour(colour)),
            ("first text", first, INK),
        )
    ]
    return figure(
        *bars,
        barmode="group",
        bargap=0.25,
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "traceorder": "normal"},
        xaxis={"range": [0, 1], "nticks": 6, "title": {"text": "probability"}},
        yaxis={**labelled_ticks(outcomes), "range": [len(outcomes) - 0.5, -0.5], "showgrid": False},
    )
