"""Charts in a notebook, which has neither the colours of the app nor the frame that it draws charts in."""

from __future__ import annotations

import json
import re
from functools import cache

from explorer.charts.chart import Chart
from explorer.charts.heat_map import HeatMap
from explorer.charts.style import escape_markup, labelled_ticks
from explorer.lazy_libraries import go
from explorer.program_files import STATIC_FILES

_ROW = 26  # px, the height of a row of a heat map or of a bar
_VARIABLE = re.compile(r"var\((--[\w-]+)(?:/([\d.]+))?\)")


def notebook_figure(chart: Chart, title: str = "") -> go.Figure:
    """Return the figure of a chart in light colours, with a legend of what a page would show at the pointer."""
    drawn = json.dumps(chart.plot(), default=float)
    found = json.loads(_VARIABLE.sub(_light_colour, drawn))
    traces, layout = found["data"], found["layout"]
    names = {readout["trace"]: readout["title"] for readout in chart.readouts}
    for number, trace in enumerate(traces):
        if names:
            trace |= {"name": names.get(number, trace["name"]), "showlegend": number in names and len(names) > 1}
        if trace.get("line", {}).get("width") != 0:
            trace.pop("hoverinfo", None)
    if isinstance(chart, HeatMap):
        layout["yaxis"] |= labelled_ticks(chart.rows)  # also of many rows
    rows = max((len(trace["y"]) for trace in traces if trace["type"] in ("heatmap", "bar")), default=0)
    layout |= {
        "template": "plotly_white",
        "title": {"text": escape_markup(title)},
        "colorscale": {"sequential": "Blues", "diverging": "BrBG"},
        "margin": {"t": 140} if layout.get("xaxis", {}).get("side") == "top" else {},
        "legend": layout.get("legend", {}) | {"traceorder": "normal"},
        **({"height": max(190 + _ROW * rows, 320)} if rows else {}),
    }
    return go.Figure(traces, layout)


def _light_colour(match: re.Match[str]) -> str:
    digits = _light_colours()[match[1]]
    red, green, blue = (int(digits[i : i + 2], 16) for i in (0, 2, 4))
    return f"rgba({red},{green},{blue},{match[2] or 1})"


@cache
def _light_colours() -> dict[str, str]:
    """Return the six digits of each colour in the light theme by its CSS variable."""
    sheet = (STATIC_FILES / "shared/base.css").read_text("utf-8")
    return dict(re.findall(r"(--[\w-]+): light-dark\(#(\w{6})", sheet))
