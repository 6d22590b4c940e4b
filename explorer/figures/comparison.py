"""Several runs on the same axes: one line each, a band from the lowest to the highest seed, a label at its end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, SupportsFloat, runtime_checkable

import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from explorer.charts.style import (
    annotation,
    band,
    css_colour,
    end_label,
    escape_markup,
    figure,
    horizontal_line,
    line_trace,
    round_significant,
)

_ROOM_BELOW = 0.09  # share of the height that a text needs below a line
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
    names_at_ends: bool = False,
) -> go.Figure:
    """Return a figure of all runs. Ranges are in the units of the axis, also where it is logarithmic.

    lines: the runs, in the order of their traces
    x_title: the title of the x axis
    y_range: lowest and highest value of the y axis
    log_x, log_y: whether an axis is logarithmic
    x_end: a fixed end of the x axis, so that lines grow into it during training
    reference: height, text and colour of a horizontal reference line
    right_margin: pixels for the labels on the right
    names_at_ends: whether a line is labelled with the number and the title of its run
    """
    ends = [float(line.x[-1]) for line in lines if len(line.x)]
    x_max = max(ends, default=1.0) or 1.0
    lowest = min((float(line.x[line.x > 0].min()) for line in lines if (line.x > 0).any()), default=1.0)
    # On a logarithmic axis there is no zero: the first point stands half a step before the second.
    traces = [trace for line in lines for trace in _traces(line, lowest / 2 if log_x else None)]
    low, high = y_range
    x_range = [_log(lowest / 2), _log(x_max)] if log_x else [0.0, x_end or x_max]
    annotations = [_end_label(line, x_range, log_x, y_range, log_y, names_at_ends) for line in lines if len(line.x)]
    if names_at_ends:
        # A line that stops early leaves room for its name; on a phone the axis is about 240 px wide.
        needed = [8 * _longest_part(line) - 240 * (1 - line.x[-1] / x_max) for line in lines if len(line.x)]
        right_margin = round(min(max([right_margin, *(20 + width for width in needed)]), 170))
    shapes: list[dict[str, Any]] = []
    if reference:
        height, text, colour = reference
        shapes.append(horizontal_line(height, css_colour(colour), 2.0, "8px,3px,2px,3px"))
        y = _log(height) if log_y else height  # plotly takes the logarithm for an annotation, not for a shape
        # Curves that come from above would cross the label above the line; below it, there must be room for a text.
        crossed = any(len(line.mean) and line.mean[0] > 1.5 * height for line in lines)
        share = (y - (_log(low) if log_y else low)) / (_log(high) - _log(low) if log_y else high - low)
        side = "top" if crossed and share > _ROOM_BELOW else "bottom"
        label = annotation(escape_markup(text), 0.0, y, xref="paper", xanchor="left", yanchor=side, xshift=8)
        annotations.append(label | {"font": {"size": 14, "color": css_colour(colour)}, "bgcolor": _VEIL})
    y_axis: dict[str, Any] = {"range": [low, high]}
    if log_y:
        y_axis = {"type": "log", "range": [_log(low), _log(high)], "tickformat": "~g"}
    return figure(
        *traces,
        xaxis={
            "title": {"text": x_title},
            "nticks": 6,
            # The range is given, because plotly would also make room for the names inside the axes.
            "range": x_range,
            **({"type": "log"} if log_x else {}),
        },
        yaxis={**y_axis, "nticks": 5},
        margin={"l": 8, "r": right_margin, "t": 12, "b": 8},
        annotations=annotations,
        shapes=shapes,
    )


def _traces(line: Line, x_min: float | None) -> list[dict[str, Any]]:
    """Return the traces of a run: its lowest seed, its highest seed, the mean or median. No x is below `x_min`."""
    x = [round_significant(float(v) if x_min is None else max(float(v), x_min)) for v in line.x]
    name = f"{line.label} {line.title}"
    low, high = ([round_significant(v) for v in values] for values in (line.low, line.high))
    mean = [_value(v) for v in line.mean]
    return [
        *band(x, low, high, (f"{name}, lowest seed", f"{name}, highest seed"), line.colour, 0.16),
        line_trace(x, mean, f"{name}, {line.statistic}", line.colour, line.dash),
    ]


def _value(value: SupportsFloat) -> float | None:
    """Return a value with seven significant digits, so that its third decimal is the same as in a table."""
    return float(f"{float(value):.7g}") if math.isfinite(value) else None


def _end_label(
    line: Line, x_range: Sequence[float], log_x: bool, y_range: tuple[float, float], log_y: bool, with_title: bool
) -> dict[str, Any]:
    """Return the label of a run where its line ends, or its number and title."""
    left, right = x_range
    low, high = map(_log, y_range) if log_y else y_range
    x = _log(max(line.x[-1], 10**left)) if log_x else float(line.x[-1])
    y = next((float(v) for v in line.mean[::-1] if math.isfinite(v)), y_range[0])
    share_x, share_y = (x - left) / (right - left), ((_log(y) if log_y else y) - low) / (high - low)
    text = "<br>".join(map(escape_markup, _name_parts(line))) if with_title else escape_markup(line.label)
    return end_label(
        f"<b>{text}</b>", min(share_x, 1.0), share_y, 14 if with_title else 15, css_colour(line.colour)
    ) | {"bgcolor": _VEIL}


def _name_parts(line: Line) -> list[str]:
    """Return the number and the title of a run on at most two lines."""
    first, _, rest = f"{line.label} {line.title}".partition(", ")
    return [each if len(each) <= _LONGEST else f"{each[: _LONGEST - 1]}…" for each in (first, rest) if each]


def _longest_part(line: Line) -> int:
    return max(map(len, _name_parts(line)))


def _log(value: float) -> float:
    return math.log10(max(value, 1e-12))
