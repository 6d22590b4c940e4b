"""A loss for each tokenizer, in a unit in which they can be compared."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from explorer.figures.style import annotation, css_colour, escape_markup, figure, round_values


def bars(names: Sequence[str], values: Sequence[float], digits: int, colour: str) -> go.Figure:
    """Return a horizontal bar with its number for each name, of values that can be compared; the lowest bar is solid.

    names, values: of the bars, from top to bottom
    digits: decimals of the numbers
    colour: of the bars
    """
    lowest = min(values)
    numbers = [
        annotation(
            f"<b>{value:,.{digits}f}</b>" if value == lowest else f"{value:,.{digits}f}",
            value,
            float(row),
            xanchor="left",
            xshift=6,
        )
        for row, value in enumerate(values)
    ]
    return figure(
        {
            "type": "bar",
            "orientation": "h",
            "x": round_values(values),
            "y": list(range(len(values))),
            "marker": {"color": [css_colour(colour, 1.0 if value == lowest else 0.4) for value in values]},
            "hoverinfo": "skip",
            "name": "loss",
        },
        xaxis={"range": [0, 1.45 * max(values)], "visible": False},
        yaxis={
            "tickvals": list(range(len(names))),
            "ticktext": [escape_markup(name) for name in names],
            "range": [len(names) - 0.5, -0.5],
            "showgrid": False,
        },
        annotations=numbers,
        margin={"l": 80, "r": 8, "t": 8, "b": 8},
    )
