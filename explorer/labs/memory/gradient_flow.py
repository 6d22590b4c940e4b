"""Gradient flow: gradient norms along the sequence at every snapshot of the training, and the formulas behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer import charts, ui
from explorer.byte_cache import cached
from explorer.experiments.model_variant import ModelVariant
from explorer.inspection.recurrent import input_gradients
from explorer.labs.memory import gradient_findings as findings
from explorer.labs.memory.gradient_chart import GradientLine, gradient_charts
from explorer.labs.memory.state import MemoryState
from explorer.ui.training.run_view import untrained_panel

MAX_STOPS = 28  # of the playback: more would only travel longer
HEIGHT = 400


def section(session: ui.PageSession[MemoryState], views: Mapping[str, ui.RunView]) -> None:
    """Draw the gradient norms of all runs at every snapshot, a table of them, and the formulas behind them.

    `views` are the run views of the page, by name of their variant.
    """
    ui.explanation(
        "A network learns from the gradient of its loss. The loss is known only after the last symbol, so its gradient "
        "has to travel back through every step to reach the first one."
    )
    runs = {name: view.loaded_run for name, view in views.items() if view.loaded_run}
    if not runs:
        untrained_panel(views, "No finished run yet: train the models above to see their gradients.", HEIGHT)
        return
    ui.show_each(
        "memory-why",
        {name: ui.Call(input_gradients.gradient_history, run) for name, run in runs.items()},
        gradients_view,
        session.state.variants,
        "/".join(f"{run.key} {run.cache_key[1]}" for run in runs.values()),
        waiting="The gradients of every run are being computed …",
        height=HEIGHT + 420,
        partly=True,
    )


def describe_step(step: int) -> str:
    """Return a training step in words."""
    return "before training" if step == 0 else f"step {step:,}"


def playback_steps(histories: Mapping[str, input_gradients.GradientHistory]) -> list[int]:
    """Return the union of the snapshot steps, at most MAX_STOPS of them."""
    steps = sorted({step for each in histories.values() for step in each.steps})
    if len(steps) <= MAX_STOPS:
        return steps
    return [steps[i] for i in np.unique(np.linspace(0, len(steps) - 1, MAX_STOPS).round().astype(int))]


def norms_at_steps(each: input_gradients.GradientHistory, stops: list[int]) -> Float[ndarray, "stops replicas time"]:
    """Return a run's gradient norms at given steps: those of the last snapshot before each."""
    indices = np.searchsorted(each.steps, stops, side="right") - 1
    norms: ndarray = each.norms[np.maximum(indices, 0)]
    return norms


def gradients_view(
    document: ui.Document,
    histories: Mapping[str, input_gradients.GradientHistory],
    variants: Mapping[str, ModelVariant],
    run: str,
) -> None:
    """Write the finding, the chart and the table; `run`: of the playback, which restarts when it changes."""
    length = next(iter(histories.values())).norms.shape[-1]
    reached = {
        variants[name]: findings.gradient_ratio(
            variants[name].title, variants[name].model != "transformer", each.norms, each.steps[-1]
        )
        for name, each in histories.items()
    }
    document.finding(findings.gradient_finding(list(reached.values()), length))
    stops = playback_steps(histories)
    panel = _panel(tuple((variants[name], each) for name, each in histories.items()), tuple(stops))
    last, labels = len(stops) - 1, tuple(map(describe_step, stops))
    playback = ui.Playback(run, last, last, False, "", stops=labels, first=0)
    document.figures("memory-gradients", [panel], height=HEIGHT, playback=playback)
    document.caption(
        "Norm of the gradient |∂L/∂x| at each symbol divided by that at the last (logarithmic axis), a mean over 64 "
        "new sequences. Line: median over seeds; band: lowest to highest. After its last step a run keeps its values."
    )
    if length > 1:
        document.table("memory-gradient-ratios", ratios_table(reached, list(histories.values()), length))


def ratios_table(
    ratios: Mapping[ModelVariant, findings.GradientRatio],
    histories: Sequence[input_gradients.GradientHistory],
    length: int,
) -> charts.Table:
    """Return the ratio of the first to the last gradient, and the factors that explain it, a row for each variant."""
    columns = {
        "name": charts.Column("model", "model", wrap=True),
        "before": charts.Column("untrained", "number"),
        "range": charts.Column("lowest to highest seed", "number", minor=True),
        "after": charts.Column("trained", "number"),
        "factor": charts.Column("factor per step", minor=True),
        "left": charts.Column("product over all steps", "number", minor=True),
        "most": charts.Column("most open unit", "number", minor=True),
    }
    rows: list[charts.Row] = []
    for (variant, ratio), each in zip(ratios.items(), histories, strict=True):
        factor = findings.BackwardFactor("–", "–", "–")
        if each.radii is not None:
            factor = findings.radius_factor(each.radii, length)
        elif each.shares is not None:
            factor = findings.gate_factor(each.shares, length)
        rows.append(
            {
                "name": charts.Cell(variant.title, variant.colour),
                "before": findings.format_ratio(ratio.before),
                "range": findings.format_ratio_range(ratio.before),
                "after": findings.format_ratio(ratio.after),
                "factor": factor.factor,
                "left": factor.left,
                "most": factor.most or "–",
            }
        )
    caption = (
        "Gradient at the first symbol divided by that at the last: median over seeds. Factor per step, before "
        "training: the spectral radius of U (RNN), or the share that the median unit keeps (gate); its product over "
        f"{length - 1} steps, and that of the unit whose gate is most open. A Transformer has no such product."
    )
    label = "Gradient at the first symbol divided by that at the last, a row a model"
    return charts.Table(columns, rows, label, caption)


def draw_formulas() -> None:
    """Draw the product of Jacobians and of gates."""
    ui.explanation(
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
def _panel(drawn: tuple[tuple[ModelVariant, input_gradients.GradientHistory], ...], stops: tuple[int, ...]) -> ui.Panel:
    """Return the chart with a frame for each stop; it is cached for all visitors of the same runs."""
    lines = [
        GradientLine(each.full_label, each.title, each.colour, each.dash, norms_at_steps(one, list(stops)))
        for each, one in drawn
    ]
    titles = ", ".join(line.title for line in lines)
    frames = gradient_charts(f"The gradient at each symbol, from before training to its end: {titles}.", lines)
    return ui.Panel("gradients", frames[0], rest=1.0, frames=frames)
