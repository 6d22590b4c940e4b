"""The frame that draws plotly figures in the browser, side by side, with live updates and playback."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import plotly.graph_objects as go

from explorer.ui.components.base import event_callbacks, pop_event, register
from explorer.ui.document import Document
from explorer.ui.frame import Playback as Playback
from explorer.ui.frame import _add_pale, frame_data

_frame = register("plot_frame")


@dataclass(frozen=True)
class Panel:
    """One figure in a frame, with its title and captions.

    track: indices of the traces (line, low, high) whose values the title shows at the pointer or playback position.
    tracks: several such lines, listed below the figure: trace, title, colour and optionally low, high, digits.
    rest: x position at which values are read without a pointer (one for each of `frames`); by default the end.
    target: a horizontal line that can be dragged; a list says where the given traces reach it: value, low, high,
        label, lines (trace, title, colour), and rising, unit and digits of the x positions.
    frames: y values of every trace at each stop of the playback, which then replaces the values instead of revealing
        the figure from the left.
    token_axis, token_offset, token_count: the axis labelled with tokens, the position of the first, their number.
    pickable: a click on a point sends the event "pick" with the name of the panel, x and y.
    earlier: the figure of an earlier result, which is drawn pale behind this one.
    """

    name: str
    figure: go.Figure
    alt: str
    title: str | None = None
    colour: str | None = None
    value: str | None = None
    caption: str | None = None
    track: tuple[int, int, int] | None = None
    tracks: Sequence[Mapping[str, object]] | None = None
    rest: float | Sequence[float] | None = None
    target: Mapping[str, object] | None = None
    frames: Sequence[Sequence[Sequence[float | None]]] | None = None
    token_axis: str | None = None
    token_offset: int = 0
    token_count: int | None = None
    pickable: bool = False
    earlier: Panel | None = None

    @cached_property
    def data(self) -> dict[str, object]:
        """The data for the browser, computed once for all visitors."""
        plot = self.figure.to_plotly_json()
        if self.earlier:
            _add_pale(plot, self.earlier.figure.to_plotly_json())
        track = dict(zip(("trace", "low", "high"), self.track, strict=True)) if self.track else None
        return {
            **{name: getattr(self, name) for name in ("name", "alt", "title", "colour", "value", "caption", "rest")},
            "plot": {"data": plot["data"], "layout": plot["layout"]},
            "track": {**track, "digits": 3} if track else None,
            "tracks": [{"digits": 3, **line} for line in self.tracks] if self.tracks else None,
            "target": dict(self.target) if self.target else None,
            "frames": self.frames,
            "token_axis": self.token_axis,
            "token_offset": self.token_offset,
            "token_count": self.token_count,
            "pickable": self.pickable,
        }


def value_tracks(lines: Iterable[tuple[str, str]], digits: int | str = 2, per_line: int = 3) -> list[dict[str, object]]:
    """Return the `tracks` of a panel whose first traces are low, high and line for each title and colour."""
    tracks = []
    for i, (title, colour) in enumerate(lines):
        first_trace = per_line * i
        tracks.append(
            {
                "trace": first_trace + 2,
                "low": first_trace,
                "high": first_trace + 1,
                "title": title,
                "colour": colour,
                "digits": digits,
            }
        )
    return tracks


def draw_plot_frame(
    panels: Sequence[Any],
    *,
    key: str,
    height: int,
    narrow_height: int | None = None,
    columns: int | None = None,
) -> float | None:
    """Draw plotly figures side by side; see `static/components/plot_frame/view.js`.

    height, narrow_height: pixels on wide and narrow screens.
    columns: number of figures in a row; None chooses by width.

    Returns the value to which the visitor has just dragged the target, or None. The page passes it in the next run.
    """
    target = pop_target(key)
    if target is not None:
        panels = [replace(p, target={**p.target, "value": target}) if p.target else p for p in panels]
    mount_frame(frame_data(panels, key, height, narrow_height, columns), key)
    return target


def mount_frame(data: Mapping[str, object], key: str) -> None:
    """Mount the component with the data that `frame_data` returns."""
    _frame(data=data, key=key, **event_callbacks(key, "target", "stop", "pick"))


def add_plot_frame(
    document: Document,
    panels: Sequence[Any],
    *,
    key: str,
    height: int,
    narrow_height: int | None = None,
    columns: int | None = None,
    playback: Playback | None = None,
) -> None:
    """Add plotly figures side by side to a document; the parameters are those of `draw_plot_frame`."""
    document.component("plot_frame", frame_data(panels, key, height, narrow_height, columns, playback), key)


def pop_target(key: str) -> float | None:
    """Return the value to which the visitor has just dragged the target of a frame; None without a new one."""
    event = pop_event(key, "target")
    return float(event) if isinstance(event, int | float) and math.isfinite(event) else None


def pop_pick(key: str) -> tuple[str, int, int] | None:
    """Return the panel and the whole numbers x and y of the point that the visitor has just clicked; None without."""
    event = pop_event(key, "pick")
    if not isinstance(event, dict):
        return None
    figure, x, y = (event.get(name) for name in ("figure", "x", "y"))
    return (figure, x, y) if isinstance(figure, str) and type(x) is int and type(y) is int else None
