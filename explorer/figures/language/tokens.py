"""Tokenizers by vocabulary size, the origin of the rows of a batch, and the bias of a leaky train/test split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int
from numpy import ndarray

from explorer.charts.style import INK, PAGE, RULE, SOFT, annotation, css_colour, figure, round_values, vertical_line

_MAX_POINTS = 160  # of a curve


@dataclass(frozen=True)
class TokenizerLine:
    """A measure of one tokenizer by vocabulary size. Tokenizers have no colour: colours stand for models."""

    name: str
    dash: str
    sizes: Int[ndarray, " sizes"]
    values: Float[ndarray, " sizes"]


def measure_by_vocabulary(
    lines: Sequence[TokenizerLine], current: int, y_title: str, digits: int = 2, percent: bool = False
) -> go.Figure:
    """Return a measure of all tokenizers over the vocabulary size.

    lines: one for each tokenizer
    current: the selected vocabulary size, a vertical line
    y_title: the title of the y axis
    digits: decimals of the values when hovering
    percent: whether the values are shares to be shown in percent
    """
    traces: list[dict[str, Any]] = []
    names = []
    unit = " %" if percent else ""
    for line in lines:
        indices = _thin_indices(line.sizes)
        x, y = line.sizes[indices], line.values[indices] * (100 if percent else 1)
        single = len(x) == 1
        traces.append(
            {
                "type": "scatter",
                "mode": "markers" if single else "lines",
                "x": x.tolist(),
                "y": round_values(y),
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
        annotation(name, x, height, xanchor="left", xshift=8, yanchor="middle" if x > 0.5 * widest else "top")
        for (_, x, name), height in zip(
            names, _label_heights([value for value, _, _ in names], 0.09 * max(top, 1e-9)), strict=True
        )
    ]
    return figure(
        *traces,
        xaxis={"range": [0, widest], "nticks": 5, "title": {"text": "tokens in the vocabulary"}},
        yaxis={"rangemode": "tozero", "nticks": 5, "ticksuffix": unit, "title": {"text": y_title}},
        shapes=[vertical_line(float(current), SOFT, 1.5, "5px,4px")],
        annotations=labels,
        margin={"l": 8, "r": 112, "t": 12, "b": 8},
    )


def row_origins(positions: Int[ndarray, "steps rows"], tokens: int) -> go.Figure:
    """Return where in the text each row of the first batches starts: a line for each row, a number for each step."""
    steps, rows = positions.shape
    # Rows that continue start a few tokens further at each step: on the axis of the whole text they would coincide.
    continues = steps > 1 and bool((np.ptp(positions, axis=0) < 0.03 * tokens).all())
    if continues:
        positions = positions - positions[0]
        tokens = max(1, int(1.5 * positions.max()))
    x_title = "tokens after the row of step 1" if continues else "position in the training tokens"
    x, y, text = [], [], []
    for row in range(rows):
        for label, position in _group_steps(positions[:, row], 0.03 * tokens):
            x.append(position)
            y.append(row - 0.16)
            text.append(label)
    shapes: list[dict[str, Any]] = [
        {"type": "line", "x0": 0, "x1": tokens, "y0": r, "y1": r, "line": {"color": RULE, "width": 6}, "layer": "below"}
        for r in range(rows)
    ]
    every = {
        "type": "scatter",
        "mode": "markers",
        "x": positions.T.flatten().tolist(),
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
        xaxis={"range": [0, tokens], "nticks": 5, "title": {"text": x_title}},
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
class SplitScores:
    """Bits per character of one kind of rows under the honest and under the leaky split."""

    name: str
    honest: float
    leaky: float


def split_scores_figure(gaps: Sequence[SplitScores], colour: str) -> go.Figure:
    """Return how far leakage moves the score: a filled dot is the honest split, a hollow one the leaky split."""
    rows = list(range(len(gaps)))
    most = max(value for pair in gaps for value in (pair.honest, pair.leaky))
    connectors = {
        "type": "scatter",
        "mode": "lines",
        "x": [x for pair in gaps for x in (*round_values([pair.honest, pair.leaky]), None)],
        "y": [y for row in rows for y in (row, row, None)],
        "line": {"color": css_colour(colour, 0.35), "width": 6},
        "name": "flattery",
        "hoverinfo": "skip",
    }
    traces: list[dict[str, Any]] = [connectors]
    annotations: list[dict[str, Any]] = []
    for name, values, fill in (
        ("honest", [pair.honest for pair in gaps], css_colour(colour)),
        ("leaky", [pair.leaky for pair in gaps], PAGE),
    ):
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": round_values(values),
                "y": rows,
                "marker": {"size": 15, "color": fill, "line": {"color": css_colour(colour), "width": 3}},
                "name": name,
                "hovertemplate": "%{x:.3f} bits<extra>" + name + "</extra>",
                "cliponaxis": False,
            }
        )
    for row, pair in zip(rows, gaps, strict=True):
        # One label above and one below, so that they never overlap.
        for name, value, side, shift in (("honest", pair.honest, "bottom", 9), ("leaky", pair.leaky, "top", -9)):
            anchor = "left" if value < 0.12 * most else "center"
            annotations.append(
                annotation(f"{name} {value:.2f}", value, float(row), yanchor=side, yshift=shift, xanchor=anchor)
            )
    return figure(
        *traces,
        xaxis={
            "range": [0, 1.02 * most],
            "nticks": 6,
            "title": {"text": "bits a character of what is held out"},
        },
        yaxis={"tickvals": rows, "ticktext": [pair.name for pair in gaps], "range": [len(rows) - 0.4, -0.6]},
        annotations=annotations,
        margin={"l": 8, "r": 48, "t": 12, "b": 8},
    )


def _thin_indices(sizes: Int[ndarray, " sizes"]) -> Int[ndarray, " indices"]:
    """Return indices of the points to draw, denser at the start of the curve, where it bends."""
    last = len(sizes) - 1
    indices: Int[ndarray, " indices"] = np.unique(np.rint(np.linspace(0, 1, _MAX_POINTS) ** 2 * last).astype(np.int64))
    return indices


def _label_heights(heights: Sequence[float], gap: float) -> list[float]:
    """Return the heights of the labels, moved up where they would overlap."""
    placed = dict.fromkeys(range(len(heights)), 0.0)
    floor = -np.inf
    for i in sorted(range(len(heights)), key=lambda i: heights[i]):
        placed[i] = max(heights[i], float(floor))
        floor = placed[i] + gap
    return [placed[i] for i in range(len(heights))]


def _group_steps(positions: Int[ndarray, " steps"], min_distance: float) -> list[tuple[str, int]]:
    """Return labels and their positions; steps whose dots would overlap share a label such as "1 2 3"."""
    groups: list[tuple[list[int], int]] = []
    for step in np.argsort(positions, kind="stable").tolist():
        position = int(positions[step])
        if groups and position - groups[-1][1] < min_distance:
            groups[-1][0].append(step + 1)
        else:
            groups.append(([step + 1], position))
    return [(" ".join(map(str, sorted(steps))), position) for steps, position in groups]
