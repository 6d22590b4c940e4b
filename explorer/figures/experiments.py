"""How the runs of an experiment ended: what one setting did, with and without something, a dot for every seed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from explorer.figures.comparison import Line, comparison
from explorer.figures.style import PAGE, SOFT, across, figure, paint, rounded, spread, words

_GAP, _LOW_GAP = 0.085, 0.15  # of the height, between two labels; in a low frame
_ROOM = 0.16  # of the distance between two values, for the lines that share them


@dataclass(frozen=True)
class Ends:
    """One line: where the seeds of its runs ended, a row a value. NaN where there is no run yet, infinity where one
    gave no numbers any more."""

    label: str  # stands at the end of the line
    title: str
    colour: str
    dash: str
    values: Float[ndarray, "values replicas"]


def ends(
    lines: Sequence[Ends],
    values: Sequence[str],
    axis: str,
    span: tuple[float, float],
    mark: tuple[float, str] | None = None,
) -> go.Figure:
    """All lines over the values of the setting. What ended above the frame stands on its edge with its number.

    `mark` is a height, and what is written on it where it can be seen.
    """
    low, high = span
    traces: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    for index, line in enumerate(lines):
        shift = _ROOM * (index - (len(lines) - 1) / 2)
        places = np.arange(len(values)) + shift
        means = line.values.mean(axis=1)
        inside = np.where(means <= high, means, np.nan)
        at = np.broadcast_to(places[:, None], line.values.shape)
        seen = line.values <= high  # NaN is not
        dots = {"size": 9, "color": paint(line.colour), "line": {"width": 1.5, "color": PAGE}}
        traces += [
            {
                "type": "scatter",
                "mode": "lines",
                "x": rounded(places),
                "y": _with_gaps(inside),
                "line": {"width": 3, "color": paint(line.colour), "dash": line.dash},
                "name": f"{line.title}, mean",
                "hoverinfo": "skip",
            },
            {
                "type": "scatter",
                "mode": "markers",
                "x": rounded(at[seen]),
                "y": rounded(line.values[seen]),
                "marker": dots | ({} if line.dash == "solid" else {"symbol": "diamond"}),
                "name": f"{line.title}, every seed",
                "hovertemplate": "%{y:.3f} bits<extra>" + line.title + "</extra>",
                "cliponaxis": False,
            },
        ]
        for place, row in zip(places, line.values, strict=True):
            if np.isnan(row).all() or (row <= high).all():
                continue
            most = float(np.nanmax(row))
            notes.append(
                words(
                    f"↑ {most:.3g}" if math.isfinite(most) else "no numbers",
                    float(place),
                    high,
                    font={"size": 14, "color": paint(line.colour)},
                    yanchor="bottom",
                    yshift=2 + 18 * index,
                )
            )
    for line, height in zip(lines, _apart(lines, span), strict=True):
        if line.label:
            ending = {"xref": "paper", "xanchor": "left", "xshift": 10, "yref": "paper", "yanchor": "middle"}
            font = {"size": 15, "color": paint(line.colour)}
            notes.append(words(f"<b>{line.label}</b>", 1.0, height, font=font, **ending))
    shapes = []
    if mark and low < mark[0] < high:
        shapes.append(across(mark[0], SOFT, 1.5, "5px,4px"))
        notes.append(words(mark[1], 0.0, mark[0], xref="paper", xanchor="left", yanchor="bottom"))
    return figure(
        *traces,
        xaxis={
            "tickvals": list(range(len(values))),
            "ticktext": list(values),
            "range": [-0.4, len(values) - 0.6],
            "title": {"text": axis},
        },
        yaxis={"range": [low, high], "nticks": 5},
        shapes=shapes,
        annotations=notes,
        margin={"l": 8, "r": 56 if any(line.label for line in lines) else 12, "t": 26 + 18 * (len(lines) - 1), "b": 8},
    )


def curves(
    lines: Sequence[Line], x_title: str, span: tuple[float, float], end: float, log_y: bool = False
) -> go.Figure:
    """Runs by step, as on the Compare page, in a frame so low that labels have to stand further apart, and that a
    logarithmic axis has room for a few numbers only."""
    apart = _LOW_GAP if len(lines) < 4 else _GAP
    drawn = comparison(lines, x_title, span, log_y=log_y, end=end, room=52, apart=apart)
    drawn.layout.xaxis.update(nticks=4, tickangle=0)  # also where it is half a phone wide
    if log_y:
        heights = log_ticks(*span)
        drawn.layout.yaxis.update(tickmode="array", tickvals=heights, ticktext=[_plain(height) for height in heights])
    return drawn


def log_ticks(low: float, high: float) -> list[float]:
    """Four numbers or so between two: powers of ten, where there are few of them also their threes, where there are
    many not each."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    few = math.log10(high / low) < 3
    every = max(1, round(math.log10(high / low) / 4))
    wanted = [first * 10.0**power for power in powers[::every] for first in ((1, 3) if few else (1,))]
    return [value for value in wanted if low <= value <= high]


def _plain(value: float) -> str:
    return f"{value:,g}" if 0.001 <= value < 100_000 else f"10<sup>{round(math.log10(value))}</sup>"


def _with_gaps(values: Float[ndarray, " values"]) -> list[float | None]:
    return [round(float(v), 4) if math.isfinite(v) else None for v in values]


def _apart(lines: Sequence[Ends], span: tuple[float, float]) -> list[float]:
    """Heights of the labels, 0 to 1: where the lines end, pushed apart where they would cover each other."""
    low, high = span
    wanted = []
    for line in lines:
        last = [float(mean) for mean in line.values.mean(axis=1) if math.isfinite(mean)]
        wanted.append(min(max((last[-1] - low) / (high - low), 0.0), 1.0) if last else 1.0)
    return spread(wanted, _GAP)
