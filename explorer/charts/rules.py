"""Straight lines across a chart: known values, limits, and what the visitor has chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from explorer.charts.axis import Axis, Number
from explorer.charts.style import INK, SOFT, VEIL, annotation, css_colour, escape_markup, horizontal_line, vertical_line


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
