"""Models over what they read: loss by how much it was, cost of a step by the length of a row, accuracy by distance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int
from numpy import ndarray

from explorer.figures.style import INK, SOFT, across, dotted, figure, named_ends, paint, short, upright, words

PER_LINE = 3  # traces: low, high, line
_GAP = 0.075  # between the names of two lines, as a share of the height


@dataclass(frozen=True)
class Line:
    """One model; NaN where there is no number."""

    name: str  # short: it stands at the end of the line
    colour: str
    dash: str
    x: Int[ndarray, " points"]
    y: Float[ndarray, " points"]
    low: Float[ndarray, " points"] | None = None  # its band, if it has one
    high: Float[ndarray, " points"] | None = None
    hollow: bool = False  # a second line of the same model


def loss_by_context(lines: Sequence[Line], context: int) -> go.Figure:
    """Loss over how many tokens could be read, which grows from each tick to the next by a factor."""
    courses = [values for line in lines for values in (line.y, line.low, line.high) if values is not None]
    values = [float(v) for course in courses for v in course if math.isfinite(v)]
    low, high = min(values, default=0.0), max(values, default=1.0)
    room = 0.06 * max(high - low, 0.1)
    return _figure(
        lines,
        _doubling(1, context),
        {"title": {"text": "tokens it could read, up to"}},
        {"range": [low - room, high + room], "nticks": 5, "title": {"text": "nats a token"}},
    )


def cost_by_length(lines: Sequence[Line], y_title: str, longest: int) -> go.Figure:
    """What a step costs over the length of a row; both grow by factors, so a power is a straight line."""
    values = [v for line in lines for v in line.y if math.isfinite(v) and v > 0]
    low, high = min(values, default=0.1) / 1.5, max(values, default=1.0) * 1.5
    return _figure(
        lines,
        _doubling(16, longest),
        {"title": {"text": "tokens in a row"}},
        {"range": [low, high], **_steps(low, high), "title": {"text": y_title}},
        log_y=True,
    )


def accuracy_by_distance(
    lines: Sequence[Line], usual: float, usual_name: str, context: int, farthest: int
) -> go.Figure:
    """Share of marks closed rightly over how far back they were opened, and what one answer for all would get."""
    # The words stand at the left, where most lines are high above them.
    marks = [words(f"{usual_name} {usual:.2f}", 0.0, usual, xref="paper", xanchor="left", xshift=6, yanchor="top")]
    shapes = [across(usual, INK, 1.5, "5px,4px")]
    if context < farthest:
        shapes.append(upright(float(context), SOFT, 1.5, "1px,3px"))
        seen = {"xanchor": "right", "xshift": -6, "yanchor": "bottom", "font": {"size": 14, "color": SOFT}}
        marks.append(words("read", math.log10(context), 0.02, **seen))
    return _figure(
        lines,
        _doubling(2, farthest),
        {"title": {"text": "characters since it was opened, up to"}},
        {"range": [0, 1.04], "tickvals": [0, 0.5, 1], "title": {"text": "closed rightly"}},
        shapes=shapes,
        annotations=marks,
    )


def _figure(
    lines: Sequence[Line],
    ticks: Sequence[int],
    xaxis: dict[str, Any],
    yaxis: dict[str, Any],
    *,
    log_y: bool = False,
    shapes: Sequence[dict[str, Any]] = (),
    annotations: Sequence[dict[str, Any]] = (),
) -> go.Figure:
    """All lines on one pair of axes, the first of them logarithmic, each with its name at its end.

    `yaxis` has a range in the units of the axis.
    """
    span = tuple(_log(v) if log_y else float(v) for v in yaxis["range"])
    names = named_ends([(line.name, line.colour, line.hollow, _height(line, span, log_y)) for line in lines], _GAP)
    reach = [float(x) for line in lines for x in line.x] or [1.0, 2.0]
    return figure(
        *(trace for line in lines for trace in _traces(line)),
        xaxis={
            **xaxis,
            "type": "log",
            "range": [_log(min(reach)) - 0.03, _log(max(reach)) + 0.03],
            "tickvals": list(ticks),
            "ticktext": [f"{tick:,}" for tick in ticks],
        },
        yaxis={**yaxis, "range": list(span), **({"type": "log"} if log_y else {})},
        shapes=list(shapes),
        annotations=[*annotations, *names],
        margin={"l": 8, "r": 118, "t": 12, "b": 8},
    )


def _traces(line: Line) -> list[dict[str, Any]]:
    none = np.full(len(line.x), np.nan)
    low, high = none if line.low is None else line.low, none if line.high is None else line.high
    common: dict[str, Any] = {"type": "scatter", "x": [int(x) for x in line.x], "hoverinfo": "skip"}
    edge = {
        **common,
        "mode": "lines",
        "line": {"width": 0, "color": paint(line.colour)},
        "fillcolor": paint(line.colour, 0.18),
    }
    return [
        {**edge, "y": [short(v) for v in low], "name": f"{line.name}, low"},
        {**edge, "y": [short(v) for v in high], "name": f"{line.name}, high", "fill": "tonexty"},
        dotted(line.name, line.colour, line.dash, common["x"], line.y.tolist(), line.hollow),
    ]


def _height(line: Line, span: tuple[float, ...], log: bool) -> float | None:
    """Where a line ends, as a share of the height; None for a line without a number."""
    end = next((float(v) for v in line.y[::-1] if math.isfinite(v)), None)
    if end is None:
        return None
    return ((_log(end) if log else end) - span[0]) / (span[1] - span[0])


def _doubling(first: int, last: int) -> list[int]:
    """Ticks of an axis of lengths, and its end where there is room."""
    ticks = [first * 2**i for i in range(1 + int(math.log2(max(last, first) / first)))]
    return [*ticks, last] if last > 1.4 * ticks[-1] else ticks


def _steps(low: float, high: float) -> dict[str, Any]:
    """Ticks of a logarithmic axis of amounts: 1, 2 and 5 of each power of ten, of many powers the 1 alone."""
    powers = range(math.floor(_log(low)), math.ceil(_log(high)) + 1)
    few = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
    inside = [tick for tick in few if low <= tick <= high]
    if len(inside) > 6:
        inside = [10.0**power for power in powers if low <= 10.0**power <= high]
    return {"tickvals": inside, "ticktext": [f"{tick:,.10g}" for tick in inside]}


def _log(value: float) -> float:
    return math.log10(max(value, 1e-12))
