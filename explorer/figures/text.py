"""Small figures of one language model's training: its two losses, and the length of its gradient."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from explorer.figures.style import SOFT, figure, paint, short, upright


def two_losses(
    steps: Float[ndarray, " evaluations"],
    held_out: Float[ndarray, " evaluations"],
    trained: Float[ndarray, " evaluations"],
    name: str,
    colour: str,
    last: int,
    span: tuple[float, float],
    best: float | None = None,
) -> go.Figure:
    """Held-out text as a strong line, training text as a thin one; an upright line where the first was best."""
    common: dict[str, Any] = {"type": "scatter", "mode": "lines", "x": [float(s) for s in steps], "hoverinfo": "skip"}
    return figure(
        {
            **common,
            "y": [short(v) for v in held_out],
            "name": f"{name}, held out",
            "line": {"width": 3, "color": paint(colour)},
        },
        {
            **common,
            "y": [short(v) for v in trained],
            "name": f"{name}, training",
            "line": {"width": 1.5, "color": paint(colour)},
        },
        xaxis={"range": [0, last], "nticks": 4, "title": {"text": "step"}},
        yaxis={"range": list(span), "nticks": 4},
        shapes=[] if best is None else [upright(best, SOFT, 1.0, "3px,3px")],
    )


def gradients(
    norms: Mapping[str, tuple[str, str, tuple[Float[ndarray, " points"], Float[ndarray, " points"]]]], last: int
) -> go.Figure:
    """A line a model: colour, dash, and steps with lengths; the axis is logarithmic."""
    traces = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": [float(s) for s in steps],
            "y": [short(v) for v in lengths],
            "name": name,
            "line": {"width": 2, "color": paint(colour), "dash": dash},
            "hoverinfo": "skip",
        }
        for name, (colour, dash, (steps, lengths)) in norms.items()
    ]
    return figure(
        *traces,
        xaxis={"range": [0, last], "nticks": 4, "title": {"text": "step"}},
        yaxis={"type": "log", "nticks": 4, "exponentformat": "power"},
    )
