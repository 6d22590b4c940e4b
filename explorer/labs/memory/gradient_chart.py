"""The chart of gradient norms along a sequence, at each moment of a training: labels are where the lines begin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.charts import Drawing
from explorer.charts.chart import Trace
from explorer.charts.style import band, css_colour, escape_markup, line_trace, power_of_ten

MAX_POSITIONS = 60  # of a sequence that are shown
_MAX_TICKS = 5
_LABEL_LINE_HEIGHT = 0.062  # of one line of a label, as a share of the height
_LONG_LABEL = 12  # letters


@dataclass(frozen=True, eq=False)
class GradientLine:
    """The gradient norms of one model."""

    label: str  # short: it stands at the first symbol
    title: str
    colour: str
    dash: str
    norms: Float[ndarray, "frames seeds time"]  # |dL/dx_t|


def gradient_charts(words: str, lines: Sequence[GradientLine]) -> list[Drawing]:
    """Return |dL/dx_t| / |dL/dx_T| over the symbols, a chart for each frame, on the same logarithmic axis.

    words: the text alternative
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = [line.norms / line.norms[..., -1:] for line in lines]
    # Of each line the lowest seed, the highest seed and the median: frames x 3 x time.
    values = [np.stack([fold(each, axis=1) for fold in (np.min, np.max, np.median)], axis=1) for each in ratios]
    time = values[0].shape[-1]
    positions = np.unique(np.linspace(0, time - 1, min(time, MAX_POSITIONS)).round().astype(int))
    span = _exponent_range(values)
    layout = {
        "xaxis": {"title": {"text": "symbol"}, "range": [1, max(time, 2)], "tickvals": _position_ticks(time)},
        "yaxis": {"type": "log", "range": list(span), "side": "right", **_power_ticks(*span)},
        "margin": {"l": 104, "r": 8, "t": 12, "b": 8},
    }
    readouts = [
        {
            "title": line.title,
            "colour": line.colour,
            "digits": "power",
            "low": 4 * i,
            "high": 4 * i + 1,
            "trace": 4 * i + 2,
        }
        for i, line in enumerate(lines)
    ]
    found = []
    for frame in zip(*values, strict=True):
        heights = _label_heights([float(median[0]) for *_, median in frame], list(map(_label, lines)), span)
        traces = [
            trace
            for line, each, height in zip(lines, frame, heights, strict=True)
            for trace in _traces(line, (positions + 1).tolist(), each[:, positions], height)
        ]
        found.append(Drawing(words, traces, layout, readouts))
    return found


def _position_ticks(time: int) -> list[int]:
    """Return ticks from the first symbol to the last."""
    step = max(1, round(time / 5))
    between = [position for position in range(step, time, step) if 1 + step / 2 < position < time - step / 2]
    return [1, *between, time] if time > 1 else [1]


def _power_ticks(low: float, high: float) -> dict[str, Any]:
    """Return few ticks at whole powers of ten."""
    step = max(1, math.ceil((high - low) / (_MAX_TICKS - 1)))
    powers = [power for power in range(math.ceil(low), math.floor(high) + 1) if power % step == 0]
    return {"tickvals": [10.0**power for power in powers], "ticktext": list(map(power_of_ten, powers))}


def _exponent_range(values: Sequence[Float[ndarray, "frames 3 time"]]) -> tuple[float, float]:
    """Return the exponents between which the median of every line lies in every frame, with a margin.

    Bands may leave the figure: a single outlying seed would compress all other lines.
    """
    every = np.concatenate([each[:, 2].ravel() for each in values])
    every = every[np.isfinite(every) & (every > 0)]
    if not len(every):
        return -1.0, 0.0
    low, high = float(np.log10(every.min())), float(np.log10(every.max()))
    room = 0.04 * max(high - low, 1.0)
    return low - room, high + room


def _traces(line: GradientLine, x: list[int], values: Float[ndarray, "3 places"], height: float) -> list[Trace]:
    """Return the lowest seed, the highest seed, the median and the label of a line."""
    low, high, median = ([_round_positive(value) for value in each] for each in values)
    label = {
        "type": "scatter",
        "mode": "text",
        "x": [1],
        "y": [_round_positive(height)],
        "text": [_label(line)],
        "textposition": "middle left",
        "textfont": {"size": 14, "color": css_colour(line.colour)},
        "cliponaxis": False,
        "hoverinfo": "skip",
        "name": line.title,
        "meta": {"label": True},  # excluded from saved tables: it has no data
    }
    edges = f"{line.title}, lowest seed", f"{line.title}, highest seed"
    middle = line_trace(x, median, f"{line.title}, median", line.colour, line.dash)
    return [*band(x, low, high, edges, line.colour, 0.18), middle, label]


def _round_positive(value: float) -> float | None:
    """Return a number with three significant digits; None for values that a logarithmic axis cannot show."""
    return float(f"{value:.3g}") if math.isfinite(value) and value > 0 else None


def _label(line: GradientLine) -> str:
    """Return a bold label with a space before the axis, in two lines if it is long."""
    first, _, rest = line.label.partition(" ")
    parts = [first, rest] if len(line.label) > _LONG_LABEL and rest else [line.label]
    return "<br>".join(f"<b>{escape_markup(each)}</b>&nbsp;&nbsp;" for each in parts)


def _label_heights(ends: Sequence[float], labels: Sequence[str], span: tuple[float, float]) -> list[float]:
    """Return the heights of the labels: where the lines begin, moved apart as little as possible where they overlap."""
    from scipy.optimize import isotonic_regression

    low, high = span
    shares = [(math.log10(end) - low) / (high - low) if end > 0 and math.isfinite(end) else 0.0 for end in ends]
    order = np.lexsort((np.arange(len(shares)), -np.asarray(shares)))  # from the top
    half = np.array([_LABEL_LINE_HEIGHT / 2 * (1 + label.count("<br>")) for label in labels])[order]
    below_first = np.cumsum(2 * half) - half - half[0]
    lifted = isotonic_regression(np.asarray(shares)[order] + below_first, increasing=False).x
    placed = np.empty(len(shares))
    placed[order] = np.clip(lifted, below_first[-1] + half[-1], 1.0 - half[0]) - below_first
    return [10 ** (low + placed[i] * (high - low)) for i in range(len(ends))]
