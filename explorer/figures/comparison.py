"""Several runs on the same axes: one line each, a band from the lowest to the highest seed, a label at its end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, SupportsFloat, runtime_checkable

import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from explorer.figures.style import (
    annotation,
    css_colour,
    escape_markup,
    figure,
    horizontal_line,
    round_significant,
    spread_apart,
)

_LONGEST = 22  # characters on a line of a name in the figure
_VEIL = css_colour("--page", 0.75)  # behind a label, which a line may cross
TRACES_PER_RUN = 3  # traces: lowest seed, highest seed, mean or median


@dataclass(frozen=True, eq=False)
class Line:
    """The curve of one run; its arrays are already thinned. Lines are equal only if they are the same object."""

    label: str  # short: it stands at the end of the line
    title: str
    colour: str
    dash: str
    x: Float[ndarray, " points"]
    mean: Float[ndarray, " points"]  # over the seeds, or their median
    low: Float[ndarray, " points"]
    high: Float[ndarray, " points"]
    statistic: str = field(default="mean", kw_only=True)  # the name of the line in a saved table


@runtime_checkable
class Variant(Protocol):
    """How a model variant is drawn (`experiments.model_variant`)."""

    @property
    def label(self) -> str: ...
    @property
    def words(self) -> str: ...
    @property
    def colour(self) -> str: ...
    @property
    def dash(self) -> str: ...


def variant_line(
    variant: Variant,
    x: Float[ndarray, " points"],
    mean: Float[ndarray, " points"],
    low: Float[ndarray, " points"],
    high: Float[ndarray, " points"],
    *,
    statistic: str = "mean",
) -> Line:
    """Return the line of a model variant, with its label, words, colour and dash; `statistic` names its values."""
    return Line(variant.label, variant.words, variant.colour, variant.dash, x, mean, low, high, statistic=statistic)


def comparison_figure(
    lines: Sequence[Line],
    x_title: str,
    y_range: tuple[float, float],
    *,
    log_x: bool = False,
    log_y: bool = False,
    x_end: float | None = None,
    reference: tuple[float, str, str] | None = None,
    right_margin: int = 44,
    label_gap: float = 0.07,
    names_at_ends: bool = False,
    labels_at_ends: bool = False,
) -> go.Figure:
    """Return a figure of all runs. Ranges are in the units of the axis, also where it is logarithmic.

    lines: the runs, in the order of their traces
    x_title: the title of the x axis
    y_range: lowest and highest value of the y axis
    log_x, log_y: whether an axis is logarithmic
    x_end: a fixed end of the x axis, so that lines grow into it during training
    reference: height, text and colour of a horizontal reference line
    right_margin: pixels for the labels on the right
    label_gap: smallest distance between two labels, as a share of the height
    names_at_ends: whether the number and the title of each run stand where its line ends
    labels_at_ends: whether a label stands where its line ends, and not at the right edge
    """
    ends = [float(line.x[-1]) for line in lines if len(line.x)]
    x_max = max(ends, default=1.0) or 1.0
    lowest = min((float(line.x[line.x > 0].min()) for line in lines if (line.x > 0).any()), default=1.0)
    # On a logarithmic axis there is no zero: the first point stands half a step before the second.
    traces = [trace for line in lines for trace in _traces(line, lowest / 2 if log_x else None)]
    drawn = [line for line in lines if len(line.x)]
    annotations = [
        _name_at_end(line, height, x_max, log_x)
        if names_at_ends
        else _label(line, height, x_end if labels_at_ends else None)
        for group in _lines_to_spread(drawn, labels_at_ends)
        for line, height in zip(group, _label_heights(group, y_range, log_y, label_gap), strict=True)
    ]
    if names_at_ends:
        # A line that stops early leaves room for its name; on a phone the axis is about 240 px wide.
        needed = [8 * _longest_part(line) - 240 * (1 - line.x[-1] / x_max) for line in lines if len(line.x)]
        right_margin = round(min(max([right_margin, *(20 + width for width in needed)]), 170))
    shapes: list[dict[str, Any]] = []
    if reference:
        height, text, colour = reference
        shapes.append(horizontal_line(height, css_colour(colour), 2.0, "8px,3px,2px,3px"))
        y = _log(height) if log_y else height  # plotly takes the logarithm for an annotation, not for a shape
        label = annotation(escape_markup(text), 0.0, y, xref="paper", xanchor="left", yanchor="bottom", xshift=8)
        annotations.append(label | {"font": {"size": 14, "color": css_colour(colour)}, "bgcolor": _VEIL})
    low, high = y_range
    y_axis: dict[str, Any] = {"range": [low, high]}
    if log_y:
        y_axis = {"type": "log", "range": [_log(low), _log(high)], "tickformat": "~g"}
    return figure(
        *traces,
        xaxis={
            "title": {"text": x_title},
            "nticks": 6,
            # The range is given, because plotly would also make room for the names inside the axes.
            **({"type": "log", "range": [_log(lowest / 2), _log(x_max)]} if log_x else {"range": [0, x_end or x_max]}),
        },
        yaxis={**y_axis, "nticks": 5},
        margin={"l": 8, "r": right_margin, "t": 12, "b": 8},
        annotations=annotations,
        shapes=shapes,
    )


def _traces(line: Line, x_min: float | None) -> list[dict[str, Any]]:
    """Return the traces of a run: its lowest seed, its highest seed, the mean or median. No x is below `x_min`."""
    x = [round_significant(float(v) if x_min is None else max(float(v), x_min)) for v in line.x]
    common = {"type": "scatter", "mode": "lines", "x": x, "hoverinfo": "skip"}
    edge = {
        **common,
        "line": {"width": 0, "color": css_colour(line.colour)},
        "fillcolor": css_colour(line.colour, 0.16),
    }
    mean = {"width": 3, "color": css_colour(line.colour), "dash": line.dash}
    name = f"{line.label} {line.title}"
    return [
        {**edge, "y": [round_significant(v) for v in line.low], "name": f"{name}, lowest seed"},
        {**edge, "y": [round_significant(v) for v in line.high], "name": f"{name}, highest seed", "fill": "tonexty"},
        {**common, "y": [_value(v) for v in line.mean], "name": f"{name}, {line.statistic}", "line": mean},
    ]


def _value(value: SupportsFloat) -> float | None:
    """Return a value with seven significant digits, so that its third decimal is the same as in a table."""
    return float(f"{float(value):.7g}") if math.isfinite(value) else None


def _label(line: Line, height: float, x_end: float | None) -> dict[str, Any]:
    """Return the label of a run to the right of the axes, or of the end of its line if the x axis ends at `x_end`.

    `height` is a share of the figure's height.
    """
    place = {"xref": "paper", "xanchor": "left", "xshift": 14 if x_end is None else 8, "yref": "paper"}
    font = {"size": 15, "color": css_colour(line.colour)}
    x = 1.0 if x_end is None else min(1.0, float(line.x[-1]) / x_end)
    text = f"<b>{escape_markup(line.label)}</b>"
    return annotation(text, x, height, font=font, yanchor="middle", bgcolor=_VEIL, **place)


def _name_at_end(line: Line, height: float, x_max: float, log_x: bool) -> dict[str, Any]:
    """Return the number and the title of a run where its line ends."""
    end = float(line.x[-1])
    text = "<br>".join(escape_markup(part) for part in _name_parts(line))
    x = _log(max(end, x_max / 1e6)) if log_x else end
    placed = {"xref": "x", "xanchor": "left", "xshift": 14, "yref": "paper", "yanchor": "middle", "align": "left"}
    font = {"size": 14, "color": css_colour(line.colour)}
    return annotation(f"<b>{text}</b>", x, height, font=font, bgcolor=_VEIL, **placed)


def _name_parts(line: Line) -> list[str]:
    """Return the number and the title of a run on at most two lines."""
    first, _, rest = f"{line.label} {line.title}".partition(", ")
    return [each if len(each) <= _LONGEST else f"{each[: _LONGEST - 1]}…" for each in (first, rest) if each]


def _longest_part(line: Line) -> int:
    return max(map(len, _name_parts(line)))


def _lines_to_spread(lines: Sequence[Line], by_end: bool) -> list[list[Line]]:
    """Return the lines whose labels could overlap: all of them or, if labels stand at the ends, those of each end."""
    groups: dict[float, list[Line]] = {}
    for line in lines:
        groups.setdefault(float(line.x[-1]) if by_end else 0.0, []).append(line)
    return list(groups.values())


def _label_heights(lines: Sequence[Line], span: tuple[float, float], log: bool, gap: float) -> list[float]:
    """Return the heights of the labels (0 to 1): where the lines end, moved apart where they would overlap."""
    low, high = (_log(span[0]), _log(span[1])) if log else span
    ends = [next((float(v) for v in line.mean[::-1] if math.isfinite(v)), span[0]) for line in lines]
    heights = [((_log(end) if log else end) - low) / (high - low) for end in ends]
    return spread_apart(heights, gap)


def _log(value: float) -> float:
    return math.log10(max(value, 1e-12))
