"""Gradient flow: gradient norms along the sequence at every snapshot of the training, and the formulas behind them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer.experiments.model_variant import ModelVariant
from explorer.figures.memory_gradients import TRACES_PER_LINE, GradientLine, gradient_figure
from explorer.labs.memory import gradient_findings as findings
from explorer.labs.memory.state import MemoryState
from explorer.run_store.store import StoredRun
from explorer.training.record import Record
from explorer.ui.components.plot_frame import Panel, Playback, add_plot_frame, value_tracks
from explorer.ui.document import Document
from explorer.ui.page_sections import escape_markdown, explanation, untrained_panel
from explorer.ui.result_section import Request, result_section
from explorer.ui.state.session import PageSession
from explorer.ui.training.run_view import RunView

MAX_STOPS = 28  # of the playback: more would only travel longer
HEIGHT, NUMBERS_HEIGHT = 440, 160


@dataclass(frozen=True, eq=False)
class GradientHistory:
    """Gradients and gates of one run at its snapshots."""

    steps: tuple[int, ...]
    norms: Float[ndarray, "steps replicas time"]
    shares: Float[ndarray, "replicas units"] | None  # that are kept at a step before training; None without gates
    radii: Float[ndarray, " replicas"] | None  # of a plain net before training


def section(session: PageSession[MemoryState], views: Mapping[str, RunView]) -> None:
    """Draw the gradient norms of all runs at every snapshot, and the formulas behind them.

    `views` are the run views of the page, by name of their variant.
    """
    st.header("Why: how far back the loss reaches", anchor=False)
    explanation(
        "Learning follows the gradient. What the first symbol should change is known only at the end, and word of it "
        "must come back through every step between. Here is how much of it arrives at each symbol."
    )
    variants = session.state.variants
    show_missing_runs(views, variants)
    requests: dict[str, Request[GradientHistory]] = {
        name: (("memory-gradients", *view.cache_key), partial(compute_gradients, view))
        for name, view in views.items()
        if view.loaded_run
    }
    if not requests:
        untrained_panel(views, "No run to look into yet: train above, and its gradients stand here.", HEIGHT)
        return
    run = "/".join(str(key) for key, _ in requests.values())
    placeholder = "Every run is asked for its gradients, snapshot by snapshot …"
    result_section("memory-why", requests, partial(_draw, variants, run), placeholder, HEIGHT + 160)
    if session.state.length > 1:
        _formulas()
        result_section("memory-products", requests, partial(_draw_products, variants), placeholder, NUMBERS_HEIGHT)


def show_missing_runs(views: Mapping[str, RunView], variants: Mapping[str, ModelVariant]) -> None:
    """Show which variants have no run, if others have one."""
    titles = [variants[name].title for name, view in views.items() if not view.loaded_run and name in variants]
    if titles and len(titles) < len(views):
        st.caption(escape_markdown(findings.missing_runs_caption(titles)))


def compute_gradients(view: RunView) -> GradientHistory:
    """Compute the gradients of a run at each of its snapshots. Raises DamagedRun."""
    from explorer.inspection.load_model import load_model
    from explorer.inspection.recurrent.gates import has_keep_gate, mean_keep_rates
    from explorer.inspection.recurrent.input_gradients import input_gradient_norms, spectral_radii
    from explorer.models.recurrence import RecurrentClassifier

    assert view.loaded_run is not None
    steps = snapshot_steps(view.loaded_run)
    norms = [input_gradient_norms(load_model(view.loaded_run, step)) for step in steps]
    first = load_model(view.loaded_run, steps[0])
    recurrent = isinstance(first.stack, RecurrentClassifier)
    return GradientHistory(
        tuple(steps),
        np.stack(norms),
        mean_keep_rates(first) if recurrent and has_keep_gate(first) else None,
        spectral_radii(first) if recurrent and not has_keep_gate(first) else None,
    )


def snapshot_steps(run: StoredRun | Record) -> list[int]:
    """Return the steps of a run whose weights are stored."""
    return run.snapshot_steps() if isinstance(run, StoredRun) else sorted(run.snapshots)


def describe_step(step: int) -> str:
    """Return a training step in words."""
    return "before training" if step == 0 else f"step {step:,}"


def playback_steps(histories: Mapping[str, GradientHistory]) -> list[int]:
    """Return the union of the snapshot steps, at most MAX_STOPS of them."""
    steps = sorted({step for each in histories.values() for step in each.steps})
    if len(steps) <= MAX_STOPS:
        return steps
    return [steps[i] for i in np.unique(np.linspace(0, len(steps) - 1, MAX_STOPS).round().astype(int))]


def norms_at_steps(each: GradientHistory, stops: list[int]) -> Float[ndarray, "stops replicas time"]:
    """Return a run's gradient norms at given steps: those of the last snapshot before each."""
    indices = np.searchsorted(each.steps, stops, side="right") - 1
    norms: ndarray = each.norms[np.maximum(indices, 0)]
    return norms


def _draw(
    variants: Mapping[str, ModelVariant], run: str, document: Document, histories: Mapping[str, GradientHistory]
) -> None:
    """Write the finding and the chart. `run` names the compared runs: the playback restarts when they change."""
    length = next(iter(histories.values())).norms.shape[-1]
    reached = [
        findings.gradient_ratio(variants[name].title, variants[name].model != "transformer", each.norms, each.steps[-1])
        for name, each in histories.items()
    ]
    document.finding(findings.gradient_finding(reached, length))
    stops = playback_steps(histories)
    panel = _panel(tuple((variants[name], each) for name, each in histories.items()), tuple(stops))
    labels = tuple(map(describe_step, stops))
    last = len(stops) - 1
    add_plot_frame(
        document,
        [panel],
        key="memory-gradients",
        height=HEIGHT,
        playback=Playback(run, last, last, False, "all trainings", stops=labels, first=0),
    )
    document.caption(
        "|∂L/∂x| at each symbol, a mean over 64 fresh sequences; the axis is logarithmic and the same at every step. "
        "Line: middle seed. Band: lowest to highest. A run that has ended stays as it was."
    )
    document.text(findings.trained_finding(reached))


def _formulas() -> None:
    """Draw the product of Jacobians and of gates."""
    explanation("In a plain RNN the way back is a product of as many matrices as there are steps between:")
    st.latex(
        r"\frac{\partial L}{\partial h_t} = \frac{\partial L}{\partial h_T} "
        r"\prod_{k=t+1}^{T} \operatorname{diag}\!\left(1 - h_k^2\right) U"
    )
    explanation(
        "A gate opens a second way, on which nothing is multiplied but the gate itself: what the LSTM’s cell or the "
        "GRU’s state keeps at each step."
    )
    st.latex(r"c_T = \Big(\prod_{k=t+1}^{T} f_k\Big) \odot c_t + \ldots")


def _draw_products(
    variants: Mapping[str, ModelVariant], document: Document, histories: Mapping[str, GradientHistory]
) -> None:
    """Write the size of both products in these runs: first the matrices of plain nets, then the gates."""
    for name, each in histories.items():
        if each.radii is not None:
            length = each.norms.shape[-1]
            document.text(findings.spectral_radius_finding(variants[name].title, each.radii, length))
    for name, each in histories.items():
        if each.shares is not None:
            length = each.norms.shape[-1]
            document.text(findings.gate_product_finding(variants[name].title, each.shares, length))


@lru_cache(maxsize=32)
def _panel(drawn: tuple[tuple[ModelVariant, GradientHistory], ...], stops: tuple[int, ...]) -> Panel:
    """Return the chart; it is cached for all visitors of the same runs."""
    lines = [
        GradientLine(each.full_label, each.title, each.colour, each.dash, norms_at_steps(one, list(stops)))
        for each, one in drawn
    ]
    figure, frames = gradient_figure(lines)
    return Panel(
        "gradients",
        figure,
        alt=f"The gradient at each symbol, from before training to its end: {', '.join(line.title for line in lines)}.",
        tracks=value_tracks([(line.title, line.colour) for line in lines], "power", TRACES_PER_LINE),
        rest=1.0,
        frames=frames,
    )
