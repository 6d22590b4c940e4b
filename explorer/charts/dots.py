"""A row for each name, and in it a dot for each seed, or one with its range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jaxtyping import Float
from numpy import ndarray

from explorer.charts.axis import PLAIN, Axis, Rule, span_of
from explorer.charts.chart import Chart, Trace
from explorer.charts.style import PAGE, Plot, css_colour, escape_markup, labelled_ticks, plot, round_significant

_GROUP_GAP = 0.8  # rows between groups


@dataclass(frozen=True, eq=False)
class DotRow:
    """The values of one row.

    hollow: whether the dots are hollow diamonds, for rows of another kind
    error: half the length of the bar through each dot, if there is one
    group: rows of another group stand apart
    """

    name: str
    colour: str
    values: Float[ndarray, " dots"]
    hollow: bool = False
    error: Float[ndarray, " dots"] | None = None
    group: int = 0


@dataclass(frozen=True, eq=False)
class DotChart(Chart):
    """Rows of dots, the first on top.

    subject: what is shown, the beginning of the text alternative
    x: the axis; on a logarithmic one, values below its first tick stand there
    """

    subject: str
    rows: Sequence[DotRow]
    x: Axis
    rules: Sequence[Rule] = ()

    @property
    def text(self) -> str:
        return f"{self.subject}: {'; '.join(map(_describe_row, self.rows))}."

    @property
    def _places(self) -> list[float]:
        places, gap = [], 0.0
        for i, row in enumerate(self.rows):
            gap += _GROUP_GAP * (i > 0 and row.group != self.rows[i - 1].group)
            places.append(i + gap)
        return places

    def traces(self) -> list[Trace]:
        layout = self.x.layout()
        lowest = layout["tickvals"][0] if self.x.log and "tickvals" in layout else -float("inf")
        return [_row_trace(row, place, lowest) for row, place in zip(self.rows, self._places, strict=True)]

    def plot(self) -> Plot:
        ranges = [row.values + sign * row.error for row in self.rows if row.error is not None for sign in (-1, 1)]
        span = self.x.span or span_of([*(row.values for row in self.rows), *ranges], log=self.x.log)
        x = Axis(self.x.title, span, self.x.log, 6 if self.x.ticks is None and not self.x.log else self.x.ticks)
        written = [label | {"yanchor": "bottom"} for rule in self.rules for label in rule.label(x, PLAIN)]  # above
        places = self._places
        return plot(
            *self.traces(),
            xaxis=x.layout(),
            yaxis={
                **labelled_ticks([row.name for row in self.rows]),
                "tickvals": places,
                "range": [max(places, default=0.0) + 0.5, -0.5],
            },
            shapes=[rule.shape() for rule in self.rules],
            annotations=written,
            margin={"l": 8, "r": 16, "t": 26 if written else 12, "b": 8},
        )


def _row_trace(row: DotRow, place: float, lowest: float) -> Trace:
    colour = css_colour(row.colour)
    marker = {"size": 11, "color": PAGE if row.hollow else colour, "line": {"width": 2, "color": colour}}
    trace: Trace = {
        "type": "scatter",
        "mode": "markers",
        "x": [round_significant(max(float(value), lowest)) for value in row.values],
        "y": [place] * len(row.values),
        "marker": marker | {"symbol": "diamond" if row.hollow else "circle"},
        "name": escape_markup(row.name),
        "hovertemplate": "%{x:.3g}<extra></extra>",
        "cliponaxis": False,
    }
    if row.error is not None:
        lengths = [round_significant(value) for value in row.error]
        bar = {"type": "data", "array": lengths, "color": css_colour(row.colour, 0.6), "thickness": 2, "width": 0}
        trace["error_x"] = bar
    return trace


def _describe_row(row: DotRow) -> str:
    if not len(row.values):
        return f"{row.name} no value yet"
    low, high = f"{row.values.min():.2g}", f"{row.values.max():.2g}"
    return f"{row.name} {low}" if low == high else f"{row.name} {low} to {high}"
