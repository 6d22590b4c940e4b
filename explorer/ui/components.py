"""Our own instruments in the browser: each a module in `assets/`, mounted as a Streamlit component.

Their code is served once by the `/assets` route of `app.py` instead of travelling with every message;
what is registered here is only the few lines that fetch it. Each module says at its top what data it
draws. Visitors' text goes in as data and is shown as text, never as markup.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
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


def register(name: str) -> Any:
    """A component that runs in the browser: `assets/NAME.js`."""
    return st.components.v2.component(
        f"lineage_{name}",
        html=_PLACE.format(name=name),
        js=_MODULE.format(name=name),
        isolate_styles=False,  # plotly writes its style rules into the document's head
    )


_frame, _verdicts, _table, _timeline, _jobs = map(register, ("frame", "verdicts", "table", "timeline", "jobs"))


def heard(key: str, name: str) -> Any:
    """What the visitor last did with an instrument, told once; None if nothing since.

    A page that must know before it draws the instrument may ask first: then the instrument's own
    function has nothing to add, and draws what the page hands it.
    """
    return st.session_state.pop(f"{key}: {name}", None)


def ears(key: str, *names: str) -> dict[str, Callable[[], None]]:
    """Callbacks that keep what is said until a run asks for it: the one it was said in may be interrupted.

    What is said in the moment in which its page is left has nobody to hear it.
    """

    def keep(name: str) -> None:
        said = st.session_state.get(key)
        if said is not None:
            st.session_state[f"{key}: {name}"] = said[name]

    return {f"on_{name}_change": partial(keep, name) for name in names}


@dataclass(frozen=True)
class Panel:
    """One figure in a frame, with the words around it.

    `track` names the traces (line, low, high) whose values are read in the title while the pointer
    moves or the playback runs; `token_axis` the axis on which tokens stand, `token_offset` where the first.
    `tracks` are several such lines, read in a list below: trace, title, colour and perhaps low, high, digits.
    `rest` is where on the x axis they are read while nobody points, or such a place for each of the `frames`;
    without it at their end.
    `target` is a height that can be dragged, with the traces of which the list says where they reach it:
    value, low, high, label, lines of trace, title, colour; rising, unit and digits of the places.
    `frames` are the heights of every trace at each stop of the playback: then that turns the pages of one figure,
    instead of uncovering it from the left.
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

    @cached_property
    def data(self) -> dict[str, object]:
        """What travels to the browser: made once, however many visitors see this panel."""
        plot = self.figure.to_plotly_json()
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
    step: float = 1.0  # by which the arrow keys go
    stops: Sequence[str] = ()  # what stands where, if it counts the frames of panels: `end` is the last of them
    says: Sequence[str] = ()  # a sentence for each frame, below the panels
    first: int | None = None  # where it stands at first; None: at the end
    tells: bool = False  # says where it was let go, as "stop", see `heard`


def tracks(lines: Iterable[tuple[str, str]], digits: int | str = 2, per_line: int = 3) -> list[dict[str, object]]:
    """What is read below a panel: title and colour of each line. Its first traces: lowest, highest, the line itself."""
    found = []
    for i, (title, colour) in enumerate(lines):
        at = per_line * i
        found.append({"trace": at + 2, "low": at, "high": at + 1, "title": title, "colour": colour, "digits": digits})
    return found


def frame(
    panels: Sequence[Panel],
    *,
    key: str,
    height: int,
    narrow_height: int | None = None,
    columns: int | None = None,
    playback: Playback | None = None,
    live: Mapping[str, object] | None = None,
) -> float | None:
    """Draw plotly figures side by side; see `assets/frame.js`. `live` is where they change, see `live.offer`.

    Returns where the visitor has just put the target, for the page to keep and to hand in next time.
    """
    said = heard(key, "target")
    moved = float(said) if isinstance(said, int | float) and math.isfinite(said) else None
    if moved is not None:
        panels = [replace(p, target={**p.target, "value": moved}) if p.target else p for p in panels]
    data = {
        **pictured(panels, playback),
        "columns": columns,
        "height": height,
        "narrow_height": narrow_height,
        "file": key,
        "live": live,
    }
    _frame(data=data, key=key, on_over_change=lambda: None, **ears(key, "target", "stop"))
    return moved


def pictured(panels: Sequence[Panel], playback: Playback | None) -> dict[str, object]:
    """What changes of a frame while something trains."""
    return {"figures": [panel.data for panel in panels], "playback": vars(playback) if playback else None}


def verdicts(data: Mapping[str, object], key: str) -> None:
    """What every model says about one sentence; see `assets/verdicts.js`."""
    _verdicts(data=dict(data), key=key)


@dataclass(frozen=True)
class TableState:
    """What the visitor made of a table: the page keeps it and hands it in next time."""

    chosen: tuple[str, ...]
    sort: str | None
    opened: str | None  # the row that was just pressed


def table(
    columns: Sequence[Mapping[str, object]],
    rows: Sequence[Mapping[str, object]],
    *,
    key: str,
    label: str,
    caption: str | None = None,
    chosen: Sequence[str] | None = None,
    most: int | None = None,
    sort: str | None = None,
) -> TableState:
    """A table with dot strips and verdicts, and rows to choose, sort and open; see `assets/table.js`.

    `chosen` are the keys of the rows that are chosen, None if there is nothing to choose, `most` how many
    may be; `sort` is the key of a column, with a minus for downwards.
    """
    said = heard(key, "chosen")
    if chosen is not None and isinstance(said, list):
        known = {row.get("key") for row in rows} | set(chosen)
        chosen = [one for one in said if isinstance(one, str) and one in known][:most]
    said = heard(key, "sort")
    if isinstance(said, str) and any(c.get("sort") and c["key"] == said.removeprefix("-") for c in columns):
        sort = said
    said = heard(key, "open")
    opened = said if isinstance(said, str) and any(row.get("key") == said for row in rows) else None
    data = {
        "columns": list(columns),
        "rows": list(rows),
        "select": None if chosen is None else {"chosen": list(chosen), "most": most},
        "sort": sort,
        "caption": caption,
        "file": key,
        "label": label,
    }
    _table(data=data, key=key, **ears(key, "chosen", "sort", "open"))
    return TableState(tuple(chosen or ()), sort, opened)


def timeline(stations: Sequence[Mapping[str, object]], key: str) -> str | None:
    """The stations of the lineage; returns the page that was asked for by a click; see `assets/timeline.js`."""
    result = _timeline(data={"stations": list(stations)}, key=key, on_open_change=lambda: None)
    return cast("str | None", result.open)


def jobs_panel(key: str, here: str = "", news: int = 0) -> None:
    """What this server is training, in a corner of every page; `here` is the key of the run on this page.
    With another number of `news` it asks at once.

    It asks the server by itself and takes no room; see `assets/jobs.js`.
    """
    _jobs(data={"here": here, "news": news}, key=key)
