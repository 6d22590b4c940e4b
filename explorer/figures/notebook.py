"""Figures for notebooks: plotly with its own white template, because a notebook has none of the app's colours."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go
from jaxtyping import Float, Int
from numpy import ndarray

from explorer.charts.style import escape_markup

_COLOURS = ("#006eb5", "#b4440b", "#13986a", "#9d4877", "#b68116", "#4c1f8f", "#0c94c9", "#674d32")
_CELL = 26  # px, the height of a row of a heat map


def attention_map(
    weights: Float[ndarray, "query key"], queries: Sequence[str], keys: Sequence[str], title: str
) -> go.Figure:
    """Return attention weights as a heat map: rows are query tokens, columns key tokens."""
    rows, columns = (list(map(_visible, tokens)) for tokens in (queries, keys))
    return go.Figure(
        {
            "type": "heatmap",
            "z": weights,
            "zmin": 0,
            "zmax": 1,
            "colorscale": "Blues",
            "xgap": 1,
            "ygap": 1,
            "colorbar": {"title": {"text": "weight"}},
            "text": [[f"{row} attends to {column}" for column in columns] for row in rows],
            "hovertemplate": "%{text}: %{z:.3f}<extra></extra>",
            "hoverongaps": False,
        },
        {
            "template": "plotly_white",
            "title": {"text": escape_markup(title)},
            "xaxis": {**_ticks(columns), "side": "top", "title": {"text": "key token"}, "showgrid": False},
            "yaxis": {
                **_ticks(rows),
                "autorange": "reversed",
                "title": {"text": "query token"},
                "showgrid": False,
            },
            "height": 190 + _CELL * len(queries),
            "margin": {"t": 140},
        },
    )


def share_map(
    shares: Float[ndarray, "rows columns"], rows: Sequence[str], columns: Sequence[Sequence[str]], title: str
) -> go.Figure:
    """Return shares as a heat map with diverging colours, the first row at the bottom.

    Each column has one name, or two where the tokens of two texts differ.
    """
    return go.Figure(
        {
            "type": "heatmap",
            "z": shares,
            "zmin": -1,
            "zmax": 1,
            "colorscale": "BrBG",
            "xgap": 1,
            "ygap": 1,
            "colorbar": {"tickvals": [-1, 0, 1], "ticktext": ["−1", "0 changed text", "1 clean text"]},
            "hovertemplate": "%{z:.3f}<extra></extra>",
            "hoverongaps": False,
        },
        {
            "template": "plotly_white",
            "title": {"text": escape_markup(title)},
            "xaxis": {**_ticks([" / ".join(map(_visible, names)) for names in columns]), "showgrid": False},
            "yaxis": {**_ticks(rows), "showgrid": False},
            "height": 190 + _CELL * len(rows),
        },
    )


def part_bars(names: Sequence[str], values: Sequence[float], title: str) -> go.Figure:
    """Return a bar for each part of a sum, the first one on top."""
    bars = {
        "type": "bar",
        "orientation": "h",
        "x": list(values),
        "y": list(range(len(names))),
        "marker": {"color": [_COLOURS[0] if value >= 0 else _COLOURS[1] for value in values]},
        "hovertemplate": "%{x:+.3f}<extra></extra>",
    }
    layout = {
        "template": "plotly_white",
        "title": {"text": escape_markup(title)},
        "xaxis": {"title": {"text": "added to the logit"}},
        "yaxis": {**_ticks(names), "autorange": "reversed"},
        "height": 150 + _CELL * len(names),
    }
    return go.Figure(bars, layout)


def _ticks(labels: Sequence[str]) -> dict[str, object]:
    """Return axis settings with labels at 0, 1, 2 …; labels may repeat, as tokens do."""
    return {"tickmode": "array", "tickvals": list(range(len(labels))), "ticktext": list(labels)}


def metric_figure(lines: Sequence[tuple[str, Int[ndarray, " _"], Float[ndarray, "3 _"]]], metric: str) -> go.Figure:
    """Return curves by step. A line has a name, its steps, and mean, lowest and highest value over the seeds."""
    traces = []
    for i, (name, steps, (mean, low, high)) in enumerate(lines):
        colour, name = _COLOURS[i % len(_COLOURS)], escape_markup(name)
        group = {"type": "scatter", "mode": "lines", "legendgroup": str(i), "name": name, "x": steps}
        edge = {**group, "line": {"width": 0, "color": colour}, "showlegend": False, "hoverinfo": "skip"}
        fill = f"rgba({int(colour[1:3], 16)},{int(colour[3:5], 16)},{int(colour[5:], 16)},0.15)"
        traces += [
            {**edge, "y": low},
            {**edge, "y": high, "fill": "tonexty", "fillcolor": fill},
            {**group, "y": mean, "line": {"width": 2, "color": colour}},
        ]
    layout = {
        "template": "plotly_white",
        "xaxis": {"title": {"text": "step"}},
        "yaxis": {"title": {"text": escape_markup(metric)}},
        "showlegend": len(lines) > 1,
    }
    return go.Figure(traces, layout)


def _visible(token: str) -> str:
    """Return a token whose spaces and line ends can be seen, without markup."""
    return escape_markup(token.replace(" ", "␣").replace("\n", "↵"))
