"""The gradient of the recurrent weights that all steps share, as a sum over the steps of trained runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer import charts, ui
from explorer.catalogue import MODELS
from explorer.experiments.recall import VARIANTS
from explorer.inspection.compare import median_and_range
from explorer.inspection.recurrent import per_step_gradients
from explorer.labs.sequence_shapes import findings
from explorer.labs.sequence_shapes.state import NETS, SequenceShapesState
from explorer.run_store import store

HEIGHT = 360


def gradient_section(session: ui.PageSession[SequenceShapesState]) -> None:
    """Draw the terms of the gradient before or after training."""
    ui.explanation(
        "Unrolled over time, a recurrent network is a deep network whose layers share one matrix U. The gradient of U "
        "is the sum of the gradients of all steps:"
    )
    st.latex(
        r"h_t = f(W x_t, U h_{t-1}) \qquad \frac{\partial L}{\partial U} "
        r"= \sum_{t=1}^{T} \frac{\partial L}{\partial U_t}"
    )
    trained = session.state.trained
    ui.bind_widget(
        session,
        "trained",
        st.segmented_control,
        shown="after" if trained else "before",
        update=lambda s, when: replace(s, trained=when == "after"),
        options={"before": "before training", "after": "after training"},
    )
    step = None if trained else 0
    ui.show_each(
        "shapes-sum",
        {name: ui.Call(per_step_gradients.gradients_of_run, store.find(run), step) for name, run in NETS.items()},
        terms_view,
        trained,
        waiting="The gradient of every step is being computed …",
        height=HEIGHT + 60,
    )


def terms_view(document: ui.Document, results: Mapping[str, per_step_gradients.StepGradients], trained: bool) -> None:
    """Write how much of the gradient the last steps contribute, and how large the term of each step is."""
    nets = [(VARIANTS[name].full_label, each.projection) for name, each in results.items()]
    document.finding(findings.gradient_share_finding(nets, trained))
    shares = charts.LineChart(
        "Share of the gradient that the last steps contribute, by their number",
        [_line(name, each.projection[:, ::-1].cumsum(axis=1)) for name, each in results.items()],
        charts.Axis("number of last steps"),
        charts.Axis(span=(-0.05, 1.1)),
        margin=118,
    )
    sizes = charts.LineChart(
        "Gradient norm of each step",
        [_line(name, np.maximum(each.norms[:, 1:], 1e-18), first=2) for name, each in results.items()],
        charts.Axis("step"),
        charts.Axis(span=(1e-18, 1.0), log=True),
        margin=118,
        digits="power",
    )
    panels = [
        ui.Panel("shares", shares, title="Share of the gradient that the last steps contribute"),
        ui.Panel("sizes", sizes, title="Gradient norm of each step"),
    ]
    document.figures("shapes-sum", panels, height=HEIGHT, columns=2)
    replicas, steps = next(iter(results.values())).norms.shape
    off = max(each.max_error for each in results.values())
    document.caption(
        f"Line: median of {replicas} seeds; band: lowest to highest. {findings.exactness_text(off, replicas, steps)}"
    )


def _line(name: str, values: Float[ndarray, "replicas steps"], first: int = 1) -> charts.Line:
    variant, x = VARIANTS[name], np.arange(first, first + values.shape[1])
    title = f"the {MODELS[variant.model].title} {variant.words}"
    return charts.Line(variant.full_label, title, variant.colour, variant.dash, x, median_and_range(values.T))
