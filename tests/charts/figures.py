"""Figures of charts, which plotly validates."""

from __future__ import annotations

import plotly.graph_objects as go

from explorer.charts import Chart


def figure_of(chart: Chart) -> go.Figure:
    """Return the figure of a chart. Raises ValueError if plotly does not know a property or its value."""
    return go.Figure(chart.plot())
