"""The drawing of where in a text the rows of the first batches begin."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from explorer import charts
from explorer.charts.style import INK, PAGE, RULE

_APART = 0.03  # of the axis: dots that are nearer overlap


def origins_chart(positions: Int[ndarray, "steps rows"], tokens: int, words: str) -> charts.Drawing:
    """Return a line for each row of the batches, and on it a dot with its number for each step.

    positions: of the first token of each row
    tokens: of the training text
    words: the text alternative
    """
    steps, rows = positions.shape
    # Rows that continue start a few tokens further at each step: on the axis of the whole text they would coincide.
    continues = steps > 1 and bool((np.ptp(positions, axis=0) < _APART * tokens).all())
    if continues:
        positions = positions - positions[0]
        tokens = max(1, int(1.5 * positions.max()))
    labels = [(row, *each) for row in range(rows) for each in _group_steps(positions[:, row], _APART * tokens)]
    dots = {
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
        "x": [position for _, _, position in labels],
        "y": [row - 0.16 for row, _, _ in labels],
        "text": [text for _, text, _ in labels],
        "textposition": "top center",
        "textfont": {"size": 14, "color": INK},
        "name": "step",
        "hoverinfo": "skip",
        "cliponaxis": False,
    }
    line = {"type": "line", "x0": 0, "x1": tokens, "line": {"color": RULE, "width": 6}, "layer": "below"}
    x = charts.Axis(
        "tokens after the row of step 1" if continues else "position in the training tokens", (0, tokens), ticks=5
    )
    y = charts.Axis(span=(rows - 0.6, -0.7), ticks={row: f"row {row + 1}" for row in range(rows)})
    layout = {
        "xaxis": x.layout(),
        "yaxis": y.layout() | {"showgrid": False},
        "shapes": [line | {"y0": row, "y1": row} for row in range(rows)],
        "margin": {"l": 8, "r": 24, "t": 12, "b": 8},
    }
    return charts.Drawing(words, [dots, numbers], layout)


def _group_steps(positions: Int[ndarray, " steps"], apart: float) -> list[tuple[str, int]]:
    """Return labels and their positions; steps whose dots would overlap share a label such as "1 2 3"."""
    groups: list[tuple[list[int], int]] = []
    for step in np.argsort(positions, kind="stable").tolist():
        position = int(positions[step])
        if groups and position - groups[-1][1] < apart:
            groups[-1][0].append(step + 1)
        else:
            groups.append(([step + 1], position))
    return [(" ".join(map(str, sorted(steps))), position) for steps, position in groups]
