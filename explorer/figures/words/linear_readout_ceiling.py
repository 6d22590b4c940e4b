"""The accuracy ceiling of a linear readout of word counts, the optimum of cross-entropy, and trained accuracies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from explorer.figures.style import INK, PAGE, SOFT, annotation, css_colour, figure, round_values, vertical_line


@dataclass(frozen=True)
class FinalAccuracy:
    """The exact accuracies of one model, one for each seed."""

    title: str
    colour: str
    values: Sequence[float]


def final_accuracy_figure(models: Sequence[FinalAccuracy], ceiling: float, cross_entropy: float) -> go.Figure:
    """Return the exact accuracy of every seed of every model, with the ceiling and the cross-entropy optimum marked."""
    lowest = min([cross_entropy, *(v for f in models for v in f.values)])
    floor = 0.5 if lowest >= 0.52 else max(0.0, lowest - 0.1)
    rows = list(range(len(models)))
    dots = [
        {
            "type": "scatter",
            "mode": "markers",
            "x": round_values(finisher.values),
            "y": [row + offset for offset in _offsets_of_equal_values(finisher.values)],
            "marker": {"size": 11, "color": css_colour(finisher.colour), "line": {"color": PAGE, "width": 1}},
            "name": finisher.title,
            "hovertemplate": "%{x:.4f}<extra></extra>",
        }
        for row, finisher in zip(rows, models, strict=True)
    ]
    shapes = [vertical_line(ceiling, INK, 1.5, "5px,4px")]
    above = {"yanchor": "middle", "xanchor": "right", "xshift": -5}
    marks = [annotation(f"ceiling {ceiling:.4f}", ceiling, -0.65, **above)]
    if abs(ceiling - cross_entropy) > 5e-4:
        shapes.append(vertical_line(cross_entropy, SOFT, 1.5, "1px,3px"))
        on_left = cross_entropy < (floor + 1) / 2  # more room on the right of the line
        side = {**above, "xanchor": "left", "xshift": 5} if on_left else above
        marks.append(annotation(f"training leads to {cross_entropy:.4f}", cross_entropy, len(rows) - 0.55, **side))
    return figure(
        *dots,
        xaxis={"range": [floor, 1.02], "nticks": 6, "title": {"text": "exact accuracy"}},
        yaxis={"tickvals": rows, "ticktext": [f.title for f in models], "range": [len(rows) - 0.2, -0.9]},
        shapes=shapes,
        annotations=marks,
    )


def ceiling_by_probability(
    probabilities: Sequence[float],
    ceilings: Sequence[float],
    cross_entropies: Sequence[float],
    current: float,
    accuracies: Sequence[float],
) -> go.Figure:
    """Return the ceiling and the cross-entropy optimum over the probability of "not".

    probabilities: of "not", the x axis
    ceilings: best accuracy of a linear readout at each probability
    cross_entropies: accuracy at the optimum of cross-entropy at each probability
    current: the probability that is set on the page
    accuracies: of the bag of words at that probability, one for each seed
    """
    low = min(0.5, *cross_entropies, *accuracies)
    common = {"type": "scatter", "mode": "lines", "x": list(probabilities), "hoverinfo": "skip"}
    traces = [
        {
            **common,
            "y": round_values(ceilings),
            "name": "ceiling of a sum of word weights",
            "line": {"color": INK, "width": 1.5, "dash": "5px,4px"},
        },
        {
            **common,
            "y": round_values(cross_entropies),
            "name": "where cross-entropy leads",
            "line": {"color": css_colour("--m-counts"), "width": 3},
        },
        {
            "type": "scatter",
            "mode": "markers",
            "x": [current] * len(accuracies),
            "y": round_values(accuracies),
            "name": "bag of words, each seed",
            "marker": {"size": 11, "color": css_colour("--m-counts"), "line": {"color": PAGE, "width": 1}},
            "hovertemplate": "%{y:.4f}<extra></extra>",
        },
    ]
    middle_range = [i for i, chance in enumerate(probabilities) if 0.28 <= chance <= 0.72]
    middle = len(probabilities) // 2
    above, below = max(ceilings[i] for i in middle_range) + 0.02, min(cross_entropies[i] for i in middle_range) - 0.02
    shapes, names = [], []
    for y, at, text, side in (
        (above, ceilings[middle], "ceiling of any sum of word weights", "bottom"),
        (below, cross_entropies[middle], "where its training leads", "top"),
    ):
        # The labels keep clear of both lines; a thin stroke connects each with its line.
        names.append(annotation(text, 0.5, y, yanchor=side))
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


def _offsets_of_equal_values(values: Sequence[float]) -> list[float]:
    """Return vertical offsets for seeds with equal values, so that their dots do not overlap within a row."""
    seen: dict[float, int] = {}
    offset = []
    step = min(0.075, 0.8 / max(len(values), 1))
    for value in values:
        n = seen[round(value, 3)] = seen.get(round(value, 3), -1) + 1
        offset.append(step * ((n + 1) // 2) * (1 if n % 2 else -1))
    return offset
