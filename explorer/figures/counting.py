"""How far counting can go: the ceiling, where cross-entropy leads, and what training reached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from explorer.figures.style import INK, PAGE, SOFT, figure, paint, rounded, upright, words


@dataclass(frozen=True)
class Finisher:
    """One model's exact accuracies, a seed each."""

    title: str
    colour: str
    values: Sequence[float]


def finish_line(finishers: Sequence[Finisher], ceiling: float, cross_entropy: float) -> go.Figure:
    """Exact accuracy of every seed of every model, with the two marks that counting has."""
    lowest = min([cross_entropy, *(v for f in finishers for v in f.values)])
    floor = 0.5 if lowest >= 0.52 else max(0.0, lowest - 0.1)
    rows = list(range(len(finishers)))
    dots = [
        {
            "type": "scatter",
            "mode": "markers",
            "x": rounded(finisher.values),
            "y": [row + aside for aside in _stacked(finisher.values)],
            "marker": {"size": 11, "color": paint(finisher.colour), "line": {"color": PAGE, "width": 1}},
            "name": finisher.title,
            "hovertemplate": "%{x:.4f}<extra></extra>",
        }
        for row, finisher in zip(rows, finishers, strict=True)
    ]
    shapes = [upright(ceiling, INK, 1.5, "5px,4px")]
    above = {"yanchor": "middle", "xanchor": "right", "xshift": -5}
    marks = [words(f"ceiling {ceiling:.4f}", ceiling, -0.65, **above)]
    if abs(ceiling - cross_entropy) > 5e-4:
        shapes.append(upright(cross_entropy, SOFT, 1.5, "1px,3px"))
        left = cross_entropy < (floor + 1) / 2  # then there is more room on the right of the mark
        side = {**above, "xanchor": "left", "xshift": 5} if left else above
        marks.append(words(f"training leads to {cross_entropy:.4f}", cross_entropy, len(rows) - 0.55, **side))
    return figure(
        *dots,
        xaxis={"range": [floor, 1.02], "nticks": 6, "title": {"text": "exact accuracy"}},
        yaxis={"tickvals": rows, "ticktext": [f.title for f in finishers], "range": [len(rows) - 0.2, -0.9]},
        shapes=shapes,
        annotations=marks,
    )


def ceiling_by_chance(
    chances: Sequence[float],
    ceilings: Sequence[float],
    cross_entropies: Sequence[float],
    here: float,
    reached: Sequence[float],
) -> go.Figure:
    """Both marks over every probability of "not", and what this page's bag of words reached at its own."""
    low = min(0.5, *cross_entropies, *reached)
    common = {"type": "scatter", "mode": "lines", "x": list(chances), "hoverinfo": "skip"}
    traces = [
        {
            **common,
            "y": rounded(ceilings),
            "name": "ceiling of counting",
            "line": {"color": INK, "width": 1.5, "dash": "5px,4px"},
        },
        {
            **common,
            "y": rounded(cross_entropies),
            "name": "where cross-entropy leads",
            "line": {"color": paint("--m-counts"), "width": 3},
        },
        {
            "type": "scatter",
            "mode": "markers",
            "x": [here] * len(reached),
            "y": rounded(reached),
            "name": "bag of words, each seed",
            "marker": {"size": 11, "color": paint("--m-counts"), "line": {"color": PAGE, "width": 1}},
            "hovertemplate": "%{y:.4f}<extra></extra>",
        },
    ]
    near = [i for i, chance in enumerate(chances) if 0.28 <= chance <= 0.72]
    middle = len(chances) // 2
    above, below = max(ceilings[i] for i in near) + 0.02, min(cross_entropies[i] for i in near) - 0.02
    shapes, names = [], []
    for y, at, text, side in (
        (above, ceilings[middle], "ceiling of any counting model", "bottom"),
        (below, cross_entropies[middle], "where its training leads", "top"),
    ):
        # The words keep clear of both lines; a thin stroke leads from them to the one they name.
        names.append(words(text, 0.5, y, yanchor=side))
        if abs(y - at) > 0.03:
            stroke = {"color": SOFT, "width": 1}
            shapes.append({"type": "line", "x0": 0.5, "x1": 0.5, "y0": y, "y1": at, "line": stroke})
    return figure(
        *traces,
        xaxis={"range": [0, 1], "nticks": 6, "title": {"text": "probability of “not”"}},
        yaxis={"range": [low - 0.08, 1.06], "nticks": 6, "title": {"text": "exact accuracy"}},
        shapes=shapes,
        annotations=names,
    )


def _stacked(values: Sequence[float]) -> list[float]:
    """Small steps aside for seeds that would cover each other, all within a row."""
    seen: dict[float, int] = {}
    aside = []
    step = min(0.075, 0.8 / max(len(values), 1))
    for value in values:
        n = seen[round(value, 3)] = seen.get(round(value, 3), -1) + 1
        aside.append(step * ((n + 1) // 2) * (1 if n % 2 else -1))
    return aside
