"""Tokenizers at every size of their vocabulary, where the rows of a batch come from, and what a leak is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int
from numpy import ndarray

from explorer.figures.style import INK, PAGE, RULE, SOFT, figure, paint, rounded, upright, words

_POINTS = 160  # of a curve: as many as can be told apart


@dataclass(frozen=True)
class Course:
    """What one tokenizer does at every size of its vocabulary. No tokenizer has a hue: hues are names of models."""

    name: str
    dash: str
    sizes: Int[ndarray, " sizes"]
    values: Float[ndarray, " sizes"]


def courses(lines: Sequence[Course], here: int, y_title: str, digits: int = 2, percent: bool = False) -> go.Figure:
    """All tokenizers over the size of the vocabulary; an upright line at the size that is chosen."""
    traces: list[dict[str, Any]] = []
    names = []
    unit = " %" if percent else ""
    for line in lines:
        kept = _thinned(line.sizes)
        x, y = line.sizes[kept], line.values[kept] * (100 if percent else 1)
        alone = len(x) == 1
        traces.append(
            {
                "type": "scatter",
                "mode": "markers" if alone else "lines",
                "x": x.tolist(),
                "y": rounded(y),
                "name": line.name,
                "line": {"color": INK, "width": 2.5, "dash": line.dash},
                "marker": {"size": 9, "color": INK},
                "hovertemplate": f"%{{x:,}} tokens: %{{y:.{digits}f}}{unit}<extra>{line.name}</extra>",
                "cliponaxis": False,
            }
        )
        names.append((float(y[-1]), float(x[-1]), line.name))
    widest = max((x for _, x, _ in names), default=1.0)
    top = max((value for value, _, _ in names), default=1.0)
    labels = [
        words(name, x, height, xanchor="left", xshift=8, yanchor="middle" if x > 0.5 * widest else "top")
        for (_, x, name), height in zip(
            names, _apart([value for value, _, _ in names], 0.09 * max(top, 1e-9)), strict=True
        )
    ]
    return figure(
        *traces,
        xaxis={"range": [0, widest], "nticks": 5, "title": {"text": "tokens in the vocabulary"}},
        yaxis={"rangemode": "tozero", "nticks": 5, "ticksuffix": unit, "title": {"text": y_title}},
        shapes=[upright(float(here), SOFT, 1.5, "5px,4px")],
        annotations=labels,
        margin={"l": 8, "r": 112, "t": 12, "b": 8},
    )


def origins(places: Int[ndarray, "steps rows"], tokens: int) -> go.Figure:
    """Where in the text each row of the first batches begins: a line a row, a number a step."""
    steps, rows = places.shape
    x, y, text = [], [], []
    for row in range(rows):
        for label, place in _gathered(places[:, row], 0.03 * tokens):
            x.append(place)
            y.append(row - 0.16)
            text.append(label)
    shapes: list[dict[str, Any]] = [
        {"type": "line", "x0": 0, "x1": tokens, "y0": r, "y1": r, "line": {"color": RULE, "width": 6}, "layer": "below"}
        for r in range(rows)
    ]
    every = {
        "type": "scatter",
        "mode": "markers",
        "x": places.T.flatten().tolist(),
        "y": [row for row in range(rows) for _ in range(steps)],
        "customdata": [step + 1 for _ in range(rows) for step in range(steps)],
        "marker": {"size": 13, "color": INK, "line": {"color": PAGE, "width": 2}},
        "name": "first token of the row",
        "hovertemplate": "step %{customdata}: from token %{x:,}<extra></extra>",
        "cliponaxis": False,
    }
    numbers = {
        "type": "scatter",
        "mode": "text",
        "x": x,
        "y": y,
        "text": text,
        "textposition": "top center",
        "textfont": {"size": 14, "color": INK},
        "name": "step",
        "hoverinfo": "skip",
        "cliponaxis": False,
    }
    return figure(
        every,
        numbers,
        xaxis={"range": [0, tokens], "nticks": 5, "title": {"text": "place in the tokens to learn from"}},
        yaxis={
            "tickvals": list(range(rows)),
            "ticktext": [f"row {row + 1}" for row in range(rows)],
            "range": [rows - 0.6, -0.7],
            "showgrid": False,
        },
        shapes=shapes,
        margin={"l": 8, "r": 24, "t": 12, "b": 8},
    )


@dataclass(frozen=True)
class Flattery:
    """One kind of rows: bits a character under the honest split, and under the leaky one."""

    name: str
    honest: float
    leaky: float


def flattered(pairs: Sequence[Flattery], colour: str) -> go.Figure:
    """How far a leak moves the score: a full dot is honest, a hollow one leaks."""
    rows = list(range(len(pairs)))
    most = max(value for pair in pairs for value in (pair.honest, pair.leaky))
    threads = {
        "type": "scatter",
        "mode": "lines",
        "x": [x for pair in pairs for x in (*rounded([pair.honest, pair.leaky]), None)],
        "y": [y for row in rows for y in (row, row, None)],
        "line": {"color": paint(colour, 0.35), "width": 6},
        "name": "flattery",
        "hoverinfo": "skip",
    }
    traces: list[dict[str, Any]] = [threads]
    annotations: list[dict[str, Any]] = []
    for name, values, fill in (
        ("honest", [pair.honest for pair in pairs], paint(colour)),
        ("leaky", [pair.leaky for pair in pairs], PAGE),
    ):
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": rounded(values),
                "y": rows,
                "marker": {"size": 15, "color": fill, "line": {"color": paint(colour), "width": 3}},
                "name": name,
                "hovertemplate": "%{x:.3f} bits<extra>" + name + "</extra>",
                "cliponaxis": False,
            }
        )
    for row, pair in zip(rows, pairs, strict=True):
        # One above, one below: so they never cover each other, however near the two scores are.
        for name, value, side, shift in (("honest", pair.honest, "bottom", 9), ("leaky", pair.leaky, "top", -9)):
            anchor = "left" if value < 0.12 * most else "center"
            annotations.append(
                words(f"{name} {value:.2f}", value, float(row), yanchor=side, yshift=shift, xanchor=anchor)
            )
    return figure(
        *traces,
        xaxis={
            "range": [0, 1.02 * most],
            "nticks": 6,
            "title": {"text": "bits a character of what is held out"},
        },
        yaxis={"tickvals": rows, "ticktext": [pair.name for pair in pairs], "range": [len(rows) - 0.4, -0.6]},
        annotations=annotations,
        margin={"l": 8, "r": 48, "t": 12, "b": 8},
    )


def _thinned(sizes: Int[ndarray, " sizes"]) -> Int[ndarray, " kept"]:
    """Places of a curve, closer where it bends: at its beginning."""
    last = len(sizes) - 1
    kept: Int[ndarray, " kept"] = np.unique(np.rint(np.linspace(0, 1, _POINTS) ** 2 * last).astype(np.int64))
    return kept


def _apart(heights: Sequence[float], gap: float) -> list[float]:
    """Labels where their lines end, pushed up where they would cover each other."""
    placed = dict.fromkeys(range(len(heights)), 0.0)
    floor = -np.inf
    for i in sorted(range(len(heights)), key=lambda i: heights[i]):
        placed[i] = max(heights[i], float(floor))
        floor = placed[i] + gap
    return [placed[i] for i in range(len(heights))]


def _gathered(places: Int[ndarray, " steps"], near: float) -> list[tuple[str, int]]:
    """Steps whose dots would cover each other share a label: "1 2 3"."""
    found: list[tuple[list[int], int]] = []
    for step in np.argsort(places, kind="stable").tolist():
        place = int(places[step])
        if found and place - found[-1][1] < near:
            found[-1][0].append(step + 1)
        else:
            found.append(([step + 1], place))
    return [(" ".join(map(str, sorted(steps))), place) for steps, place in found]
