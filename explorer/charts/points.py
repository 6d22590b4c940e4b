"""Points in a plane, with or without names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.charts.axis import PLAIN, Axis, span_of
from explorer.charts.chart import Chart, Trace
from explorer.charts.style import INK, Plot, css_colour, escape_markup, plot, round_values

_CHARACTER, _LINE = 0.016, 0.05  # size of a letter, as a share of the figure
_LARGE, _USUAL, _SMALL = 13, 8, 4  # px


@dataclass(frozen=True, eq=False)
class PointChart(Chart):
    """Points, with their names beside them where they overlap least.

    subject: what is shown, the beginning of the text alternative
    points: x and y of each
    names: of the points; (): they have none, and are small and pale because there are many
    marked: the names of the points that are larger
    x, y: the axes; without a span all points and their names are inside
    same_unit: whether distances in both directions can be compared
    words: the text alternative, if it is not made from the subject and the names
    """

    subject: str
    points: Float[ndarray, "points 2"]
    names: Sequence[str]
    colour: str
    x: Axis = PLAIN
    y: Axis = PLAIN
    marked: Sequence[str] = ()
    same_unit: bool = False
    words: str = ""

    @property
    def text(self) -> str:
        named = f": {', '.join(self.names[:20])}{' and others' if len(self.names) > 20 else ''}" if self.names else ""
        return self.words or f"{self.subject}{named}."

    def traces(self) -> list[Trace]:
        x, y = (round_values(column) for column in self.points.T)
        sizes = [_LARGE if name in self.marked else _USUAL for name in self.names] if self.marked else _USUAL
        common: Trace = {"type": "scatter", "x": x, "y": y, "hoverinfo": "skip", "name": self.subject}
        if not self.names:
            marker = {"size": _SMALL, "color": css_colour(self.colour, 0.5)}
            return [common | {"mode": "markers", "marker": marker}]
        names = {
            "mode": "markers+text",
            "text": [escape_markup(name) for name in self.names],
            "textposition": label_sides(self.points, self.names, self.same_unit),
            "textfont": {"size": 14, "color": INK},
            "marker": {"size": sizes, "color": css_colour(self.colour)},
            "cliponaxis": False,
        }
        return [common | names]

    def plot(self) -> Plot:
        room = (0.3 if self.same_unit else 0.16) if self.names else 0.04
        axes = []
        for axis, values in ((self.x, self.points[:, 0]), (self.y, self.points[:, 1])):
            span = axis.span or span_of([values], room, log=axis.log)
            ticks = 5 if axis.ticks is None and not axis.log else axis.ticks
            axes.append(Axis(axis.title, span, axis.log, ticks).layout())
        x, y = axes
        if self.same_unit:
            y |= {"scaleanchor": "x"}
        margin = {"l": 48, "r": 12, "t": 12, "b": 44} if self.x.title else {"l": 8, "r": 8, "t": 8, "b": 8}
        return plot(*self.traces(), xaxis=x, yaxis=y, margin=margin)


def label_sides(points: Float[ndarray, "points 2"], names: Sequence[str], same_unit: bool = False) -> list[str]:
    """Return on which side of its point each name stands, so that names overlap as little as possible.

    In a chart whose axes have the same unit, points are closer together, and so a name covers more of them.
    """
    low, high = points.min(axis=0), points.max(axis=0)
    size = np.full(2, (high - low).max()) if same_unit else high - low
    places = (points - low) / np.where(size > 0, size, 1)
    character, line = (2 * _CHARACTER, 2 * _LINE) if same_unit else (_CHARACTER, _LINE)
    taken: list[tuple[float, float, float, float]] = [(x, y, 0.012, 0.02) for x, y in places.tolist()]
    chosen = []
    for (x, y), name in zip(places.tolist(), names, strict=True):
        half = character * len(name) / 2
        boxes = {
            "top center": (x, y + line, half, line / 2),
            "bottom center": (x, y - line, half, line / 2),
            "middle right": (x + half + 0.015, y, half, line / 2),
            "middle left": (x - half - 0.015, y, half, line / 2),
        }
        side = min(boxes, key=lambda each: sum(_overlap(boxes[each], other) for other in taken))
        taken.append(boxes[side])
        chosen.append(side)
    return chosen


def _overlap(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> float:
    width = one[2] + other[2] - abs(one[0] - other[0])
    height = one[3] + other[3] - abs(one[1] - other[1])
    return max(width, 0.0) * max(height, 0.0)
