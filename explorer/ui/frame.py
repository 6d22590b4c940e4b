"""Charts side by side with playback, as data for the browser. Needs no streamlit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from explorer.charts import Chart

_ROOM_ABOVE = 30  # pixels above the axes, where the page writes the position at which values are read


@dataclass(frozen=True)
class Panel:
    """One chart in a frame, with its title and captions.

    name: of the panel, in events and saved files
    value: what stands behind the title; with `reads_in_title` it is the value at the pointer or playback position
    rest: x position at which values are read without a pointer (one for each of `frames`); by default the end
    target: a horizontal line that can be dragged; a list says where the given traces reach it: value, low, high,
        label, lines (trace, title, colour), and rising, unit and digits of the x positions
    frames: the chart at each stop of the playback, which then replaces the values instead of revealing the figure from
        the left
    token_axis, token_offset, token_count: the axis labelled with tokens, the position of the first, their number
    pickable: a click on a point sends the event "pick" with the name of the panel, x and y
    earlier: the panel of an earlier result, which is drawn pale behind this one
    """

    name: str
    chart: Chart
    title: str | None = None
    colour: str | None = None
    value: str | None = None
    caption: str | None = None
    reads_in_title: bool = False
    rest: float | Sequence[float] | None = None
    target: Mapping[str, object] | None = None
    frames: Sequence[Chart] = ()
    token_axis: str | None = None
    token_offset: int = 0
    token_count: int | None = None
    pickable: bool = False
    earlier: Panel | None = None

    @cached_property
    def data(self) -> dict[str, object]:
        """The data for the browser, computed once for all visitors."""
        plot = self.chart.plot()
        if self.rest is not None:
            plot["layout"]["margin"] = {**plot["layout"].get("margin", {}), "t": _ROOM_ABOVE}
        if self.earlier:
            _add_pale(plot, self.earlier.chart.plot())
        readouts = list(self.chart.readouts)
        track = {"low": 0, "high": 0, **readouts[0]} if readouts and self.reads_in_title else None
        return {
            **{name: getattr(self, name) for name in ("name", "title", "colour", "value", "caption", "rest")},
            "alt": self.chart.text,
            "plot": {"data": plot["data"], "layout": plot["layout"]},
            "track": track and {name: track[name] for name in ("trace", "low", "high", "digits")},
            "tracks": None if self.reads_in_title else readouts or None,
            "target": dict(self.target) if self.target else None,
            "frames": [[trace["y"] for trace in chart.traces()] for chart in self.frames] or None,
            "token_axis": self.token_axis,
            "token_offset": self.token_offset,
            "token_count": self.token_count,
            "pickable": self.pickable,
        }


def _add_pale(plot: dict[str, Any], earlier: dict[str, Any]) -> None:
    """Add the traces of an earlier figure to plotly's JSON of a figure, pale and whole, on axes with room for both."""
    marks = {"opacity": 0.3, "hoverinfo": "skip", "showlegend": False, "meta": {"whole": True}}
    pale = [trace | marks for trace in earlier["data"] if trace.get("type", "scatter") == "scatter"]
    plot["data"] = [*plot["data"], *pale]
    layout = dict(plot["layout"])
    for name, axis in earlier["layout"].items():
        if name.startswith(("xaxis", "yaxis")) and "range" in axis and "range" in layout.get(name, {}):
            both = [axis["range"], layout[name]["range"]]
            layout[name] = layout[name] | {"range": [min(low for low, _ in both), max(high for _, high in both)]}
    plot["layout"] = layout


@dataclass(frozen=True)
class Playback:
    """The playback of a training, which runs in the visitor's browser only."""

    run: str  # changes when another training is shown
    end: int  # the last epoch there will be
    available: int  # the last epoch there is
    live: bool
    say: str
    autoplay: bool = False  # play from the start even if training has ended: Train was just pressed
    unit: str = "epoch"
    step: float = 1.0  # step of the arrow keys
    stops: Sequence[str] = ()  # labels of the frames of the panels; `end` is then the last frame
    says: Sequence[str] = ()  # a sentence for each frame, below the panels
    first: int | None = None  # initial position; None: the end
    tells: bool = False  # send the final position of a drag as the event "stop"


def frame_data(
    panels: Sequence[Panel],
    key: str,
    height: int,
    narrow_height: int | None = None,
    columns: int | None = None,
    playback: Playback | None = None,
) -> dict[str, object]:
    """Return the data of the component `plot_frame`; see `static/components/plot_frame/view.js`.

    height, narrow_height: pixels on wide and narrow screens
    columns: number of figures in a row; None chooses by width
    """
    return {
        "figures": [panel.data for panel in panels],
        "playback": vars(playback) if playback else None,
        "columns": columns,
        "height": height,
        "narrow_height": narrow_height,
        "file": key,
    }
