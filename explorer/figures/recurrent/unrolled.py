"""Accuracy by position for the position-rule task."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from explorer.charts.style import INK, vertical_line
from explorer.figures.comparison import Line, comparison_figure


def accuracy_by_position(lines: Sequence[Line], trained: int) -> go.Figure:
    """Return the share of right answers by position; a vertical line ends the trained positions."""
    chart = comparison_figure(lines, "place", (0.0, 1.06), right_margin=110)
    chart.layout.shapes = (*chart.layout.shapes, vertical_line(trained + 0.5, INK, 1.5, "3px,3px"))
    chart.layout.yaxis.update(tickmode="array", tickvals=[0, 0.5, 1])
    return chart
