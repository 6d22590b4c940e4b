"""The gradient of the recurrent weights that all steps share, as a sum over the steps of trained runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st

from explorer.byte_cache import cached
from explorer.catalogue import MODELS
from explorer.experiments.model_variant import ModelVariant
from explorer.experiments.recall import VARIANTS
from explorer.figures.comparison import TRACES_PER_RUN, Line, comparison_figure, variant_line
from explorer.inspection import load_model
from explorer.inspection.recurrent import per_step_gradients
from explorer.labs.sequence_shapes import findings
from explorer.labs.sequence_shapes.state import NETS, SequenceShapesState
from explorer.run_store import store
from explorer.ui.components.plot_frame import Panel, add_plot_frame, value_tracks
from explorer.ui.document import Document
from explorer.ui.page_sections import explanation
from explorer.ui.result_section import result_section
from explorer.ui.state.session import PageSession
from explorer.ui.state.widgets import bind_widget

HEIGHT = 360


def gradient_section(session: PageSession[SequenceShapesState]) -> None:
    """Draw the terms of the gradient before or after training."""
    explanation(
        "Unrolled over time, a recurrent network is a deep network whose layers share one matrix U. The gradient of U "
        "is the sum of the gradients of all steps:"
    )
    st.latex(
        r"h_t = f(W x_t, U h_{t-1}) \qquad \frac{\partial L}{\partial U} "
        r"= \sum_{t=1}^{T} \frac{\partial L}{\partial U_t}"
    )
    trained = session.state.trained
    bind_widget(
        session,
        "trained",
        st.segmented_control,
        shown="after" if trained else "before",
        update=lambda s, when: replace(s, trained=when == "after"),
        options={"before": "before training", "after": "after training"},
    )
    jobs = {name: (("shapes-terms", run, trained), partial(_terms, run, trained)) for name, run in NETS.items()}
    result_section(
        "shapes-sum",
        jobs,
        partial(_draw, trained),
        "The gradient of every step is being computed …",
        HEIGHT + 60,
    )


def _terms(run: str, trained: bool) -> per_step_gradients.StepGradients:
    return per_step_gradients.step_gradients(load_model.load_model(store.find(run), None if trained else 0))


def _draw(trained: bool, document: Document, results: Mapping[str, per_step_gradients.StepGradients]) -> None:
    nets = [(VARIANTS[name].full_label, each.projection) for name, each in results.items()]
    document.finding(findings.gradient_share_finding(nets, trained))
    panels = [_shares(tuple(results.items())), _sizes(tuple(results.items()))]
    add_plot_frame(document, panels, key="shapes-sum", height=HEIGHT, columns=2)
    replicas, steps = next(iter(results.values())).norms.shape
    off = max(each.max_error for each in results.values())
    document.caption(
        f"Line: median of {replicas} seeds; band: lowest to highest. {findings.exactness_text(off, replicas, steps)}"
    )


@cached()
def _shares(results: tuple[tuple[str, per_step_gradients.StepGradients], ...]) -> Panel:
    """Draw how much of the whole gradient the last steps contribute."""
    lines = [_line(VARIANTS[name], each.projection[:, ::-1].cumsum(axis=1)) for name, each in results]
    summary = [
        f"{_net_name(VARIANTS[name])} {findings.last_steps_share(each.projection):.2f}" for name, each in results
    ]
    return Panel(
        "shares",
        comparison_figure(lines, "number of last steps", (-0.05, 1.1), right_margin=118),
        alt=f"Share of the gradient that the last steps contribute. The last two: {'; '.join(summary)}.",
        title="Share of the gradient that the last steps contribute",
        tracks=value_tracks([(line.label, line.colour) for line in lines], per_line=TRACES_PER_RUN),
    )


@cached()
def _sizes(results: tuple[tuple[str, per_step_gradients.StepGradients], ...]) -> Panel:
    """Draw how large each term is."""
    lines = [_line(VARIANTS[name], np.maximum(each.norms[:, 1:], 1e-18), first=2) for name, each in results]
    summary = [f"{_net_name(VARIANTS[name])} {np.median(each.norms[:, 1]):.0e}" for name, each in results]
    return Panel(
        "sizes",
        comparison_figure(
            lines, "step", (1e-18, 1.0), log_y=True, x_end=float(results[0][1].norms.shape[1]), right_margin=118
        ),
        alt=f"Gradient norm of each step, on a logarithmic axis. At step 2: {'; '.join(summary)}.",
        title="Gradient norm of each step",
        tracks=value_tracks([(line.label, line.colour) for line in lines], "power", per_line=TRACES_PER_RUN),
    )


def _line(variant: ModelVariant, values: np.ndarray, first: int = 1) -> Line:
    x = np.arange(first, first + values.shape[1], dtype=float)
    middle, low, high = np.median(values, axis=0), values.min(axis=0), values.max(axis=0)
    named = replace(variant, label=variant.full_label, words=_net_name(variant))
    return variant_line(named, x, middle, low, high, statistic="median")


def _net_name(variant: ModelVariant) -> str:
    return f"the {MODELS[variant.model].title} {variant.words}"
