"""How alike a word's vectors are in two sentences, layer by layer, as small multiples on one scale."""

from __future__ import annotations

import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from explorer.figures.style import INK, figure, paint, short, ticks, words

SAME, OTHER = "same sense", "other sense"


def by_layer(
    same: Float[ndarray, "replicas layers"], other: Float[ndarray, "replicas layers"], lowest: float
) -> go.Figure:
    """Both cosines over the layers: a line for the mean of the seeds, a band from the lowest to the highest one.

    `lowest`: where the axis begins, for all that stand beside each other.
    """
    traces = []
    for values, name, colour, dash in ((same, SAME, "--sign-5", "solid"), (other, OTHER, "--sign-1", "8px,4px")):
        common = {"type": "scatter", "mode": "lines", "x": list(range(values.shape[1])), "hoverinfo": "skip"}
        edge = {**common, "line": {"width": 0, "color": paint(colour)}, "fillcolor": paint(colour, 0.18)}
        traces += [
            {**edge, "y": [short(v) for v in values.min(axis=0)], "name": f"{name}, lowest seed"},
            {**edge, "y": [short(v) for v in values.max(axis=0)], "name": f"{name}, highest seed", "fill": "tonexty"},
            {
                **common,
                "y": [short(v) for v in values.mean(axis=0)],
                "name": f"{name}, mean",
                "mode": "lines+markers",
                "line": {"width": 3, "color": paint(colour), "dash": dash},
                "marker": {"size": 8, "color": paint(colour)},
            },
        ]
    return figure(
        *traces,
        xaxis={**ticks(layer_names(same.shape[1])), "range": [-0.15, same.shape[1] - 0.7]},
        yaxis={"range": [lowest, 1.04], "tickmode": "array", "tickvals": [0, 0.5, 1], "ticktext": ["0", "0.5", "1"]},
        annotations=_labels(float(same[:, -1].mean()), float(other[:, -1].mean()), same.shape[1] - 1.0, lowest),
        margin={"l": 40, "r": 92, "t": 8, "b": 36},
    )


def layer_names(layers: int) -> list[str]:
    """What the layers are called: the embeddings, then block by block."""
    return ["0", *(str(i) for i in range(1, layers))]


def _labels(same: float, other: float, x: float, lowest: float) -> list[dict[str, object]]:
    """Written at the ends of both lines, apart from each other; where they end in one place, once."""
    apart = 0.11 * (1.04 - lowest)
    common = {"xref": "x", "xanchor": "left", "xshift": 10, "yanchor": "middle"}
    if abs(same - other) < 0.02:
        return [words("<b>both</b>", x, (same + other) / 2, **common) | {"font": {"size": 14, "color": INK}}]
    up, down = (same, other) if same > other else (other, same)
    if up - down < apart:
        up, down = (up + down + apart) / 2, (up + down - apart) / 2
    if up > 1.0:
        up, down = 1.0, min(down, 1.0 - apart)
    heights = (up, down) if same > other else (down, up)
    return [
        words(f"<b>{name}</b>", x, height, **common) | {"font": {"size": 14, "color": colour}}
        for name, height, colour in zip((SAME, OTHER), heights, (paint("--sign-5"), paint("--sign-1")), strict=True)
    ]
