"""Gradient flow: gradient norms along the sequence at every snapshot of the training, and the formulas behind them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer.byte_cache import cached
from explorer.experiments.model_variant import ModelVariant
from explorer.figures.recurrent.memory_gradients import TRACES_PER_LINE, GradientLine, gradient_figure
from explorer.inspection import load_model
from explorer.inspection.recurrent import gates, input_gradients
from explorer.labs.memory import gradient_findings as findings
from explorer.labs.memory.state import MemoryState
from explorer.run_store.store import StoredRun
from explorer.training.record import Record
from explorer.ui.components.plot_frame import Panel, Playback, add_plot_frame, value_tracks
from explorer.ui.components.table import add_table, column
from explorer.ui.document import Document
from explorer.ui.page_sections import explanation
from explorer.ui.result_section import Request, result_section
from explorer.ui.state.session import PageSession
from explorer.ui.training.run_view import RunView, untrained_panel

MAX_STOPS = 28  # of the playback: more would only travel longer
HEIGHT, TABLE_HEIGHT = 400, 420


@dataclass(frozen=True, eq=False)
class GradientHistory:
    """Gradients and gates of one run at its snapshots."""

    steps: tuple[int, ...]
    norms: Float[ndarray, "steps replicas time"]
    shares: Float[ndarray, "replicas units"] | None  # that are kept at a step before training; None without gates
    radii: Float[ndarray, " replicas"] | None  # of a plain net before training


def section(session: PageSession[MemoryState], views: Mapping[str, RunView]) -> None:
    """Draw the gradient norms of all runs at every snapshot, a table of them, and the formulas behind them.

    `views` are the run views of the page, by name of their variant.
    """
    explanation(
        "A network learns from the gradient of its loss. The loss is known only after the last symbol, so its gradient "
        "has to travel back through every step to reach the first one."
    )
    variants = session.state.variants
    requests: dict[str, Request[GradientHistory]] = {
        name: (("memory-gradients", *view.cache_key), partial(compute_gradients, view))
        for name, view in views.items()
        if view.loaded_run
    }
    if not requests:
        untrained_panel(views, "No finished run yet: train the models above to see their gradients.", HEIGHT)
        return
    run = "/".join(str(key) for key, _ in requests.values())
    placeholder = "The gradients of every run are being computed …"
    draw = partial(_draw, variants, run)
    result_section("memory-why", requests, draw, placeholder, HEIGHT + TABLE_HEIGHT, partly=True)


def compute_gradients(view: RunView) -> GradientHistory:
    """Compute the gradients of a run at each of its snapshots. Raises DamagedRun."""
    from explorer.models.recurrence import RecurrentClassifier

    assert view.loaded_run is not None
    steps = snapshot_steps(view.loaded_run)
    norms = [input_gradients.input_gradient_norms(load_model.load_model(view.loaded_run, step)) for step in steps]
    first = load_model.load_model(view.loaded_run, steps[0])
    recurrent = isinstance(first.stack, RecurrentClassifier)
    return GradientHistory(
        tuple(steps),
        np.stack(norms),
        gates.mean_keep_rates(first) if recurrent and gates.has_keep_gate(first) else None,
        input_gradients.spectral_radii(first) if recurrent and not gates.has_keep_gate(first) else None,
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
        playback=Playback(run, last, last, False, "", stops=labels, first=0),
    )
    document.caption(
        "Norm of the gradient |∂L/∂x| at each symbol divided by that at the last (logarithmic axis), a mean over 64 "
        "new sequences. Line: median over seeds; band: lowest to highest. After its last step a run keeps its values."
    )
    if length > 1:
        _add_table(document, variants, histories, reached, length)


_COLUMNS: tuple[dict[str, object], ...] = (
    column("name", "model", "model", wrap=True),
    column("before", "untrained", "number"),
    column("range", "lowest to highest seed", "number", minor=True),
    column("after", "trained", "number"),
    column("factor", "factor per step", minor=True),
    column("left", "product over all steps", "number", minor=True),
    column("most", "most open unit", "number", minor=True),
)


def _add_table(
    document: Document,
    variants: Mapping[str, ModelVariant],
    histories: Mapping[str, GradientHistory],
    ratios: list[findings.GradientRatio],
    length: int,
) -> None:
    """Add the ratio of the first to the last gradient, and the factors that explain it, a row for each variant."""
    rows = []
    for (name, each), ratio in zip(histories.items(), ratios, strict=True):
        factor = findings.BackwardFactor("–", "–", "–")
        if each.radii is not None:
            factor = findings.radius_factor(each.radii, length)
        elif each.shares is not None:
            factor = findings.gate_factor(each.shares, length)
        cells: dict[str, object] = {
            "name": {"text": variants[name].title, "colour": variants[name].colour},
            "before": findings.format_ratio(ratio.before),
            "range": findings.format_ratio_range(ratio.before),
            "after": findings.format_ratio(ratio.after),
            "factor": factor.factor,
            "left": factor.left,
            "most": factor.most or "–",
        }
        rows.append(cells)
    add_table(
        document,
        _COLUMNS,
        rows,
        key="memory-gradient-ratios",
        label="Gradient at the first symbol divided by that at the last, a row a model",
        caption=f"Gradient at the first symbol divided by that at the last: median over seeds. Factor per step, before "
        f"training: the spectral radius of U (RNN), or the share that the median unit keeps (gate); its product over "
        f"{length - 1} steps, and that of the unit whose gate is most open. A Transformer has no such product.",
    )


def draw_formulas() -> None:
    """Draw the product of Jacobians and of gates."""
    explanation(
        "In a plain RNN the gradient is multiplied by the matrix U, and by slopes of at most 1, at every step. A gate "
        "opens a second path: the cell of an LSTM, or the state of a GRU, is multiplied only by the gate itself."
    )
    rnn, gated = st.columns(2, vertical_alignment="center")
    rnn.latex(
        r"\frac{\partial L}{\partial h_t} = \frac{\partial L}{\partial h_T} "
        r"\prod_{k=t+1}^{T} \operatorname{diag}\!\left(1 - h_k^2\right) U"
    )
    gated.latex(r"c_T = \Big(\prod_{k=t+1}^{T} f_k\Big) \odot c_t + \ldots")


@cached()
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
