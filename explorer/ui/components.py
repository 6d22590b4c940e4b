"""Our own instruments in the browser: each a module in `assets/`, mounted as a Streamlit component.

Their code is served once by the `/assets` route of `app.py` instead of travelling with every message;
what is registered here is only the few lines that fetch it. Each module says at its top what data it
draws. Visitors' text goes in as data and is shown as text, never as markup.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import plotly.graph_objects as go
import streamlit as st

# The line breaks matter: Streamlit takes a one-line string for the path of a file.
_MODULE = """
const module = import(new URL("/assets/lineage/{name}.js", location.origin).href);
export default function (component) {{
  let unmount, gone = false;
  module.then((m) => {{ if (!gone) unmount = m.default(component); }});
  return () => {{ gone = true; unmount?.(); }};
}}
"""
_PLACE = """
<link rel="stylesheet" href="/assets/lineage/base.css">
<link rel="stylesheet" href="/assets/lineage/{name}.css">
<div class="lineage lineage-{name}"></div>
"""


def _register(name: str) -> Any:
    return st.components.v2.component(
        f"lineage_{name}",
        html=_PLACE.format(name=name),
        js=_MODULE.format(name=name),
        isolate_styles=False,  # plotly writes its style rules into the document's head
    )


_frame, _verdicts, _table, _timeline = (_register(name) for name in ("frame", "verdicts", "table", "timeline"))


@dataclass(frozen=True)
class Panel:
    """One figure in a frame, with the words around it.

    `track` names the traces (line, low, high) whose values are read in the title while the pointer
    moves or the playback runs; `token_axis` the axis on which tokens stand, `token_offset` where the first.
    """

    name: str
    figure: go.Figure
    alt: str
    title: str | None = None
    colour: str | None = None
    value: str | None = None
    caption: str | None = None
    track: tuple[int, int, int] | None = None
    token_axis: str | None = None
    token_offset: int = 0
    token_count: int | None = None

    def data(self) -> dict[str, object]:
        plot = self.figure.to_plotly_json()
        track = dict(zip(("trace", "low", "high"), self.track, strict=True)) if self.track else None
        return {
            **{name: getattr(self, name) for name in ("name", "alt", "title", "colour", "value", "caption")},
            "plot": {"data": plot["data"], "layout": plot["layout"]},
            "track": {**track, "digits": 3} if track else None,
            "token_axis": self.token_axis,
            "token_offset": self.token_offset,
            "token_count": self.token_count,
        }


@dataclass(frozen=True)
class Playback:
    """A training shown at a pace of the visitor's choice; it acts in that visitor's browser only."""

    run: str  # changes when another training is shown
    end: int  # the last epoch there will be
    available: int  # the last epoch there is
    live: bool
    say: str
    autoplay: bool = False  # play it from the start even if it is over already: Train was just pressed
    unit: str = "epoch"


def frame(
    panels: Sequence[Panel],
    *,
    key: str,
    height: int,
    narrow_height: int | None = None,
    columns: int | None = None,
    playback: Playback | None = None,
) -> None:
    """Draw plotly figures side by side; see `assets/frame.js`."""
    data = {
        "figures": [panel.data() for panel in panels],
        "columns": columns,
        "height": height,
        "narrow_height": narrow_height,
        "file": key,
        "playback": vars(playback) if playback else None,
    }
    _frame(data=data, key=key)


def verdicts(data: Mapping[str, object], key: str) -> None:
    """What every model says about one sentence; see `assets/verdicts.js`."""
    _verdicts(data=dict(data), key=key)


def table(
    columns: Sequence[Mapping[str, object]],
    rows: Sequence[Mapping[str, object]],
    *,
    key: str,
    label: str,
    caption: str | None = None,
) -> None:
    """A table with dot strips and verdicts; see `assets/table.js`."""
    data = {"columns": list(columns), "rows": list(rows), "caption": caption, "file": key, "label": label}
    _table(data=data, key=key)


def timeline(stations: Sequence[Mapping[str, object]], key: str) -> str | None:
    """The stations of the lineage; returns the page that was asked for by a click; see `assets/timeline.js`."""
    result = _timeline(data={"stations": list(stations)}, key=key, on_open_change=lambda: None)
    return cast("str | None", result.open)
