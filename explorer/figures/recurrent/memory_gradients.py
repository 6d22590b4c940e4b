"""Gradient norms over the positions of a sequence, relative to the last, one frame for each moment of a training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int
from numpy import ndarray

from explorer.charts.style import band, css_colour, escape_markup, figure, line_trace, power_of_ten

TRACES_PER_LINE = 4  # traces: lowest seed, highest seed, median, label
MAX_POSITIONS = 60  # of a sequence that are shown
_MAX_TICKS = 5
_LABEL_LINE_HEIGHT = 0.062  # of one line of a label, as a share of the height
_LONG_LABEL = 12  # letters
Frames: TypeAlias = list[list[list[float | None]]]


@dataclass(frozen=True)
class GradientLine:
    """The gradient norms of one model."""

    label: str  # short: it stands at the first symbol
    title: str
    colour: str
    dash: str
    norms: Float[ndarray, "frames seeds time"]  # |dL/dx_t|


def gradient_figure(lines: Sequence[GradientLine]) -> tuple[go.Figure, Frames]:
    """Return |dL/dx_t| / |dL/dx_T| over the symbols in the first frame, and the heights of every trace in all frames.

    The logarithmic axis is the same in all frames. The traces of a line are its lowest seed, its highest seed, the
    median and its label.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        lines = [replace(line, norms=line.norms / line.norms[..., -1:]) for line in lines]
    time = lines[0].norms.shape[-1]
    positions = np.unique(np.linspace(0, time - 1, min(time, MAX_POSITIONS)).round().astype(int))
    low, high = _exponent_range(lines)
    frames = [_frame_heights(lines, at, positions, (low, high)) for at in range(len(lines[0].norms))]
    step = max(1, math.ceil((high - low) / (_MAX_TICKS - 1)))
    powers = [power for power in range(math.ceil(low), math.floor(high) + 1) if power % step == 0]
    chart = figure(
        *_traces(lines, positions, frames[0]),
        xaxis={"title": {"text": "symbol"}, "range": [1, max(time, 2)], **_position_ticks(time)},
        yaxis={
            "type": "log",
            "range": [low, high],
            "side": "right",
            "tickmode": "array",
            "tickvals": [10.0**power for power in powers],
            "ticktext": [power_of_ten(power) for power in powers],
        },
        margin={"l": 104, "r": 8, "t": 12, "b": 8},
    )
    return chart, frames


def _position_ticks(time: int) -> dict[str, Any]:
    """Return ticks from the first symbol to the last."""
    step = max(1, round(time / 5))
    between = [position for position in range(step, time, step) if 1 + step / 2 < position < time - step / 2]
    return {"tickmode": "array", "tickvals": [1, *between, time] if time > 1 else [1]}


def _exponent_range(lines: Sequence[GradientLine]) -> tuple[float, float]:
    """Return the exponents between which the median of every line lies in every frame, with a margin.

    Bands may leave the figure: a single outlying seed would compress all other lines.
    """
    every = np.concatenate([np.median(line.norms, axis=1).ravel() for line in lines])
    every = every[np.isfinite(every) & (every > 0)]
    if not len(every):
        return -1.0, 0.0
    low, high = float(np.log10(every.min())), float(np.log10(every.max()))
    room = 0.04 * max(high - low, 1.0)
    return low - room, high + room


def _frame_heights(
    lines: Sequence[GradientLine], index: int, positions: Int[ndarray, " places"], span: tuple[float, float]
) -> list[list[float | None]]:
    """Return the heights of every trace in one frame."""
    parts = [[fold(line.norms[index]) for fold in (_lowest, _highest, _median)] for line in lines]
    heights = _label_heights([float(median[0]) for *_, median in parts], [_label(line) for line in lines], span)
    rows: list[list[float | None]] = []
    for values, height in zip(parts, heights, strict=True):
        rows += [[_round_positive(v) for v in each[positions]] for each in values] + [[_round_positive(height)]]
    return rows


def _lowest(norms: Float[ndarray, "seeds time"]) -> Float[ndarray, " time"]:
    lowest: ndarray = norms.min(axis=0)
    return lowest


def _highest(norms: Float[ndarray, "seeds time"]) -> Float[ndarray, " time"]:
    highest: ndarray = norms.max(axis=0)
    return highest


def _median(norms: Float[ndarray, "seeds time"]) -> Float[ndarray, " time"]:
    median: ndarray = np.median(norms, axis=0)
    return median


def _round_positive(value: float) -> float | None:
    """Return a number with three significant digits; None for values that a logarithmic axis cannot show."""
    return float(f"{value:.3g}") if math.isfinite(value) and value > 0 else None


def _traces(
    lines: Sequence[GradientLine], positions: Int[ndarray, " places"], frame: Sequence[Sequence[float | None]]
) -> list[dict[str, Any]]:
    x = [int(position) + 1 for position in positions]
    traces: list[dict[str, Any]] = []
    for line, first in zip(lines, range(0, len(frame), TRACES_PER_LINE), strict=True):
        low, high, median, height = frame[first : first + TRACES_PER_LINE]
        label = {
            "type": "scatter",
            "mode": "text",
            "x": [1],
            "text": [_label(line)],
            "textposition": "middle left",
            "textfont": {"size": 14, "color": css_colour(line.colour)},
            "cliponaxis": False,
            "hoverinfo": "skip",
            "meta": {"label": True},  # excluded from saved tables: it has no data
        }
        traces += [
            *band(x, low, high, (f"{line.title}, lowest seed", f"{line.title}, highest seed"), line.colour, 0.14),
            line_trace(x, median, f"{line.title}, median", line.colour, line.dash),
            {**label, "y": height, "name": line.title},
        ]
    return traces


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
