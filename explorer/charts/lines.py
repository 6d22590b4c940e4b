"""Lines along an axis: one for each run or model, a band from the lowest to the highest seed, a label at its end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

from jaxtyping import Float, Int
from numpy import ndarray

from explorer.charts.axis import Axis, Rule, span_of
from explorer.charts.chart import Readout, Trace
from explorer.charts.style import (
    PAGE,
    VEIL,
    Plot,
    css_colour,
    end_label,
    escape_markup,
    line_trace,
    plot,
    round_significant,
)

_LONGEST = 22  # characters on a line of a name in the figure
_ROOM_BELOW = 0.09  # share of the height that a text needs below a line


@dataclass(frozen=True, eq=False)
class Line:
    """One line; its arrays are already thinned. Lines are equal only if they are the same object.

    label: short: it stands at the end of the line, and beside its value at the pointer; "": the line has neither
    title: in sentences, and in a saved table
    x, values: the points, NaN where nothing was measured; or, as `median_and_range` and `mean_and_range` return them,
        the middle of the seeds with the lowest and the highest seed, which are the edges of a band
    dots: whether each point has a dot, because few were measured: a filled one, or a hollow one for a second line of
        the same model
    statistic, edges: what the middle is and what the edges of the band are, in a saved table
    name: beside the value at the pointer, if it is not the label
    """

    label: str
    title: str
    colour: str
    dash: str
    x: Float[ndarray, " points"] | Int[ndarray, " points"]
    values: Float[ndarray, " points"] | Float[ndarray, "points 3"]
    dots: Literal["", "filled", "hollow"] = ""
    width: float = 3.0
    _: KW_ONLY
    statistic: str = "median"
    edges: tuple[str, str] = ("lowest seed", "highest seed")
    name: str = ""

    @property
    def middle(self) -> Float[ndarray, " points"]:
        middle: Float[ndarray, " points"] = self.values if self.values.ndim == 1 else self.values[:, 0]
        return middle

    @property
    def band(self) -> Float[ndarray, "points 2"] | None:
        """The lowest and the highest seed."""
        return None if self.values.ndim == 1 else self.values[:, 1:]

    @property
    def end(self) -> tuple[float, float] | None:
        """The last point with a finite value; None without one."""
        points = zip(self.x[::-1], self.middle[::-1], strict=True)
        return next(((float(x), float(y)) for x, y in points if math.isfinite(y)), None)


@dataclass(frozen=True, eq=False)
class LineChart:
    """Lines with their bands.

    subject: what is shown along what, the beginning of the text alternative: “Exact match by step”
    x, y: the axes; without a span they contain all values
    rules: reference lines
    labels: what stands at the end of each line
    margin: pixels for the labels on the right of the axes
    digits: of the values at the pointer, "power" for powers of ten; None: no values are shown
    words: the text alternative, if it is not made from the subject and the values
    """

    subject: str
    lines: Sequence[Line]
    x: Axis
    y: Axis
    rules: Sequence[Rule] = ()
    labels: Literal["label", "title", "none"] = "label"
    margin: int = 104
    digits: int | str | None = 2
    words: str = ""

    @property
    def text(self) -> str:
        if self.words:
            return self.words
        parts = [line.title + _describe_course(line) for line in self.lines]
        return f"{self.subject}: {'; '.join(filter(None, parts)) or 'nothing yet'}."

    @property
    def readouts(self) -> list[Readout]:
        found: list[Readout] = []
        trace = 0
        for line in self.lines if self.digits is not None else ():
            band = {} if line.band is None else {"low": trace, "high": trace + 1}
            trace += len(band)
            if title := line.name or line.label:
                found.append({"trace": trace, "title": title, "colour": line.colour, "digits": self.digits, **band})
            trace += 1
        return found

    def traces(self) -> list[Trace]:
        x = self._x_axis()
        return [trace for line in self.lines for trace in _line_traces(line, x)]

    def plot(self) -> Plot:
        x, y = self._x_axis(), self._y_axis()
        labels = (
            [] if self.labels == "none" else [label for line in self.lines for label in self._end_label(line, x, y)]
        )
        rules = [self._place_text(rule, y) for rule in self.rules]
        return plot(
            *self.traces(),
            xaxis=x.layout(),
            yaxis=y.layout(),
            margin={"l": 8, "r": self._right_margin(x), "t": 12, "b": 8},
            annotations=[*labels, *(label for rule in rules for label in rule.label(x, y))],
            shapes=[rule.shape() for rule in rules],
        )

    def _x_axis(self) -> Axis:
        if self.x.span:
            return replace(self.x, ticks=6 if self.x.ticks is None and not self.x.log else self.x.ticks)
        if self.x.log:
            # A logarithmic axis has no zero: a first point there stands half a step before the second.
            span = span_of((line.x for line in self.lines), 0.03, log=True)
            starts = any(len(line.x) and line.x[0] <= 0 for line in self.lines)
            return replace(self.x, span=(span[0] / 2 if starts else span[0], span[1]))
        dotted = any(line.dots for line in self.lines)
        low, high = span_of((line.x for line in self.lines), 0.03 if dotted else 0.0, least=None if dotted else 0.0)
        return replace(self.x, span=(low, high), ticks=6 if self.x.ticks is None else self.x.ticks)

    def _y_axis(self) -> Axis:
        span = self.y.span or span_of((line.values for line in self.lines), log=self.y.log)
        ticks = 5 if self.y.ticks is None and not self.y.log else self.y.ticks
        return replace(self.y, span=span, ticks=ticks)

    def _end_label(self, line: Line, x: Axis, y: Axis) -> list[dict[str, Any]]:
        if not line.label or not line.end:
            return []
        parts = _name_parts(line) if self.labels == "title" else [line.label]
        text, size = "<br>".join(map(escape_markup, parts)), 14 if self.labels == "title" else 15
        at = min(x.share(line.end[0]), 1.0)
        return [
            end_label(f"<b>{text}</b>", at, y.share(line.end[1]), size, css_colour(line.colour)) | {"bgcolor": VEIL}
        ]

    def _right_margin(self, x: Axis) -> int:
        """Return the pixels on the right; a line that stops early leaves room for its title inside the axes."""
        if self.labels != "title":
            return 14 if self.labels == "none" else self.margin
        width = 240  # px of the axis on a phone
        needed = [
            20 + 8 * max(map(len, _name_parts(line))) - width * (1 - x.share(line.end[0]))
            for line in self.lines
            if line.end
        ]
        return round(min(max([self.margin, *needed]), 170))

    def _place_text(self, rule: Rule, y: Axis) -> Rule:
        """Return a horizontal rule with its text below it, if lines come from above and there is room."""
        if rule.vertical or not rule.text or rule.far:
            return rule
        crossed = any(line.end and line.middle[0] > rule.at for line in self.lines)
        beneath = [y.share(each.at) for each in self.rules if not each.vertical and each.at < rule.at]
        room = y.share(rule.at) - max(beneath, default=0.0)
        return replace(rule, before=rule.before or (crossed and room >= _ROOM_BELOW))


def _line_traces(line: Line, x_axis: Axis) -> list[Trace]:
    """Return the traces of a line: its band, if it has one, then the line."""
    start = x_axis.span[0] if x_axis.log and x_axis.span else -math.inf
    x = [round_significant(max(float(value), start), 7) for value in line.x]
    title = line.title if line.title.startswith(line.label) else f"{line.label} {line.title}"
    traces = []
    if line.band is not None:
        for values, name in zip(line.band.T, line.edges, strict=True):
            y = [round_significant(value) for value in values]
            traces.append(line_trace(x, y, f"{title}, {name}", line.colour, width=0))
            traces[-1]["fillcolor"] = css_colour(line.colour, 0.18)
        traces[-1]["fill"] = "tonexty"
    mean = [round_significant(value, 7) for value in line.middle]  # its third decimal is the same as in a table
    drawn = line_trace(x, mean, f"{title}, {line.statistic}" if traces else title, line.colour, line.dash, line.width)
    if line.dots:
        colour, hollow = css_colour(line.colour), line.dots == "hollow"
        dot = {"size": 7, "color": PAGE if hollow else colour, "line": {"width": 2 * hollow, "color": colour}}
        # The line continues over missing measurements; only measurements have dots.
        drawn |= {"mode": "lines+markers", "marker": dot, "cliponaxis": False, "connectgaps": True}
    return [*traces, drawn]


def _describe_course(line: Line) -> str:
    values = [f"{v:,.0f}" if abs(v) >= 1_000 else f"{v:.3g}" for v in line.middle if math.isfinite(v)]
    if len(values) < 2:
        return " " + (values[0] if values else "no value yet")
    return f" from {values[0]} to {values[-1]}"


def _name_parts(line: Line) -> list[str]:
    """Return the label and the title of a line on at most two lines."""
    first, _, rest = f"{line.label} {line.title}".partition(", ")
    return [each if len(each) <= _LONGEST else f"{each[: _LONGEST - 1]}…" for each in (first, rest) if each]
