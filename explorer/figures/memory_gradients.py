"""How far back a gradient reaches: its size over the sequence, for several models, frame by frame of a training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int
from numpy import ndarray

from explorer.figures.style import escape, figure, paint

PER_LINE = 4  # traces: lowest seed, highest seed, median, label
MOST_PLACES = 60  # of a sequence that are drawn
_TICKS = 5
_LINE = 0.052  # of the height, that a line of a label takes
_WIDE = 12  # letters
Frames: TypeAlias = list[list[list[float | None]]]


@dataclass(frozen=True)
class Reach:
    """A model to draw."""

    label: str  # short: it stands at the first symbol
    title: str
    colour: str
    dash: str
    norms: Float[ndarray, "frames seeds time"]  # |dL/dx_t|


def reach_figure(lines: Sequence[Reach]) -> tuple[go.Figure, Frames]:
    """|dL/dx_t| over the symbols on one logarithmic axis, which is the same in all frames; drawn is the first.

    A frame is the heights of every trace: of each line the lowest and the highest seed, the median, and its label.
    """
    time = lines[0].norms.shape[-1]
    places = np.unique(np.linspace(0, time - 1, min(time, MOST_PLACES)).round().astype(int))
    low, high = _decades(lines)
    frames = [_frame(lines, at, places, (low, high)) for at in range(len(lines[0].norms))]
    step = max(1, math.ceil((high - low) / (_TICKS - 1)))
    powers = [power for power in range(math.ceil(low), math.floor(high) + 1) if power % step == 0]
    drawn = figure(
        *_traces(lines, places, frames[0]),
        xaxis={"title": {"text": "symbol"}, "range": [1, max(time, 2)], **_places(time)},
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
    return drawn, frames


def power_of_ten(power: int) -> str:
    """10 to a power, as plotly shows it raised."""
    return "1" if power == 0 else f"10<sup>{power}</sup>".replace("-", "−")


def _places(time: int) -> dict[str, Any]:
    """Ticks from the first symbol to the last."""
    step = max(1, round(time / 5))
    between = [place for place in range(step, time, step) if 1 + step / 2 < place < time - step / 2]
    return {"tickmode": "array", "tickvals": [1, *between, time] if time > 1 else [1]}


def _decades(lines: Sequence[Reach]) -> tuple[float, float]:
    """Exponents between which every line lies in every frame, with a little room. A band may leave the figure: a
    single seed on its way would press everybody else together."""
    every = np.concatenate([np.median(line.norms, axis=1).ravel() for line in lines])
    every = every[np.isfinite(every) & (every > 0)]
    if not len(every):
        return -1.0, 0.0
    low, high = float(np.log10(every.min())), float(np.log10(every.max()))
    room = 0.04 * max(high - low, 1.0)
    return low - room, high + room


def _frame(
    lines: Sequence[Reach], at: int, places: Int[ndarray, " places"], span: tuple[float, float]
) -> list[list[float | None]]:
    """The heights of every trace in one frame."""
    parts = [[fold(line.norms[at]) for fold in (_lowest, _highest, _median)] for line in lines]
    heights = _apart([float(median[0]) for *_, median in parts], [_label(line) for line in lines], span)
    rows: list[list[float | None]] = []
    for values, height in zip(parts, heights, strict=True):
        rows += [[_short(v) for v in each[places]] for each in values] + [[_short(height)]]
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


def _short(value: float) -> float | None:
    """Three digits of any size; a logarithmic axis has no place for 0."""
    return float(f"{value:.3g}") if math.isfinite(value) and value > 0 else None


def _traces(
    lines: Sequence[Reach], places: Int[ndarray, " places"], frame: Sequence[Sequence[float | None]]
) -> list[dict[str, Any]]:
    x = [int(place) + 1 for place in places]
    traces: list[dict[str, Any]] = []
    for line, at in zip(lines, range(0, len(frame), PER_LINE), strict=True):
        common = {"type": "scatter", "mode": "lines", "x": x, "hoverinfo": "skip"}
        edge = {**common, "line": {"width": 0, "color": paint(line.colour)}, "fillcolor": paint(line.colour, 0.14)}
        drawn = {"width": 3, "color": paint(line.colour), "dash": line.dash}
        label = {
            "type": "scatter",
            "mode": "text",
            "x": [1],
            "text": [_label(line)],
            "textposition": "middle left",
            "textfont": {"size": 14, "color": paint(line.colour)},
            "cliponaxis": False,
            "hoverinfo": "skip",
            "meta": {"label": True},  # no numbers of its own: a saved table leaves it out
        }
        traces += [
            {**edge, "y": frame[at], "name": f"{line.title}, lowest seed"},
            {**edge, "y": frame[at + 1], "name": f"{line.title}, highest seed", "fill": "tonexty"},
            {**common, "y": frame[at + 2], "name": f"{line.title}, median", "line": drawn},
            {**label, "y": frame[at + 3], "name": line.title},
        ]
    return traces


def _label(line: Reach) -> str:
    """Bold, away from the axis, and in two lines where it is long."""
    first, _, rest = line.label.partition(" ")
    parts = [first, rest] if len(line.label) > _WIDE and rest else [line.label]
    return "<br>".join(f"<b>{escape(each)}</b>&nbsp;&nbsp;" for each in parts)


def _apart(ends: Sequence[float], labels: Sequence[str], span: tuple[float, float]) -> list[float]:
    """Heights of the labels: where the lines begin, pushed apart where they would cover each other."""
    low, high = span
    shares = [(math.log10(end) - low) / (high - low) if end > 0 and math.isfinite(end) else 0.0 for end in ends]
    half = [_LINE / 2 * (1 + label.count("<br>")) for label in labels]
    order = sorted(range(len(ends)), key=lambda i: (-shares[i], i))
    placed, ceiling, floor = dict.fromkeys(order, 0.0), 1.0, 0.0
    for i in order:
        placed[i] = min(shares[i], ceiling - half[i])
        ceiling = placed[i] - half[i]
    for i in reversed(order):  # several at the bottom push each other up again
        placed[i] = max(placed[i], floor + half[i])
        floor = placed[i] + half[i]
    return [10 ** (low + placed[i] * (high - low)) for i in range(len(ends))]
