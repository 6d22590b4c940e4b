"""What a chart of any kind gives to a page or a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

from explorer.charts.style import Plot, plot

Trace: TypeAlias = dict[str, Any]  # as plotly's JSON has it
Readout: TypeAlias = dict[str, object]  # trace, title, colour, digits and, with a band, low and high


@runtime_checkable
class Chart(Protocol):
    """A chart of any kind; a class of this base has no values at the pointer, unless it says which."""

    @property
    def text(self) -> str:
        """What the chart shows, for readers who do not see it."""

    @property
    def readouts(self) -> Sequence[Readout]:
        """The lines whose values the page shows at the pointer, by the indices of their traces."""
        return ()

    def traces(self) -> list[Trace]:
        """Return the traces; their names are the columns of a saved table."""

    def plot(self) -> Plot:
        """Return the traces and the layout as plotly's JSON has them; `go.Figure` takes them."""


@dataclass(frozen=True, eq=False)
class Drawing:
    """A chart that is of no other kind, from traces and a layout as plotly's JSON has them."""

    text: str
    drawn: Sequence[Trace]
    layout: Mapping[str, Any]
    readouts: Sequence[Readout] = ()

    def traces(self) -> list[Trace]:
        return list(self.drawn)

    def plot(self) -> Plot:
        return plot(*self.drawn, **self.layout)
