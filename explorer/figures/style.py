"""What all figures share. Colours are names (`var(--m-rnn)`), so that the browser can follow light and dark.

The names are those of `ui/assets/base.css`; fonts, grids and scales come from the frame (`ui/assets/theme.js`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, SupportsFloat

import plotly.graph_objects as go

INK, SOFT, RULE, PAGE = "var(--ink)", "var(--soft)", "var(--rule)", "var(--page)"
MINUS, PLUS = "var(--sign-1)", "var(--sign-5)"


def paint(colour: str, alpha: float | None = None) -> str:
    """A named colour, e.g. paint("--m-rnn", .22)."""
    return f"var({colour})" if alpha is None else f"var({colour}/{alpha:g})"


def figure(*traces: dict[str, Any], **layout: Any) -> go.Figure:
    """A figure without plotly's own template, made in one go: adding to a figure piece by piece costs
    plotly a validation of everything that is there already."""
    return go.Figure(data=list(traces), layout={"template": "none", **layout})


def across(y: float, colour: str, width: float = 1, dash: str = "solid") -> dict[str, Any]:
    """A line over the whole width at a height, as a layout shape."""
    line = {"color": colour, "width": width, "dash": dash}
    return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y, "line": line}


def upright(x: float, colour: str, width: float = 1, dash: str = "solid") -> dict[str, Any]:
    """A line over the whole height at a place, as a layout shape."""
    line = {"color": colour, "width": width, "dash": dash}
    return {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": x, "x1": x, "line": line}


def words(text: str, x: float, y: float, **more: Any) -> dict[str, Any]:
    """Words at a place, as a layout annotation."""
    return {"text": text, "x": x, "y": y, "showarrow": False, "font": {"size": 14, "color": INK}, **more}


def spread(wanted: Sequence[float], gap: float) -> list[float]:
    """The same heights in the same order, no two nearer than `gap`, none above 1."""
    order = sorted(range(len(wanted)), key=lambda i: (-wanted[i], i))
    ceiling, floor, placed = 1.0, 0.0, dict.fromkeys(order, 0.0)
    for i in order:
        placed[i] = min(wanted[i], ceiling)
        ceiling = placed[i] - gap
    for i in reversed(order):  # several at the bottom push each other up again
        placed[i] = max(placed[i], floor)
        floor = placed[i] + gap
    return [placed[i] for i in range(len(wanted))]


def named_ends(ends: Sequence[tuple[str, str, bool, float | None]], gap: float) -> list[dict[str, Any]]:
    """The names of lines where these end, pushed apart where they would cover each other: name, colour, whether the
    line's dots are hollow, and the height as a share of the figure's; a line without a number has no name."""
    there = [(name, colour, hollow, end) for name, colour, hollow, end in ends if end is not None]
    place = {"xref": "paper", "yref": "paper", "xanchor": "left", "xshift": 10, "yanchor": "middle"}
    return [
        words(f'<span style="color:{paint(colour)}">{"○" if hollow else "●"}</span> {name}', 1.0, height, **place)
        for (name, colour, hollow, _), height in zip(there, spread([end for *_, end in there], gap), strict=True)
    ]


def dotted(
    name: str, colour: str, dash: str, x: Iterable[int], y: Iterable[float], hollow: bool = False
) -> dict[str, Any]:
    """A line with a dot for each number that was measured."""
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "x": list(x),
        "y": [short(value) for value in y],
        "line": {"width": 2.5, "color": paint(colour), "dash": dash},
        "marker": {
            "size": 7,
            "color": PAGE if hollow else paint(colour),
            "line": {"width": 2 if hollow else 0, "color": paint(colour)},
        },
        "cliponaxis": False,
        "connectgaps": True,  # what was not measured lies between what was; dots are what was
        "hoverinfo": "skip",
        "name": name,
    }


def rounded(values: Iterable[SupportsFloat]) -> list[float]:
    """Numbers short enough to travel."""
    return [round(float(v), 4) for v in values]


def short(value: SupportsFloat) -> float | None:
    """A number short enough to travel, whatever its size; plotly leaves a gap where there is none."""
    return float(f"{float(value):.5g}") if math.isfinite(value) else None


def signed(value: float, digits: int = 2) -> str:
    """A number with its sign, a true minus, and no negative zero."""
    text = f"{value:+.{digits}f}"
    return text.replace("-", "−") if float(text) else f"{0:.{digits}f}"


def ticks(labels: Sequence[str]) -> dict[str, Any]:
    """An axis whose places 0, 1, 2 … carry labels; they may repeat, as tokens do."""
    return {"tickmode": "array", "tickvals": list(range(len(labels))), "ticktext": [escape(t) for t in labels]}


def tiles(shares: Iterable[Iterable[SupportsFloat]], name: str) -> dict[str, Any]:
    """A heatmap of shares of one, each with its text; no tile where there is none (NaN), for that is not 0."""
    rows = [[None if math.isnan(float(share)) else round(float(share), 4) for share in row] for row in shares]
    return {
        "type": "heatmap",
        "z": rows,
        "x": list(range(len(rows[0]))),
        "y": list(range(len(rows))),
        "texttemplate": "%{text}",
        "zmin": 0,
        "zmax": 1,
        "xgap": 2,
        "ygap": 2,
        "showscale": False,
        "autocolorscale": True,
        "name": name,
    }


def escape(text: str) -> str:
    """Text as plotly shows it literally: it would read "<BOS>" as markup."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
