"""Exploding gradients: gradient norms by the spectral radius of an RNN, and what gradient clipping changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer import charts, ui
from explorer.byte_cache import cached
from explorer.catalogue import MODELS
from explorer.experiments.gradient_clipping import CLIPPING_CELLS, GAINS, LENGTH, ClippingCell
from explorer.inspection.compare import downsample, median_and_range
from explorer.inspection.recurrent import exploding_gradients
from explorer.labs.memory import gradient_findings as findings
from explorer.labs.memory.gradient_findings import ClippingResult
from explorer.labs.memory.gradient_flow import GradientLine, gradient_charts
from explorer.labs.memory.state import MemoryState
from explorer.training.config import RunConfig
from explorer.training.record import Curves
from explorer.ui.state.session import write_url
from explorer.ui.training.learning_chart import step_axis

HEIGHT = 360
_LONGEST = 200  # symbols
_ROW = MODELS["rnn"]
_LINES = {"none": ("none", "without clipping", "6px,4px"), "clip": ("clip", "with clipping", "solid")}
_QUANTITIES = {"loss": "loss of each batch", "gradient": "gradient norm"}


def section(session: ui.PageSession[MemoryState]) -> None:
    """Draw both parts: gradient norms by spectral radius, and gradient clipping."""
    ui.explanation(
        "The same product of matrices can also grow. Scale the recurrent matrix U of an untrained RNN by its spectral "
        "radius (its largest absolute eigenvalue) and see how much gradient reaches the first symbol."
    )
    ui.show(
        "memory-exploding",
        ui.Call(exploding_gradients.gradient_norms_by_gain, GAINS, min(session.state.length, _LONGEST)),
        gains_view,
        session.state.gain,  # where the playback begins; afterwards the browser moves it
        waiting=f"The gradients of eight RNNs at {len(GAINS)} radii are being computed …",
        height=HEIGHT + 120,
        events={"memory-gains": ("stop",)},
        on_event=lambda: _handle_component_event(session),
    )
    _draw_clipping()


# ---- the size of the matrix


def _nearest_gain(gain: float) -> int:
    return int(np.abs(np.array(GAINS) - gain).argmin())


def _handle_component_event(session: ui.PageSession[MemoryState]) -> None:
    """Store the radius at which the visitor has stopped the playback. Only its fragment is rerun."""
    chosen = ui.pop_choices("memory-gains", {"stop": range(len(GAINS))})
    if "stop" in chosen:
        session.change(lambda state: replace(state, gain=GAINS[chosen["stop"]]))
        write_url(session)


def gains_view(document: ui.Document, norms: Float[ndarray, "gains replicas time"], gain: float) -> None:
    """Write from which radius on gradients grow, and their chart with a playback that begins at `gain`."""
    document.finding(findings.exploding_finding(GAINS, norms))
    lines = [
        GradientLine("RNN", "RNN, measured", _ROW.colour, "solid", norms),
        GradientLine(
            "linear", "linear network", "--soft", "2px,4px", exploding_gradients.linear_reference(norms, GAINS)
        ),
    ]
    words = f"The gradient at each symbol of untrained RNNs, at spectral radii from {GAINS[0]:g} to {GAINS[-1]:g}."
    frames = gradient_charts(words, lines)
    last, labels = len(GAINS) - 1, tuple(f"spectral radius {each:g}" for each in GAINS)
    run = f"gains/{norms.shape[-1]}"
    playback = ui.Playback(run, last, last, False, "", stops=labels, first=_nearest_gain(gain), tells=True)
    panel = ui.Panel("gains", frames[0], rest=1.0, frames=frames)
    document.figures("memory-gains", [panel], height=HEIGHT, playback=playback)
    document.caption(
        "Gradient at each symbol divided by that at the last, before training. Line: median of eight seeds; band: "
        "lowest to highest. Dotted: a linear network, radius to the power of T − t. The slope of tanh is below 1 away "
        "from 0, so the measured gradient grows more slowly."
    )


# ---- clipping


def _configs() -> dict[str, RunConfig]:
    return {f"{cell.name}-{which}": config for cell in CLIPPING_CELLS for which, config in cell.configs().items()}


def _draw_clipping() -> None:
    st.subheader("What does gradient clipping change?", anchor=False)
    request = ui.TrainRequest.for_section("exploding")
    views = request.views(_configs())
    found = _clipping_results(views)
    if finding := findings.clipping_finding(found):
        ui.explanation(f"**{ui.escape_markdown(finding)}**")
    ui.explanation(
        f"RNNs learn to recall the first of {LENGTH} symbols by plain gradient descent. Clipping shortens a gradient "
        "whose norm is above 1 to norm 1 and keeps its direction. It cannot restore a gradient that has vanished."
    )
    st.latex(r"g \leftarrow g \cdot \min\!\left(1, \tfrac{1}{\lVert g \rVert}\right)")
    ui.draw_now(clipping_view, found)
    ui.show_problems(request.problems)
    ui.draw_train_controls(request, _configs(), keys=("memory.exploding.run", "memory.exploding.stop"))
    ui.draw_learning_chart(
        "memory-clipping",
        request,
        _configs(),
        _panels,
        "Top: loss of each batch, in nats. Bottom: norm of the gradient before clipping. Both axes are logarithmic. "
        "Line: median of eight seeds; band: lowest to highest.",
        axis=partial(step_axis, step=10.0),
        height=220,
        narrow_height=180,
        columns=3,
    )


def clipping_view(document: ui.Document, found: Sequence[ClippingResult]) -> None:
    """Write how many seeds learn the task without and with clipping, a row for each pair of runs."""
    judgements = findings.clipping_judgements(found)
    columns = {
        "name": charts.Column("RNN", wrap=True),
        "none": charts.Column("without clipping", "number"),
        "clip": charts.Column("with clipping", "number"),
        "verdict": charts.Column("difference", wrap=True, minor=True),
    }
    rows = [
        {
            "name": each.words.removeprefix("at a "),
            "none": f"{findings.count_solved(each.none)} of {len(each.none)}",
            "clip": f"{findings.count_solved(each.clip)} of {len(each.clip)}",
            "verdict": findings.clipping_verdict(each, judgements),
        }
        for each in found
    ]
    label = "Seeds that learn the task, without and with gradient clipping"
    caption = "Seeds that learn the task. The difference is tested by Fisher’s exact test."
    document.table("memory-clipping-results", charts.Table(columns, rows, label, caption))


def _clipping_results(views: Mapping[str, ui.RunView]) -> list[ClippingResult]:
    """Return the result of each cell whose two runs are finished."""
    found = []
    for cell in CLIPPING_CELLS:
        none, clip = (views[f"{cell.name}-{which}"].result for which in ("none", "clip"))
        if none and clip and "accuracy" in none.metrics and "accuracy" in clip.metrics:
            found.append(
                ClippingResult(
                    cell.words,
                    none.last("accuracy"),
                    clip.last("accuracy"),
                    float(np.nanmax(none.signals["gradient_norm"])),
                    bool(np.array_equal(none.losses, clip.losses)),
                )
            )
    return found


def _panels(views: Mapping[str, ui.RunView]) -> list[ui.Panel]:
    """Return the panels: losses above, gradient norms below, a column for each cell; a row shares its axis."""
    spans = {quantity: _axis_range(views, quantity) for quantity in _QUANTITIES}
    return [
        _panel(
            cell, quantity, tuple((which, views[f"{cell.name}-{which}"].curves) for which in _LINES), spans[quantity]
        )
        for quantity in _QUANTITIES
        for cell in CLIPPING_CELLS
    ]


def _values_of(curves: Curves, quantity: str) -> Float[ndarray, "steps replicas"]:
    values: ndarray = curves.losses if quantity == "loss" else curves.signals["gradient_norm"]
    return values


def _axis_range(views: Mapping[str, ui.RunView], quantity: str) -> tuple[float, float]:
    """Return powers of ten around all values."""
    every = [_values_of(view.curves, quantity).ravel() for view in views.values() if view.curves]
    known = np.concatenate(every) if every else np.ones(1)
    known = known[np.isfinite(known) & (known > 0)]
    if not len(known):
        return 0.1, 10.0
    low, high = np.floor(np.log10(known.min())), np.ceil(np.log10(known.max()))
    return float(10.0**low), float(10.0 ** max(high, low + 1))


@cached()
def _panel(
    cell: ClippingCell, quantity: str, curves_by_line: tuple[tuple[str, Curves | None], ...], span: tuple[float, float]
) -> ui.Panel:
    """Return one panel; it is cached for all visitors of the same runs."""
    lines, steps = [], 0.0
    for which, found in curves_by_line:
        label, words, dash = _LINES[which]
        steps = float(cell.configs()[which].steps)
        x, values = np.zeros(0), np.zeros((0, 3))
        if found is not None and len(found.losses):
            values = median_and_range(_values_of(found, quantity))
            indices = downsample(values, max_points=150)
            x, values = (indices + 1).astype(float), values[indices]
        lines.append(charts.Line(label, words, _ROW.colour, dash, x, values, name=words))
    chart = charts.LineChart(
        f"{cell.title}, {_QUANTITIES[quantity]} by step",
        lines,
        charts.Axis("step", (0.0, steps), ticks=4, upright=True),
        charts.Axis(span=span, log=True),
        margin=52,
        digits="power",
    )
    title = f"{cell.title}: {'loss' if quantity == 'loss' else 'gradient norm'}"
    return ui.Panel(f"clipping-{cell.name}-{quantity}", chart, title=title)
