"""Rules that depend on the place: how often a model is right at each."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from explorer.figures.comparison import Line, comparison
from explorer.figures.style import INK, upright


def by_place(lines: Sequence[Line], trained: int) -> go.Figure:
    """Share of right answers by place; an upright line behind the last place of the training."""
    drawn = comparison(lines, "place", (0.0, 1.06), room=110, apart=0.12)
    drawn.layout.shapes = (*drawn.layout.shapes, upright(trained + 0.5, INK, 1.5, "3px,3px"))
    drawn.layout.yaxis.update(tickmode="array", tickvals=[0, 0.5, 1])
    return drawn
