"""Small figures of the training of language models: training and held-out loss, and gradient norms."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from explorer.charts.style import SOFT, figure, line_trace, round_significant, vertical_line


def train_and_held_out_loss(
    steps: Float[ndarray, " evaluations"],
    held_out: Float[ndarray, " evaluations"],
    training: Float[ndarray, " evaluations"],
    name: str,
    colour: str,
    last: int,
    span: tuple[float, float],
    best: float | None = None,
) -> go.Figure:
    """Return the held-out loss as a thick line and the training loss as a thin one.

    steps: when the losses were measured
    held_out, training: the losses
    name, colour: of the model
    last: the end of the x axis
    span: lowest and highest value of the y axis
    best: the step with the lowest held-out loss, a vertical line
    """
    x, lines = [float(s) for s in steps], (("held out", held_out, 3), ("training", training, 1.5))
    return figure(
        *(
            line_trace(x, [round_significant(v) for v in losses], f"{name}, {part}", colour, width=width)
            for part, losses, width in lines
        ),
        xaxis={"range": [0, last], "nticks": 4, "title": {"text": "step"}},
        yaxis={"range": list(span), "nticks": 4},
        shapes=[] if best is None else [vertical_line(best, SOFT, 1.0, "3px,3px")],
    )


def gradient_norms(
    norms: Mapping[str, tuple[str, str, tuple[Float[ndarray, " points"], Float[ndarray, " points"]]]], last: int
) -> go.Figure:
    """Return the gradient norms of several models on a logarithmic axis.

    `norms`: for each model its colour, its dash, and its steps with their norms. `last`: the end of the x axis.
    """
    traces = [
        line_trace([float(s) for s in steps], [round_significant(v) for v in values], name, colour, dash, 2)
        for name, (colour, dash, (steps, values)) in norms.items()
    ]
    return figure(
        *traces,
        xaxis={"range": [0, last], "nticks": 4, "title": {"text": "step"}},
        yaxis={"type": "log", "nticks": 4, "exponentformat": "power"},
    )
