"""How heads differ by how many there are: an untrained layer as a band over its seeds, a trained one beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from explorer.figures.style import dotted, figure, named_ends, paint, short

PER_LINE = 3  # traces: low, high, line
_APART = 0.09  # between two names, as a share of the height


@dataclass(frozen=True)
class Measured:
    """One measure of one kind of weights at each number of heads; NaN where there is none."""

    name: str  # stands at the end of the line
    colour: str
    dash: str
    values: Float[ndarray, "cuts seeds"]


def by_heads(lines: Sequence[Measured], cuts: Sequence[int], title: str, y: tuple[float, float]) -> go.Figure:
    """All lines over the number of heads, each number as far from the next; the dots are the medians over seeds."""
    names = named_ends([(line.name, line.colour, False, _share(line, y)) for line in lines], _APART)
    return figure(
        *(trace for line in lines for trace in _traces(line)),
        xaxis={
            "range": [-0.15, len(cuts) - 0.85],
            "tickvals": list(range(len(cuts))),
            "ticktext": [str(cut) for cut in cuts],
            "title": {"text": "heads"},
        },
        yaxis={"range": list(y), "nticks": 4, "title": {"text": title}},
        annotations=names,
        margin={"l": 8, "r": 96, "t": 12, "b": 8},
    )


def _traces(line: Measured) -> list[dict[str, Any]]:
    x = list(range(len(line.values)))
    low, high = (_each(line.values, of) for of in (np.min, np.max))
    common = {"type": "scatter", "x": x, "hoverinfo": "skip"}
    edge = {**common, "mode": "lines", "line": {"width": 0, "color": paint(line.colour)}}
    edge["fillcolor"] = paint(line.colour, 0.22)
    middle = np.median(line.values, axis=1).tolist()
    return [
        {**edge, "y": low, "name": f"{line.name}, lowest"},
        {**edge, "y": high, "name": f"{line.name}, highest", "fill": "tonexty"},
        dotted(line.name, line.colour, line.dash, x, middle),
    ]


def _each(values: Float[ndarray, "cuts seeds"], of: Any) -> list[float | None]:
    return [short(of(row)) for row in values]


def _share(line: Measured, y: tuple[float, float]) -> float:
    """Where a line ends, as a share of the height."""
    end = float(np.median(line.values[-1]))
    return (end - y[0]) / (y[1] - y[0]) if math.isfinite(end) else 0.0
