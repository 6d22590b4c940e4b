"""Losses with and without a mask, beside the least that is possible: by step, and by place in the row."""

from __future__ import annotations

import math
from collections.abc import Sequence

import plotly.graph_objects as go

from explorer.figures.comparison import Line, comparison

_APART = 0.13  # of the height, two labels: the figures are low


def losses(
    lines: Sequence[Line],
    places: bool,
    last: float,
    span: tuple[float, float],
    floor: tuple[float, str] | None,
) -> go.Figure:
    """Loss in nats over steps, or over the places of a row from 1, within `span`, on a logarithmic axis: what is read
    off costs a hundredth of what is guessed. A line at the least that is possible, with what is written on it."""
    mark = None if floor is None else (*floor, "--soft")
    axis = "place" if places else "step"
    drawn = comparison(lines, axis, span, log_y=True, end=last, mark=mark, room=92, apart=_APART)
    drawn.layout.xaxis.update(nticks=5, tickangle=0)
    if floor and any(len(line.mean) and line.mean[0] > 1.5 * floor[0] for line in lines):
        drawn.layout.annotations[-1].yanchor = "top"  # they come from above: there it is in their way
    powers = [10.0**power for power in range(round(math.log10(span[0])), math.floor(math.log10(span[1])) + 1)]
    drawn.layout.yaxis.update(tickmode="array", tickvals=powers, ticktext=[f"{each:g}" for each in powers])
    if places:
        each = 3 if last < 20 else 10
        drawn.layout.xaxis.update(range=[0.8, last], tickmode="array", tickvals=[1, *range(each, int(last) + 1, each)])
    return drawn
