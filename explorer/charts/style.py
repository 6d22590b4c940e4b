"""Building blocks of all figures. Colours are CSS variables (`var(--m-rnn)`) that follow the light or dark theme.

The variables are defined in base.css of the user interface; fonts, grids and scales come from its plot frame.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, SupportsFloat, TypeAlias

from explorer.number_format import superscript

INK, SOFT, RULE, PAGE = "var(--ink)", "var(--soft)", "var(--rule)", "var(--page)"
Plot: TypeAlias = dict[str, Any]  # data and layout
Numbers: TypeAlias = Sequence[int | float | None]  # None is a gap
MINUS, PLUS = "var(--sign-1)", "var(--sign-5)"
VEIL = "var(--page/0.75)"  # behind a label, which a line may cross


def css_colour(colour: str, alpha: float | None = None) -> str:
    """Return a colour by its CSS variable and an optional opacity, as in css_colour("--m-rnn", 0.22)."""
    return f"var({colour})" if alpha is None else f"var({colour}/{alpha:g})"


def plot(*traces: dict[str, Any], **layout: Any) -> Plot:
    """Return a figure as plotly's JSON has it.

    A `go.Figure` would validate each property of it, which takes four times as long as the chart itself.
    """
    return {"data": list(traces), "layout": layout}


def horizontal_line(y: float, colour: str, width: float = 1, dash: str = "solid") -> dict[str, Any]:
    """Return a layout shape: a horizontal line over the whole width at the height `y`."""
    line = {"color": colour, "width": width, "dash": dash}
    return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y, "line": line}


def vertical_line(x: float, colour: str, width: float = 1, dash: str = "solid") -> dict[str, Any]:
    """Return a layout shape: a vertical line over the whole height at `x`."""
    line = {"color": colour, "width": width, "dash": dash}
    return {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": x, "x1": x, "line": line}


def annotation(text: str, x: float, y: float, **more: Any) -> dict[str, Any]:
    """Return a layout annotation: text at (x, y) without an arrow."""
    return {"text": text, "x": x, "y": y, "showarrow": False, "font": {"size": 14, "color": INK}, **more}


def end_label(text: str, x: float, y: float, size: int = 15, colour: str = INK) -> dict[str, Any]:
    """Return the label of a line that ends at (x, y), in shares of the axes.

    The browser places it near that end, where it covers neither a line nor another label (charts/end_labels.js).
    """
    y = min(max(y, 0.0), 1.0) if math.isfinite(y) else 1.0
    place = {"xref": "paper", "yref": "paper", "xanchor": "left", "xshift": 8, "yanchor": "middle", "align": "left"}
    return annotation(text, x, y, font={"size": size, "color": colour}, **place)


def line_trace(
    x: Numbers, y: Numbers, name: str, colour: str, dash: str | None = None, width: int | float = 3
) -> dict[str, Any]:
    """Return a line without dots through rounded values; None is a gap, and without a dash it is solid."""
    style = {"width": width, "color": css_colour(colour), **({"dash": dash} if dash else {})}
    return {"type": "scatter", "mode": "lines", "x": x, "y": y, "name": name, "line": style, "hoverinfo": "skip"}


def band(
    x: Numbers,
    low: Numbers,
    high: Numbers,
    names: tuple[str, str],
    colour: str,
    opacity: float,
) -> list[dict[str, Any]]:
    """Return the two invisible edges of a band, the upper one with the area between them.

    x, low, high: the points of both edges, rounded
    names: of the edges in a saved table
    colour, opacity: of the area
    """
    edges = [line_trace(x, y, name, colour, width=0) for y, name in zip((low, high), names, strict=True)]
    lower, upper = ({**edge, "fillcolor": css_colour(colour, opacity)} for edge in edges)
    return [lower, {**upper, "fill": "tonexty"}]


def round_values(values: Iterable[SupportsFloat]) -> list[float]:
    """Return numbers with four decimals, which keeps the figure small."""
    return [round(float(v), 4) for v in values]


def round_significant(value: SupportsFloat, digits: int = 5) -> float | None:
    """Return a number with so many significant digits; None, a gap in plotly, if it is not finite."""
    return float(f"{float(value):.{digits}g}") if math.isfinite(value) else None


def power_of_ten(power: int) -> str:
    """Return 10 to a power; raised digits are letters of the full font size, which a projected page can show."""
    return "1" if power == 0 else f"10{superscript(power)}"


def labelled_ticks(labels: Sequence[str]) -> dict[str, Any]:
    """Return axis settings with labels at 0, 1, 2 …; labels may repeat, as tokens do."""
    return {"tickmode": "array", "tickvals": list(range(len(labels))), "ticktext": [escape_markup(t) for t in labels]}


def show_whitespace(token: str) -> str:
    """Return a token whose spaces and line ends can be seen."""
    return token.replace(" ", "␣").replace("\n", "↵")


def escape_markup(text: str) -> str:
    """Return text that plotly shows literally; it would read "<BOS>" as markup."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
