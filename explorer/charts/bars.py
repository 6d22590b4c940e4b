"""Bars from zero, one for each name or several in a group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, SupportsFloat

from jaxtyping import Float, Int
from numpy import ndarray

from explorer.charts.axis import PLAIN, Axis, Rule, span_of
from explorer.charts.chart import Chart, Trace
from explorer.charts.style import (
    INK,
    SOFT,
    Plot,
    annotation,
    css_colour,
    escape_markup,
    labelled_ticks,
    plot,
    round_significant,
    vertical_line,
)


@dataclass(frozen=True, eq=False)
class Bars:
    """One bar for each name of a chart.

    title: in the legend of a chart with several, and in a saved table
    colour: a CSS variable
    low, high: the range of each value, if it has one
    below: the colour of negative values, if it is another one
    """

    title: str
    values: Float[ndarray, " names"] | Int[ndarray, " names"]
    colour: str
    low: Float[ndarray, " names"] | None = None
    high: Float[ndarray, " names"] | None = None
    below: str = ""


@dataclass(frozen=True, eq=False)
class BarChart(Chart):
    """Bars beside their names, from top to bottom, or above them.

    subject: what is shown, the beginning of the text alternative
    names: of the bars; with `details`, names and details stand above the bars and not beside them
    axis: of the values; without a span it contains all values and zero
    digits: decimals of the number at the end of each bar; None: there are none, and the axis has ticks
    solid: the indices of the bars that are not pale; None: no bar is
    upright: whether the bars stand above their names
    names_title: of the axis of the names
    """

    subject: str
    names: Sequence[str]
    groups: Sequence[Bars]
    axis: Axis = PLAIN
    digits: int | None = None
    solid: Sequence[int] | None = None
    upright: bool = False
    names_title: str = ""
    details: Sequence[str] = ()
    margin: int = 8
    rules: Sequence[Rule] = ()

    @property
    def text(self) -> str:
        return f"{self.subject}: {'; '.join(f'{name} {self._spoken(i)}' for i, name in enumerate(self.names))}."

    def _spoken(self, i: int) -> str:
        """Return the numbers of a name in words, each with its group if there are several."""
        numbers = [self._format(group.values[i]) for group in self.groups]
        if len(self.groups) == 1:
            return numbers[0]
        return ", ".join(f"{group.title} {number}" for group, number in zip(self.groups, numbers, strict=True))

    def _format(self, value: SupportsFloat) -> str:
        return f"{value:.3g}" if self.digits is None else f"{value:,.{self.digits}f}"

    def traces(self) -> list[Trace]:
        places = list(range(len(self.names)))
        return [self._trace(group, places) for group in self.groups]

    def _trace(self, group: Bars, places: list[int]) -> Trace:
        along, across = ("y", "x") if self.upright else ("x", "y")
        colours = [
            css_colour(
                group.below if group.below and value < 0 else group.colour,
                None if self.solid is None else 1.0 if i in self.solid else 0.4,
            )
            for i, value in enumerate(group.values)
        ]
        error = {}
        if group.low is not None and group.high is not None:
            arms = {"array": group.high - group.values, "arrayminus": group.values - group.low}
            rounded = {name: [round_significant(value) for value in arm] for name, arm in arms.items()}
            error = {f"error_{along}": {"type": "data", "symmetric": False, **rounded, "color": INK}}
        return {
            "type": "bar",
            "orientation": "v" if self.upright else "h",
            along: [round_significant(value) for value in group.values],
            across: places,
            "name": escape_markup(group.title),
            "marker": {"color": colours if len(set(colours)) > 1 else colours[0]},
            **({"width": 0.32} if self.details else {}),
            **(
                {"hoverinfo": "skip"}
                if self.digits is not None
                else {"hovertemplate": f"%{{{along}:.3f}}<extra>{escape_markup(group.title)}</extra>"}
            ),
            **error,
        }

    def plot(self) -> Plot:
        values = [each for group in self.groups for each in (group.values, group.low, group.high)]
        low, high = self.axis.span or span_of(values, 0.0, least=0.0)
        if self.digits is not None and not self.axis.span:
            high = 1.45 * high  # for the numbers
        axis = Axis(self.axis.title, (low, high), ticks=5 if self.axis.ticks is None else self.axis.ticks).layout()
        count = len(self.names)
        names: dict[str, Any] = {**labelled_ticks(self.names), "range": [count - 0.5, -0.5], "showgrid": False}
        if self.upright:
            names |= {"range": [-0.5, count - 0.5], "title": {"text": self.names_title}}
        if self.digits is not None:
            axis |= {"visible": False}
        if self.details:
            names = {"range": [count - 0.6, -0.85], "visible": False}
        legend = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "traceorder": "normal"}
        signed = low < 0 < high and not self.upright
        return plot(
            *self.traces(),
            **({"xaxis": names, "yaxis": axis} if self.upright else {"xaxis": axis, "yaxis": names}),
            annotations=self._labels() + [label for rule in self.rules for label in rule.label(PLAIN, PLAIN)],
            shapes=([vertical_line(0.0, SOFT)] if signed else []) + [rule.shape() for rule in self.rules],
            margin={"l": self.margin, "r": 8, "t": 8, "b": 8},
            **({"bargap": 0.25, "showlegend": True, "legend": legend} if len(self.groups) > 1 else {}),
        )

    def _labels(self) -> list[dict[str, Any]]:
        """Return the number at the end of each bar, or name, number and details above it."""
        labels = []
        for i, (name, value) in enumerate(zip(self.names, self.groups[0].values, strict=True)):
            number = "" if self.digits is None else self._format(value)
            if self.details:
                detail = f"<span style='color:{SOFT}'>{escape_markup(self.details[i])}</span>"
                text = f"<b>{escape_markup(name)}</b>  {number}  {detail}"
                labels.append(annotation(text, 0.0, float(i), xref="paper", xanchor="left", yshift=17))
            elif number:
                text = f"<b>{number}</b>" if self.solid is not None and i in self.solid else number
                labels.append(annotation(text, float(value), float(i), xanchor="left", xshift=6))
        return labels
