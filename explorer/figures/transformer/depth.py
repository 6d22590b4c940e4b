"""How much attention heads differ, by the number of heads, for untrained and trained layers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from explorer.charts.style import band, figure, line_end_labels, line_with_dots, round_significant


@dataclass(frozen=True)
class HeadMeasure:
    """A measure of one kind of weights at each number of heads; NaN where there is no measurement."""

    name: str  # stands at the end of the line
    colour: str
    dash: str
    values: Float[ndarray, "heads seeds"]


def measure_by_heads(
    lines: Sequence[HeadMeasure], heads: Sequence[int], title: str, y: tuple[float, float]
) -> go.Figure:
    """Return all lines over the number of heads: dots are medians over seeds, bands span lowest to highest."""
    names = line_end_labels([(line.name, line.colour, False, _end_height(line, y)) for line in lines])
    return figure(
        *(trace for line in lines for trace in _traces(line)),
        xaxis={
            "range": [-0.15, len(heads) - 0.85],
            "tickvals": list(range(len(heads))),
            "ticktext": [str(count) for count in heads],
            "title": {"text": "heads"},
        },
        yaxis={"range": list(y), "nticks": 4, "title": {"text": title}},
        annotations=names,
        margin={"l": 8, "r": 96, "t": 12, "b": 8},
    )


def _traces(line: HeadMeasure) -> list[dict[str, Any]]:
    x = list(range(len(line.values)))
    low, high = (_aggregate_seeds(line.values, of) for of in (np.min, np.max))
    middle = np.median(line.values, axis=1).tolist()
    return [
        *band(x, low, high, (f"{line.name}, lowest", f"{line.name}, highest"), line.colour, 0.22),
        line_with_dots(line.name, line.colour, line.dash, x, middle),
    ]


def _aggregate_seeds(values: Float[ndarray, "heads seeds"], aggregate: Any) -> list[float | None]:
    return [round_significant(aggregate(row)) for row in values]


def _end_height(line: HeadMeasure, y: tuple[float, float]) -> float:
    """Return where a line ends, as a share of the height."""
    end = float(np.median(line.values[-1]))
    return (end - y[0]) / (y[1] - y[0]) if math.isfinite(end) else 0.0
