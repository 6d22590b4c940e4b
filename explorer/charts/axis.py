"""Axes with their ranges and ticks at round values, and straight lines across a chart."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy import ndarray

from explorer.charts.style import (
    INK,
    SOFT,
    VEIL,
    annotation,
    css_colour,
    escape_markup,
    horizontal_line,
    power_of_ten,
    vertical_line,
)

Number: TypeAlias = float | int  # the tests check types when they run, and an int is no float there
_SMALLEST = 1e-30  # on a logarithmic axis, which has no zero
_TICK_DIGITS = ((1, 2, 5), (1, 3), (1,))  # first digits of the ticks of a logarithmic axis, if there is room for them
_TICK_STEPS = (5.0, 2.0, 1.0, 0.5, 0.2)  # between the ticks of a short logarithmic axis, in powers of ten


@dataclass(frozen=True)
class Axis:
    """An axis of a chart. Its numbers are in the unit of the axis, also if it is logarithmic.

    span: where it begins and ends; None: so that all values are inside
    ticks: the label of each value, the values alone, or about how many; None: chosen by the chart
    unit: written behind the number of each tick
    upright: whether the labels are never turned
    """

    title: str = ""
    span: tuple[Number, Number] | None = None
    log: bool = False
    ticks: Mapping[Number, str] | Sequence[Number] | int | None = None
    unit: str = ""
    upright: bool = False

    def position(self, value: Number) -> float:
        """Return where plotly draws a value: its logarithm on a logarithmic axis."""
        return math.log10(max(value, _SMALLEST)) if self.log else float(value)

    def share(self, value: Number) -> float:
        """Return where a value stands on an axis with a span, as a share of its length."""
        assert self.span is not None
        low, high = map(self.position, self.span)
        return (self.position(value) - low) / ((high - low) or 1.0)

    def layout(self) -> dict[str, Any]:
        """Return the axis as plotly's layout has it."""
        found: dict[str, Any] = {"title": {"text": self.title}} if self.title else {}
        ticks = self.ticks
        if self.log:
            found |= {"type": "log", "tickformat": "~g", "exponentformat": "power"}
            ticks = log_ticks(*self.span) if ticks is None and self.span else ticks
        if self.span:
            found["range"] = [self.position(end) for end in self.span]
        if isinstance(ticks, int):
            found["nticks"] = ticks
        elif isinstance(ticks, Mapping):
            found |= {"tickvals": list(ticks), "ticktext": list(map(escape_markup, ticks.values()))}
        elif ticks is not None:
            found["tickvals"] = list(ticks)
        if self.unit:
            found["ticksuffix"] = self.unit
        if self.upright:
            found["tickangle"] = 0
        return found


PLAIN = Axis()  # without a title, and as long as the values need
ACCURACY = Axis(span=(0.0, 1.04), ticks={0: "0", 0.5: "0.5", 1: "1"})  # a share of right answers


def span_of(
    values: Iterable[ndarray | Iterable[Number] | None],
    room: float = 0.06,
    *,
    log: bool = False,
    least: Number | None = None,
    most: Number | None = None,
) -> tuple[float, float]:
    """Return a range with all finite values.

    values: groups of values; None for none
    room: beside them on each side, as a share of the range
    log: for a logarithmic axis, on which only positive values count
    least, most: values that the range contains in any case
    """
    given = [np.asarray([*each], float).ravel() for each in values if each is not None]
    given.append(np.array([each for each in (least, most) if each is not None], float))
    every = np.concatenate(given)
    every = every[np.isfinite(every) & ((every > 0) | (not log))]
    if not len(every):
        return (1.0, 10.0) if log else (0.0, 1.0)
    low, high = float(every.min()), float(every.max())
    if log:
        factor = max((high / low) ** room, 1.02)
        return low / factor, high * factor
    margin = room * (high - low) if high > low else 0.05 * abs(high) or 0.05
    return (low if low == least else low - margin), (high if high == most else high + margin)


def log_ticks(low: Number, high: Number, most: int = 6) -> dict[Number, str]:
    """Return at most so many labelled ticks of a logarithmic axis.

    They are round numbers with small first digits, powers of ten alone on a long axis, or equal steps on a short one.
    """
    low, high = max(low, _SMALLEST), max(high, _SMALLEST)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks: list[float] = []
    for digits in _TICK_DIGITS:
        ticks = [tick for power in powers for digit in digits if low <= (tick := digit * 10.0**power) <= high]
        if len(ticks) <= most:
            break
    if len(ticks) < 3:
        unit = 10.0 ** math.floor(math.log10(high - low)) if high > low else 1.0
        for step in (digit * unit for digit in _TICK_STEPS):
            first, last = math.ceil(low / step), math.floor(high / step)
            if 3 <= last - first + 1 <= most:
                ticks = [float(f"{i * step:.12g}") for i in range(first, last + 1)]
                break
    ticks = ticks[:: -(-len(ticks) // most) or 1]
    return {
        tick: f"{tick:,.10g}" if 0.001 <= tick < 100_000 else power_of_ten(round(math.log10(tick))) for tick in ticks
    }


def doubling_ticks(first: int, last: int) -> dict[Number, str]:
    """Return ticks that double from `first`, and `last` if there is room for it."""
    ticks = [first * 2**i for i in range(1 + int(math.log2(max(last, first) / first)))]
    return {tick: f"{tick:,}" for tick in ([*ticks, last] if last > 1.4 * ticks[-1] else ticks)}


# ---- rules: known values, limits, and what the visitor has chosen


@dataclass(frozen=True)
class Rule:
    """A straight line; `level`, `limit` and `selection` make the usual ones.

    at: the value on its axis
    text: written at one end of the line, on one of its sides
    before: whether the text is left of a vertical line, or below a horizontal one
    far: whether the text is at the lower end of a vertical line, or at the right end of a horizontal one
    """

    at: Number
    vertical: bool
    colour: str
    dash: str
    text: str = ""
    before: bool = False
    far: bool = False

    def shape(self) -> dict[str, Any]:
        """Return the line as a shape of plotly's layout."""
        draw = vertical_line if self.vertical else horizontal_line
        return draw(float(self.at), self.colour, 1.5, self.dash)

    def label(self, x: Axis, y: Axis) -> list[dict[str, Any]]:
        """Return the text as annotations of plotly's layout: one, or none."""
        if not self.text:
            return []
        if self.vertical:
            place = {"xanchor": "right" if self.before else "left", "xshift": -6 if self.before else 6}
            place |= {"yref": "paper", "yanchor": "bottom" if self.far else "top"}
            at, end = x.position(self.at), 0.0 if self.far else 1.0
        else:
            place = {"yanchor": "top" if self.before else "bottom", "xref": "paper"}
            place |= {"xanchor": "right", "xshift": -8} if self.far else {"xanchor": "left", "xshift": 8}
            at, end = 1.0 if self.far else 0.0, y.position(self.at)
        style = {"font": {"size": 14, "color": self.colour}, "bgcolor": VEIL}
        return [annotation(escape_markup(self.text), at, end, **style, **place)]


def level(at: Number, text: str = "", colour: str = "", *, below: bool = False, right: bool = False) -> Rule:
    """Return the horizontal line of a value that is known, as of guessing; `colour` is that of a model."""
    return Rule(at, False, css_colour(colour) if colour else SOFT, "5px,4px", text, below, right)


def limit(at: Number, text: str = "", *, left: bool = False, bottom: bool = False) -> Rule:
    """Return the vertical line where something ends, as the lengths of the training."""
    return Rule(at, True, INK, "3px,3px", text, left, bottom)


def selection(at: Number) -> Rule:
    """Return the vertical line at the value that the visitor has chosen."""
    return Rule(at, True, SOFT, "5px,4px")
