"""Figures of a sweep: a map for two settings, lines for one, parallel coordinates for any number.

Trials that were given up were measured earlier than the others, so colours show ranks and not values: a trial that went
further is ranked before one that was given up. A notebook has none of the app's colours, so each figure takes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from explorer.charts.style import css_colour, escape_markup, round_significant


@dataclass(frozen=True)
class Colours:
    """The colours of a figure: of lines and points with an opacity from 0 to 1, and of the heat map."""

    rgb: str  # "var(--m-rnn)" of the app, or "0,110,181"
    heat: dict[str, Any]
    template: str
    veil: str  # behind a label that lines cross

    def with_opacity(self, opacity: float) -> str:
        return css_colour(self.rgb, opacity) if self.rgb.startswith("--") else f"rgba({self.rgb},{opacity:g})"


def app_colours(colour: str) -> Colours:
    """Return the colours of the app, for a model with this CSS variable."""
    return Colours(colour, {"autocolorscale": True}, "none", css_colour("--page", 0.75))


NOTEBOOK = Colours("0,110,181", {"colorscale": "Blues"}, "plotly_white", "rgba(255,255,255,0.75)")


def trial_map(
    ranks: Float[ndarray, "rows columns"],
    texts: Sequence[Sequence[str]],
    rows: Sequence[str],
    columns: Sequence[str],
    titles: tuple[str, str],
    colours: Colours,
) -> go.Figure:
    """Return a map of the trials of a grid over two settings.

    ranks: from 0 (worst) to 1 (best); NaN where there is no result yet
    texts: what is written into each cell
    rows, columns: the values of the two settings
    titles: the names of the settings of the rows and of the columns
    """
    trace = {
        "type": "heatmap",
        "z": [[round_significant(rank) for rank in row] for row in ranks],
        "zmin": 0,
        "zmax": 1,
        "xgap": 2,
        "ygap": 2,
        "showscale": False,
        "text": [[escape_markup(text).replace("\n", "<br>") for text in row] for row in texts],
        "texttemplate": "%{text}",
        "hoverinfo": "none",  # with "skip" plotly reports no clicks
        **colours.heat,
    }
    return go.Figure(
        [trace],
        {
            "template": colours.template,
            "xaxis": {**_values_axis(columns, titles[1]), "showgrid": False},
            "yaxis": {**_values_axis(rows, titles[0]), "showgrid": False},
        },
    )


@dataclass(frozen=True, eq=False)
class Level:
    """The trials that reached one step, in the order of their values of the setting."""

    title: str
    positions: Sequence[int]  # of the value on the axis
    mean: Float[ndarray, " trials"]
    low: Float[ndarray, " trials"]
    high: Float[ndarray, " trials"]


def trial_lines(
    levels: Sequence[Level], values: Sequence[str], titles: tuple[str, str], log_y: bool, colours: Colours
) -> go.Figure:
    """Return a line with a band over the seeds for each step at which trials were compared; the last one is strongest.

    values: of the setting, as the horizontal axis shows them
    titles: of the metric and of the setting
    """
    traces: list[dict[str, Any]] = []
    for i, level in enumerate(levels):
        strength = (i + 1) / len(levels)
        line = {"width": 1.5 + strength, "color": colours.with_opacity(0.25 + 0.75 * strength)}
        common = {"type": "scatter", "x": list(level.positions), "legendgroup": level.title, "hoverinfo": "none"}
        edge = {
            **common,
            "mode": "lines",
            "line": {"width": 0, "color": colours.with_opacity(0.0)},
            "showlegend": False,
        }
        fill = {"fill": "tonexty", "fillcolor": colours.with_opacity(0.05 + 0.15 * strength)}
        low, mean, high = (
            [round_significant(value) for value in values_of] for values_of in (level.low, level.mean, level.high)
        )
        traces += [
            {**edge, "y": low, "name": f"{level.title}, lowest seed"},
            {**edge, "y": high, "name": f"{level.title}, highest seed", **fill},
            {**common, "y": mean, "mode": "lines+markers", "line": line, "marker": {"size": 8}, "name": level.title},
        ]
    return go.Figure(
        traces,
        {
            "template": colours.template,
            "xaxis": _values_axis(values, titles[1]),
            "yaxis": {
                "title": {"text": titles[0]},
                "type": "log" if log_y else "linear",
                "exponentformat": "power",
                "showticklabels": bool(levels),  # without values, the ticks of plotly mean nothing
            },
            "showlegend": len(levels) > 1,
            "legend": {"orientation": "h", "y": 1.12},
        },
    )


def trial_parallel(
    heights: Float[ndarray, "trials axes"],
    names: Sequence[str],
    ticks: Sequence[Sequence[tuple[float, str]]],
    strengths: Float[ndarray, " trials"],
    labels: Sequence[str],
    colours: Colours,
) -> go.Figure:
    """Return parallel coordinates: a line for each trial through its values, and its rank on the last axis.

    heights: from 0 to 1 on each axis
    names: of the axes
    ticks: heights and labels on each axis
    strengths: of the lines, from 0 to 1; the strongest are drawn last
    labels: of the trials
    """
    traces = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "x": list(range(len(names))),
            "y": [round_significant(height) for height in heights[i]],
            "line": {"width": 1 + 2 * float(strengths[i]), "color": colours.with_opacity(0.12 + 0.88 * strengths[i])},
            "marker": {"size": 6},
            "name": escape_markup(labels[i]),
            "hoverinfo": "none",
        }
        for i in strengths.argsort(kind="stable")
    ]
    annotations = [
        {
            "text": escape_markup(text),
            "x": axis,
            "y": height,
            "xanchor": "left",
            "xshift": 6,
            "showarrow": False,
            "font": {"size": 13},
            "bgcolor": colours.veil,
        }
        for axis, marks in enumerate(ticks)
        for height, text in marks
    ]
    axes = {"type": "line", "y0": 0, "y1": 1, "line": {"width": 1, "color": colours.with_opacity(0.4)}}
    return go.Figure(
        traces,
        {
            "template": colours.template,
            "xaxis": {**_values_axis(names, ""), "range": [-0.15, len(names) - 0.5], "showgrid": False},
            "yaxis": {"range": [-0.05, 1.05], "visible": False},
            "showlegend": False,
            "annotations": annotations,
            "shapes": [{**axes, "x0": i, "x1": i} for i in range(len(names))],
        },
    )


def _values_axis(values: Sequence[str], title: str) -> dict[str, Any]:
    """Return an axis with one tick for each value."""
    return {
        "tickmode": "array",
        "tickvals": list(range(len(values))),
        "ticktext": [escape_markup(value) for value in values],
        "range": [-0.5, len(values) - 0.5],
        "title": {"text": escape_markup(title)},
    }
