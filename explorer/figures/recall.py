"""Recall: accuracy while a net learns, accuracy at every other length, and who solves it at which length."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from explorer.figures.comparison import Line, comparison
from explorer.figures.style import INK, SOFT, across, figure, ticks, tiles, upright

_LENGTHS = (1, 10, 100, 1_000)
_APART = 0.13  # of the height, two labels: several figures stand side by side, and are low


def by_step(lines: Sequence[Line], last: int, chance: float) -> go.Figure:
    """Accuracy by step, from nothing to all, on the same frame for all architectures."""
    return _framed(comparison(lines, "step", (0.0, 1.04), end=float(last), room=66, apart=_APART), chance)


def by_length(lines: Sequence[Line], trained: int, longest: int, chance: float) -> go.Figure:
    """Accuracy by the length asked (a logarithmic axis); an upright line at the length of the training."""
    drawn = comparison(lines, "symbols", (0.0, 1.04), log_x=True, room=66, apart=_APART)
    shown = [length for length in _LENGTHS if length <= longest]
    drawn.layout.xaxis.update(
        range=[-0.05, float(np.log10(longest)) + 0.02],
        tickmode="array",
        tickvals=shown,
        ticktext=[f"{n}" if n < 1_000 else f"{n // 1_000}k" for n in shown],
    )
    drawn.layout.shapes = (*drawn.layout.shapes, upright(float(trained), INK, 1.5, "3px,3px"))
    return _framed(drawn, chance)


def _framed(drawn: go.Figure, chance: float) -> go.Figure:
    """As low as four of them side by side are, with a line at what guessing comes to."""
    drawn.layout.shapes = (*drawn.layout.shapes, across(chance, SOFT, 1.5, "5px,4px"))
    drawn.layout.yaxis.update(tickmode="array", tickvals=[0, chance, 1], ticktext=["0", f"{chance:.2g}", "1"])
    drawn.layout.xaxis.update(nticks=4, tickangle=0)
    return drawn


def solved(
    shares: Float[ndarray, "rows columns"],
    said: Sequence[Sequence[str]],
    rows: Sequence[str],
    columns: Sequence[str],
    axis: str,
) -> go.Figure:
    """The share of seeds that solve it, a tile for each row at each length; no tile where there is no run yet."""
    return figure(
        {**tiles(shares, "share of seeds that solve it"), "text": [list(row) for row in said], "hoverinfo": "skip"},
        xaxis={**ticks(columns), "title": {"text": axis}, "showgrid": False, "side": "top"},
        yaxis={**ticks(rows), "autorange": "reversed", "showgrid": False},
        margin={"l": 8, "r": 8, "t": 40, "b": 8},
    )


def own_and_fresh(lines: Sequence[Line], last: int, stops: int) -> go.Figure:
    """Accuracy by step on the sequences that were learned from and on fresh ones; upright, where somebody stopped."""
    drawn = comparison(lines, "step", (0.0, 1.04), end=float(last), room=66, apart=_APART)
    drawn.layout.shapes = (*drawn.layout.shapes, upright(float(stops), INK, 1.5, "3px,3px"))
    return _framed(drawn, 0.5)
