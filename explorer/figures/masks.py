"""Losses with and without a mask, beside what guessing costs: by step, and by place in the row."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from explorer.figures.comparison import Line, comparison

_APART = 0.13  # of the height, two labels: the figures are low


def losses(lines: Sequence[Line], places: bool, last: float, top: float, floor: float, guessing: str) -> go.Figure:
    """Loss in nats over steps, or over the places of a row from 1, up to `top`; a line at what guessing costs."""
    mark = (floor, guessing, "--soft")
    drawn = comparison(lines, "place" if places else "step", (0.0, top), end=last, mark=mark, room=86, apart=_APART)
    drawn.layout.xaxis.update(nticks=5, tickangle=0)
    if places:
        drawn.layout.xaxis.update(range=[0.8, last], tickmode="array", tickvals=[1, *range(3, int(last) + 1, 3)])
    return drawn
