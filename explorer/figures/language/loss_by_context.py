"""Language models by context: loss by context length, cost by row length, bracket accuracy by distance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int
from numpy import ndarray

from explorer.charts.style import (
    INK,
    SOFT,
    annotation,
    band,
    figure,
    horizontal_line,
    line_end_labels,
    line_with_dots,
    round_significant,
    vertical_line,
)

TRACES_PER_LINE = 3  # traces: low, high, line


@dataclass(frozen=True)
class Line:
    """The line of one model; NaN where there is no number."""

    name: str  # short: it stands at the end of the line
    colour: str
    dash: str
    x: Int[ndarray, " points"]
    y: Float[ndarray, " points"]
    low: Float[ndarray, " points"] | None = None  # its band, if it has one
    high: Float[ndarray, " points"] | None = None
    hollow: bool = False  # a second line of the same model


def loss_by_context(lines: Sequence[Line], context: int) -> go.Figure:
    """Return the loss in nats per token over the number of context tokens, on a logarithmic x axis."""
    arrays = [values for line in lines for values in (line.y, line.low, line.high) if values is not None]
    values = [float(v) for array in arrays for v in array if math.isfinite(v)]
    low, high = min(values, default=0.0), max(values, default=1.0)
    margin = 0.06 * max(high - low, 0.1)
    return _figure(
        lines,
        _doubling_ticks(1, context),
        {"title": {"text": "tokens before the target"}},
        {"range": [low - margin, high + margin], "nticks": 5, "title": {"text": "nats per token"}},
    )


def cost_by_length(lines: Sequence[Line], y_title: str, max_length: int) -> go.Figure:
    """Return the cost of a step over the row length; both axes are logarithmic, so a power law is a straight line."""
    values = [v for line in lines for v in line.y if math.isfinite(v) and v > 0]
    low, high = min(values, default=0.1) / 1.5, max(values, default=1.0) * 1.5
    return _figure(
        lines,
        _doubling_ticks(16, max_length),
        {"title": {"text": "tokens in a row"}},
        {"range": [low, high], **_amount_ticks(low, high), "title": {"text": y_title}},
        log_y=True,
    )


def accuracy_by_distance(
    lines: Sequence[Line], baseline: float, baseline_name: str, context: int, max_distance: int
) -> go.Figure:
    """Return the share of correctly closed brackets over the distance to the opening bracket.

    lines: one for each model
    baseline, baseline_name: accuracy of always predicting the most frequent bracket, and its label
    context: tokens that the models can read, marked by a vertical line
    max_distance: the largest distance in the text
    """
    # The label stands on the left, where most lines are far above it.
    marks = [
        annotation(
            f"{baseline_name} {baseline:.2f}", 0.0, baseline, xref="paper", xanchor="left", xshift=6, yanchor="top"
        )
    ]
    shapes = [horizontal_line(baseline, INK, 1.5, "5px,4px")]
    if context < max_distance:
        shapes.append(vertical_line(float(context), SOFT, 1.5, "1px,3px"))
        seen = {"xanchor": "right", "xshift": -6, "yanchor": "bottom", "font": {"size": 14, "color": SOFT}}
        marks.append(annotation("read", math.log10(context), 0.02, **seen))
    return _figure(
        lines,
        _doubling_ticks(2, max_distance),
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
    """Return all lines on a logarithmic x axis, each with its name at its end.

    `ticks` are those of the x axis; the range of `yaxis` is in the units of the axis, also if it is logarithmic.
    """
    span = tuple(_log(v) if log_y else float(v) for v in yaxis["range"])
    names = line_end_labels([(line.name, line.colour, line.hollow, _end_height(line, span, log_y)) for line in lines])
    x_values = [float(x) for line in lines for x in line.x] or [1.0, 2.0]
    return figure(
        *(trace for line in lines for trace in _traces(line)),
        xaxis={
            **xaxis,
            "type": "log",
            "range": [_log(min(x_values)) - 0.03, _log(max(x_values)) + 0.03],
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
    x = [int(x) for x in line.x]
    lower, upper = ([round_significant(v) for v in values] for values in (low, high))
    return [
        *band(x, lower, upper, (f"{line.name}, low", f"{line.name}, high"), line.colour, 0.18),
        line_with_dots(line.name, line.colour, line.dash, x, line.y.tolist(), line.hollow),
    ]


def _end_height(line: Line, span: tuple[float, ...], log: bool) -> float | None:
    """Return where a line ends, as a share of the height; None for a line without a number."""
    end = next((float(v) for v in line.y[::-1] if math.isfinite(v)), None)
    if end is None:
        return None
    return ((_log(end) if log else end) - span[0]) / (span[1] - span[0])


def _doubling_ticks(first: int, last: int) -> list[int]:
    """Return ticks that double from `first`, and `last` if there is room for it."""
    ticks = [first * 2**i for i in range(1 + int(math.log2(max(last, first) / first)))]
    return [*ticks, last] if last > 1.4 * ticks[-1] else ticks


def _amount_ticks(low: float, high: float) -> dict[str, Any]:
    """Return ticks of a logarithmic axis: 1, 2 and 5 times powers of ten, or powers of ten alone on a long axis."""
    powers = range(math.floor(_log(low)), math.ceil(_log(high)) + 1)
    few = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
    inside = [tick for tick in few if low <= tick <= high]
    if len(inside) > 6:
        inside = [10.0**power for power in powers if low <= 10.0**power <= high]
    return {"tickvals": inside, "ticktext": [f"{tick:,.10g}" for tick in inside]}


def _log(value: float) -> float:
    return math.log10(max(value, 1e-12))
