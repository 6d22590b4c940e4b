"""Exact match by training step."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from explorer.figures.comparison import Line, comparison_figure


def exact_match_by_step(lines: Sequence[Line], last: int) -> go.Figure:
    """Return exact match by training step."""
    chart = comparison_figure(lines, "step", (0.0, 1.04), x_end=float(last), right_margin=104)
    chart.layout.yaxis.update(tickmode="array", tickvals=[0, 0.5, 1], ticktext=["0", "0.5", "1"])
    return chart
