"""A tile for each pair of a row and a column, coloured by its value, with a text on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.charts.axis import Number, Rule
from explorer.charts.chart import Chart, Trace
from explorer.charts.style import INK, SOFT, Plot, escape_markup, labelled_ticks, plot

_CROWDED = 10  # rows or columns from which on tiles stand closer
_MOST_SPOKEN = 60  # tiles whose texts are in the text alternative


@dataclass(frozen=True, eq=False)
class HeatMap(Chart):
    """Tiles of shares from 0 to 1, or from -1 to 1 around a neutral 0; NaN has no tile.

    subject: what is shown, the beginning of the text alternative
    series: the name of the values in a saved table
    rows, columns: their labels, which may repeat, as tokens do
    texts: what is written on the tiles, and said in the text alternative; None: nothing
    signed: whether the values go from -1 to 1
    upward: whether the first row is at the bottom
    columns_on_top: whether the labels of the columns are above the tiles
    legend: the labels of the lowest, the middle and the highest colour; (): no legend
    framed: row and column of the tile with a frame
    hover: what is shown at the pointer besides the value, for each tile; None: nothing at all
    words: the text alternative, if it is not made from the subject and the tiles
    most_labels: rows up to which each has its label; of more rows, only every second, or fewer
    """

    subject: str
    series: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: Float[ndarray, "rows columns"]
    texts: Sequence[Sequence[str]] | None = None
    columns_title: str = ""
    rows_title: str = ""
    signed: bool = False
    upward: bool = False
    columns_on_top: bool = True
    legend: Sequence[str] = ()
    framed: tuple[int, int] | None = None
    hover: Sequence[Sequence[str]] | None = None
    rules: Sequence[Rule] = ()
    words: str = ""
    most_labels: int = 12

    @property
    def text(self) -> str:
        if self.words:
            return self.words
        if self.texts is not None and self.values.size <= _MOST_SPOKEN:
            rows = zip(self.rows, self.texts, strict=True)
            return f"{self.subject}. {'. '.join(f'{row}: {self._spoken(texts)}' for row, texts in rows)}."
        if not np.isfinite(self.values).any():
            return f"{self.subject}: nothing yet."
        row, column = map(int, np.unravel_index(np.nanargmax(self.values), self.values.shape))
        highest = f"{self.values[row, column]:.2f} ({self.rows[row]}, {self.columns[column]})"
        return f"{self.subject}: {len(self.rows)} rows and {len(self.columns)} columns; the highest value is {highest}."

    def _spoken(self, texts: Sequence[str]) -> str:
        tiles = zip(self.columns, texts, strict=True)
        return ", ".join(f"{column} {text}" for column, text in tiles if text) or "no tile"

    def traces(self) -> list[Trace]:
        gap = 2 if max(self.values.shape) <= _CROWDED else 1
        trace: Trace = {
            "type": "heatmap",
            "z": [[None if np.isnan(value) else round(float(value), 4) for value in row] for row in self.values],
            "x": list(range(len(self.columns))),
            "y": list(range(len(self.rows))),
            "zmin": -1 if self.signed else 0,
            "zmax": 1,
            "xgap": gap,
            "ygap": gap,
            "showscale": bool(self.legend),
            "autocolorscale": True,
            "name": self.series,
            **self._hover(),
        }
        if self.texts is not None:
            texts = [[escape_markup(text).replace("\n", "<br>") for text in row] for row in self.texts]
            letters = len(self.columns) * max(len(text) for row in self.texts for text in row)
            size = next(size for most, size in ((32, 14), (48, 13), (10**9, 11)) if letters <= most)
            trace |= {"text": texts, "texttemplate": "%{text}", "textfont": {"size": size}}
        if self.legend:
            trace["colorbar"] = _legend(self.legend, trace["zmin"])
        return [trace]

    def _hover(self) -> dict[str, Any]:
        if self.hover is None:
            return {"hoverinfo": "none"}  # with "skip" plotly reports no clicks
        texts = [[escape_markup(text) for text in row] for row in self.hover]
        return {"hovertext": texts, "hovertemplate": "%{hovertext}: %{z:.3f}<extra></extra>"}

    def plot(self) -> Plot:
        rows, columns = self.values.shape
        every = -(-rows // self.most_labels)
        labels = [label if i % every == 0 else "" for i, label in enumerate(self.rows)]
        top = 64 if self.legend else 8
        if self.columns_on_top:
            top += 32 if self.columns_title else 28
        return plot(
            *self.traces(),
            xaxis={
                **labelled_ticks(self.columns),
                **({"title": {"text": self.columns_title}} if self.columns_title else {}),
                "range": [-0.5, columns - 0.5],
                "showgrid": False,
                "showline": False,
                "ticks": "",
                "autotickangles": [0, 90],  # upright on a narrow screen
                **({"side": "top"} if self.columns_on_top else {}),
            },
            yaxis={
                **labelled_ticks(labels),
                **({"title": {"text": self.rows_title}} if self.rows_title else {}),
                "range": [-0.5, rows - 0.5] if self.upward else [rows - 0.5, -0.5],
                "showgrid": False,
            },
            margin={"l": 8, "r": 8, "t": top, "b": 8 if self.columns_on_top else 28},
            shapes=[rule.shape() for rule in self.rules] + ([_frame(*self.framed)] if self.framed else []),
        )


def tile_texts(values: Float[ndarray, "rows columns"], least: float = 0.1, most: int = 12) -> list[list[str]]:
    """Return each value from `least` on with two decimals; nothing in a map of more than `most` rows or columns."""
    crowded = max(values.shape) > most
    return [["" if crowded or not abs(value) >= least else f"{value:.2f}" for value in row] for row in values]


def _legend(labels: Sequence[str], lowest: Number) -> dict[str, Any]:
    return {
        "orientation": "h",
        "x": 0,
        "xanchor": "left",
        "y": 1,
        "yanchor": "bottom",
        "len": 0.75,
        "thickness": 10,
        "outlinewidth": 0,
        "tickvals": [lowest, (lowest + 1) / 2, 1],
        "ticktext": list(labels),
        "tickangle": 0,
        "tickfont": {"size": 14, "color": SOFT},
    }


def _frame(row: int, column: int) -> dict[str, object]:
    corners = {"x0": column - 0.5, "x1": column + 0.5, "y0": row - 0.5, "y1": row + 0.5}
    return {"type": "rect", **corners, "line": {"color": INK, "width": 3}, "fillcolor": "rgba(0,0,0,0)"}
