"""Exploding gradients: gradient norms by the spectral radius of an RNN, and what gradient clipping changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer.byte_cache import cached
from explorer.catalogue import MODELS
from explorer.experiments.gradient_clipping import CLIPPING_CELLS, GAINS, LENGTH, ClippingCell
from explorer.figures.comparison import Line
from explorer.figures.recurrent.memory_gradients import TRACES_PER_LINE, GradientLine, gradient_figure
from explorer.figures.runs.experiments import low_comparison_figure
from explorer.inspection.compare import downsample, median_and_range
from explorer.labs.memory import gradient_findings as findings
from explorer.labs.memory.gradient_findings import ClippingResult
from explorer.labs.memory.state import MemoryState
from explorer.training.config import RunConfig
from explorer.training.record import Curves
from explorer.ui.components.base import pop_event
from explorer.ui.components.plot_frame import Panel, Playback, add_plot_frame, value_tracks
from explorer.ui.components.table import column, draw_table
from explorer.ui.document import Document
from explorer.ui.page_sections import escape_markdown, explanation, show_problems
from explorer.ui.result_section import Request, result_section
from explorer.ui.state.session import PageSession, write_url
from explorer.ui.training.learning_chart import draw_learning_chart, step_axis
from explorer.ui.training.run_view import RunView
from explorer.ui.training.train_controls import TrainRequest, draw_train_controls

HEIGHT = 360
_ROW = MODELS["rnn"]
_LINES = {"none": ("none", "without clipping", "6px,4px"), "clip": ("clip", "with clipping", "solid")}
_QUANTITIES = {"loss": "loss of each batch", "gradient": "gradient norm"}


def section(session: PageSession[MemoryState]) -> None:
    """Draw both parts: gradient norms by spectral radius, and gradient clipping."""
    explanation(
        "The same product of matrices can also grow. Scale the recurrent matrix U of an untrained RNN by its spectral "
        "radius (its largest absolute eigenvalue) and see how much gradient reaches the first symbol."
    )
    length = min(session.state.length, _LONGEST)

    def requested_measurement() -> Mapping[str, Request[GainMeasurement]]:
        _handle_component_event(session)
        return {"gains": (("memory-exploding", length), partial(_measure_gains, length))}

    result_section(
        "memory-exploding",
        requested_measurement,
        partial(_draw_gains, session.state.gain),  # where the playback begins; afterwards the browser moves it
        f"The gradients of eight RNNs at {len(GAINS)} radii are being computed …",
        HEIGHT + 120,
        events={"memory-gains": ("stop",)},
    )
    _draw_clipping()


# ---- the size of the matrix

_LONGEST = 200  # symbols


@dataclass(frozen=True, eq=False)
class GainMeasurement:
    """Gradient norms at each symbol by spectral radius. It is compared by identity, so that it can be a cache key."""

    norms: Float[ndarray, "gains replicas time"]


def _measure_gains(length: int) -> GainMeasurement:
    from explorer.inspection.recurrent.exploding_gradients import gradient_norms_by_gain

    return GainMeasurement(gradient_norms_by_gain(GAINS, length))


def _nearest_gain(gain: float) -> int:
    return int(np.abs(np.array(GAINS) - gain).argmin())


def _handle_component_event(session: PageSession[MemoryState]) -> None:
    """Store the radius at which the visitor has stopped the playback. Only its fragment is rerun."""
    event = pop_event("memory-gains", "stop")
    if isinstance(event, int) and 0 <= event < len(GAINS):
        session.change(lambda state: replace(state, gain=GAINS[event]))
        write_url(session)


def _draw_gains(gain: float, document: Document, results: Mapping[str, GainMeasurement]) -> None:
    measurement = results["gains"]
    document.finding(findings.exploding_finding(GAINS, measurement.norms))
    last = len(GAINS) - 1
    words = tuple(f"spectral radius {gain:g}" for gain in GAINS)
    run = f"gains/{measurement.norms.shape[-1]}"
    add_plot_frame(
        document,
        [_gain_panel(measurement)],
        key="memory-gains",
        height=HEIGHT,
        playback=Playback(run, last, last, False, "", stops=words, first=_nearest_gain(gain), tells=True),
    )
    document.caption(
        "Gradient at each symbol divided by that at the last, before training. Line: median of eight seeds; band: "
        "lowest to highest. Dotted: a linear network, radius to the power of T − t. The slope of tanh is below 1 away "
        "from 0, so the measured gradient grows more slowly."
    )


@cached()
def _gain_panel(measurement: GainMeasurement) -> Panel:
    from explorer.inspection.recurrent.exploding_gradients import linear_reference

    lines = [
        GradientLine("RNN", "RNN, measured", _ROW.colour, "solid", measurement.norms),
        GradientLine("linear", "linear network", "--soft", "2px,4px", linear_reference(measurement.norms, GAINS)),
    ]
    figure, frames = gradient_figure(lines)
    return Panel(
        "gains",
        figure,
        alt=f"The gradient at each symbol of untrained RNNs, at spectral radii from {GAINS[0]:g} to {GAINS[-1]:g}.",
        tracks=value_tracks([(line.title, line.colour) for line in lines], "power", TRACES_PER_LINE),
        rest=1.0,
        frames=frames,
    )


# ---- clipping


def _configs() -> dict[str, RunConfig]:
    return {f"{cell.name}-{which}": config for cell in CLIPPING_CELLS for which, config in cell.configs().items()}


def _draw_clipping() -> None:
    st.subheader("What does gradient clipping change?", anchor=False)
    request = TrainRequest.for_section("exploding")
    views = request.views(_configs())
    found = _clipping_results(views)
    if finding := findings.clipping_finding(found):
        explanation(f"**{escape_markdown(finding)}**")
    explanation(
        f"RNNs learn to recall the first of {LENGTH} symbols by plain gradient descent. Clipping shortens a gradient "
        "whose norm is above 1 to norm 1 and keeps its direction. It cannot restore a gradient that has vanished."
    )
    st.latex(r"g \leftarrow g \cdot \min\!\left(1, \tfrac{1}{\lVert g \rVert}\right)")
    _draw_clipping_table(found)
    show_problems(request.problems)
    draw_train_controls(request, _configs(), keys=("memory.exploding.run", "memory.exploding.stop"))
    draw_learning_chart(
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


def _draw_clipping_table(found: Sequence[ClippingResult]) -> None:
    """Draw how many seeds learn the task without and with clipping, a row for each pair of runs."""
    if not found:
        return
    judgements = findings.clipping_judgements(found)
    texts = {"none": "without clipping", "clip": "with clipping"}
    columns = [
        column("name", "RNN", wrap=True),
        *[dict[str, object](key=key, label=label, kind="number", align="right") for key, label in texts.items()],
        column("verdict", "difference", wrap=True, minor=True),
    ]
    rows = [
        {
            "name": each.words.removeprefix("at a "),
            "none": f"{findings.count_solved(each.none)} of {len(each.none)}",
            "clip": f"{findings.count_solved(each.clip)} of {len(each.clip)}",
            "verdict": findings.clipping_verdict(each, judgements),
        }
        for each in found
    ]
    draw_table(
        columns,
        rows,
        key="memory-clipping-results",
        label="Seeds that learn the task, without and with gradient clipping",
        caption="Seeds that learn the task. The difference is tested by Fisher’s exact test.",
    )


def _clipping_results(views: Mapping[str, RunView]) -> list[ClippingResult]:
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


def _panels(views: Mapping[str, RunView]) -> list[Panel]:
    """Return the panels: losses above, gradient norms below, a column for each cell; a row shares its axis."""
    spans = {quantity: _axis_range(views, quantity) for quantity in _QUANTITIES}
    return [
        _panel(
            cell,
            quantity,
            tuple((which, views[f"{cell.name}-{which}"].curves) for which in _LINES),
            spans[quantity],
        )
        for quantity in _QUANTITIES
        for cell in CLIPPING_CELLS
    ]


def _values_of(curves: Curves, quantity: str) -> Float[ndarray, "steps replicas"]:
    values: ndarray = curves.losses if quantity == "loss" else curves.signals["gradient_norm"]
    return values


def _axis_range(views: Mapping[str, RunView], quantity: str) -> tuple[float, float]:
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
    cell: ClippingCell,
    quantity: str,
    curves_by_line: tuple[tuple[str, Curves | None], ...],
    span: tuple[float, float],
) -> Panel:
    """Return one panel; it is cached for all visitors of the same runs."""
    lines: list[Line] = []
    steps = 0.0
    for which, found in curves_by_line:
        label, words, dash = _LINES[which]
        config = cell.configs()[which]
        steps = float(config.steps)
        if found is None or not len(found.losses):
            x, parts = np.zeros(0), np.zeros((0, 3))
        else:
            values = _values_of(found, quantity)
            parts = median_and_range(values)
            indices = downsample(parts, max_points=150)
            x, parts = (indices + 1).astype(float), parts[indices]
        lines.append(Line(label, words, _ROW.colour, dash, x, *parts.T, statistic="median"))
    return Panel(
        f"clipping-{cell.name}-{quantity}",
        low_comparison_figure(lines, "step", span, steps, log_y=True),
        alt=f"{cell.title}: {_QUANTITIES[quantity]} by step, without and with clipping.",
        title=f"{cell.title}: {'loss' if quantity == 'loss' else 'gradient norm'}",
        tracks=value_tracks([(line.title, line.colour) for line in lines], "power"),
    )
