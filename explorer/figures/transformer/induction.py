"""The figure of the page on induction heads: what models predict after each symbol of a row."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from explorer.charts.style import INK, figure, heatmap, labelled_ticks, vertical_line


def next_symbol_map(
    following: Sequence[str],
    first_repeated: int | None,
    labels: Sequence[str],
    probabilities: Float[ndarray, "rows positions"],
    predicted: Sequence[Sequence[str]],
) -> go.Figure:
    """Return the probability of each next symbol as a heat map, with the predicted symbols as text.

    following: the next symbol at each position.
    first_repeated: the first position whose next symbol follows from what stands before; None if there is none.
    labels: one for each row of the map.
    """
    lines = [] if first_repeated is None else [vertical_line(first_repeated - 0.5, INK, 2.0, "3px,3px")]
    return figure(
        {
            **heatmap(probabilities, "probability of the next symbol"),
            "text": [list(row) for row in predicted],
            "hoverinfo": "skip",
        },
        xaxis={**labelled_ticks(following), "showgrid": False},
        yaxis={**labelled_ticks(labels), "autorange": "reversed", "showgrid": False},
        margin={"l": 8, "r": 8, "t": 8, "b": 28},
        shapes=lines,
    )
