"""Teacher forcing against free running, place by place in the target: accuracy and loss."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from explorer.figures.comparison import Line, comparison

GIVEN, OWN = "solid", "2px,4px"  # the dashes of the two curves


def both(
    given: Float[ndarray, "replicas places"], own: Float[ndarray, "replicas places"], words: str, colour: str
) -> tuple[Line, Line]:
    """The curve after the right tokens and the one after its own: mean over the seeds, lowest and highest."""
    x = np.arange(1, given.shape[1] + 1, dtype=float)
    return (
        Line("given", f"{words}, after the right tokens", colour, GIVEN, x, *_over_seeds(given)),
        Line("own", f"{words}, after its own", colour, OWN, x, *_over_seeds(own)),
    )


def by_place(lines: Sequence[Line], *, loss: bool) -> go.Figure:
    """Both curves over the places of the target. An accuracy has the axis 0 to 1, a loss begins at 0, in nats."""
    places = max(len(line.x) for line in lines)
    high = 1.1 * max(float(np.nanmax(line.high)) for line in lines) if loss else 1.04
    drawn = comparison(lines, "place in the target", (0.0, max(high, 0.01)), room=52)
    drawn.layout.xaxis.update(range=[0.5, places + 0.5], rangemode="normal")
    if not loss:
        drawn.layout.yaxis.update(tickmode="array", tickvals=[0, 0.5, 1], ticktext=["0", "0.5", "1"])
    return drawn


def _over_seeds(values: Float[ndarray, "replicas places"]) -> tuple[ndarray, ndarray, ndarray]:
    return values.mean(axis=0), values.min(axis=0), values.max(axis=0)
