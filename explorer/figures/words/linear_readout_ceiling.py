"""The accuracy ceiling of a linear readout of word counts, and the optimum of cross-entropy."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from explorer.charts.style import INK, PAGE, SOFT, annotation, css_colour, figure, round_values


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
