"""The division by √d_k: softmax of random dot products at every width, and a training with and without it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer import charts, ui
from explorer.byte_cache import cached
from explorer.charts import style
from explorer.inspection.steps_to_solve import LEARNED_LOSS
from explorer.inspection.transformer.softmax_scaling import WIDTHS, SoftmaxStatistics, measure_softmax
from explorer.labs.scaled_attention import findings
from explorer.labs.scaled_attention.state import ScaledAttentionState
from explorer.tasks.sequence_labelling.delayed_copy import DelayedCopyConfig
from explorer.training.config import RunConfig

_KEY = "scaled-width"
_WIDTH_AXIS = charts.Axis(
    "dₖ",
    (10**-0.05, WIDTHS[-1] * 10**0.05),
    log=True,
    ticks={width: f"{width:,}" for width in (1, 4, 16, 64, 256, 1024)},
    upright=True,
)
_KINDS = {"not divided": "6px,4px", "divided": "solid"}  # with their dashes


def width_section(session: ui.PageSession[ScaledAttentionState]) -> None:
    """Draw softmax weights, their entropy and their gradient at every width."""
    ui.explanation(
        "Here a query and 64 keys are random, with numbers from N(0, 1). Each dimension adds one random product to a "
        "score, so the standard deviation of the scores is √dₖ. Move the slider: the vectors get wider."
    )
    ui.show(
        _KEY,
        ui.Call(measure_softmax),
        widths_view,
        session.state.wide,
        waiting="512 random draws are measured at 20 widths …",
        height=780,
        events={_KEY: ("stop",)},
        on_event=lambda: _apply_event(session),
    )


def _apply_event(session: ui.PageSession[ScaledAttentionState]) -> None:
    """Store the width at which the visitor has released the slider."""
    stop = ui.pop_event(_KEY, "stop")
    if isinstance(stop, int) and 0 <= stop < len(WIDTHS):
        session.change(lambda state: replace(state, wide=WIDTHS[stop]))
        ui.write_url(session)


def widths_view(document: ui.Document, statistics: SoftmaxStatistics, width: int) -> None:
    """Write the finding, and the charts with a playback over the widths that begins at `width`."""
    last, draws = len(WIDTHS) - 1, statistics.entropy.shape[-1]
    document.finding(findings.width_finding(WIDTHS, statistics.percentiles("gradient")[..., 0]))
    largest, entropy = (statistics.percentiles(name)[..., 0] for name in ("largest", "entropy"))
    keys = statistics.one.shape[-1]
    playback = ui.Playback(
        "widths",
        last,
        last,
        False,
        "all widths",
        unit="width",
        stops=tuple(f"dₖ = {each:,}" for each in WIDTHS),
        says=tuple(
            findings.softmax_at_width(each, keys, largest[:, i], entropy[:, i]) for i, each in enumerate(WIDTHS)
        ),
        first=int(np.abs(np.log(np.array(WIDTHS) / width)).argmin()),
        tells=True,
    )
    document.figures(_KEY, width_panels(statistics), height=230, narrow_height=190, columns=3, playback=playback)
    document.caption(
        f"Bars: one draw. Curves: median of {draws} draws, band: 10th to 90th percentile. Dashed: the entropy of "
        "uniform weights. The gradient of softmax is the Frobenius norm of its Jacobian, diag(α) − ααᵀ. Where it is "
        "near zero, almost no gradient reaches queries and keys."
    )


@cached()
def width_panels(statistics: SoftmaxStatistics) -> tuple[ui.Panel, ...]:
    """Return the weights of one draw, and each statistic by width; a frame for each width. Drawn once for all."""
    panels = []
    for kind, title in enumerate(("Weights, not divided", "Weights, divided by √dₖ")):
        bars = [weight_bars(title, weights) for weights in statistics.one[kind]]
        panels.append(ui.Panel(f"weights-{kind}", bars[-1], title=title, frames=bars))
    keys = statistics.one.shape[-1]
    uniform = math.log(keys)
    scores = charts.Axis(span=(0.3, 40.0), log=True, ticks={1: "1", 10: "10"})
    nats = charts.Axis(span=(0.0, 1.12 * uniform), ticks={0: "0", 1: "1", 2: "2", 3: "3", uniform: f"ln {keys}"})
    gradients = charts.Axis(span=(1e-5, 1.0), log=True, ticks={1e-4: "10⁻⁴", 0.01: "0.01", 1: "1"})
    for name, title, y in (
        ("largest", "Largest weight", charts.Axis(span=(0.0, 1.02), ticks={0: "0", 0.5: "0.5", 1: "1"})),
        ("size", "Standard deviation of the scores", scores),
        ("entropy", "Entropy of the weights, nats", nats),
        ("gradient", "Gradient of softmax", gradients),
    ):
        chart = charts.LineChart(
            f"{title} by dₖ from 1 to {WIDTHS[-1]:,}",
            _lines(statistics.percentiles(name), y),
            _WIDTH_AXIS,
            y,
            [charts.level(uniform)] if name == "entropy" else [],
            margin=84,
            digits="power" if name == "gradient" else 2,
        )
        rest = tuple(map(float, WIDTHS))  # in each frame the values at its width are read
        panels.append(ui.Panel(f"widths-{name}", chart, title=title, rest=rest, frames=[chart] * len(WIDTHS)))
    return tuple(panels)


def weight_bars(title: str, weights: Float[ndarray, " keys"]) -> charts.Drawing:
    """Return the attention weights of one draw as bars."""
    keys = len(weights)
    bars = {
        "type": "bar",
        "x": list(range(1, keys + 1)),
        "y": style.round_values(weights),
        "marker": {"color": style.css_colour("--amount-4")},
        "hoverinfo": "skip",
        "name": title,
    }
    layout = {
        "xaxis": {"title": {"text": "key"}, "range": [0, keys + 1], "nticks": 4},
        "yaxis": {"range": [0, 1.02], "tickvals": [0, 0.5, 1]},
        "bargap": 0.15,
        "margin": {"l": 8, "r": 12, "t": 12, "b": 8},
    }
    words = f"{title}: of one draw of {keys} keys, at dₖ = {WIDTHS[-1]:,} the largest is {weights.max():.2f}."
    return charts.Drawing(words, [bars], layout)


def _lines(values: Float[ndarray, "kinds widths 3"], y: charts.Axis) -> list[charts.Line]:
    """Return the lines of a statistic; on a logarithmic axis, smaller values stand at its lower end."""
    shown = np.maximum(values, y.span[0]) if y.log and y.span else values
    edges = ("10th percentile", "90th percentile")
    return [
        charts.Line(kind, kind, "--m-transformer", dash, np.array(WIDTHS), each, edges=edges)
        for (kind, dash), each in zip(_KINDS.items(), shown, strict=True)
    ]


# ---- training


_LEARNED = charts.level(LEARNED_LOSS, f"learned: {LEARNED_LOSS}")
_METRICS = [
    ui.Metric("loss", "Loss on new rows, nats", charts.Axis(span=(0.0, 2.6)), [_LEARNED], headroom=1.05, margin=100),
    ui.Metric("exact", "Share of rows reversed correctly", charts.Axis(span=(0.0, 1.02)), margin=100),
]


def training_section(session: ui.PageSession[ScaledAttentionState]) -> None:
    """Draw the verdict and the training curves of both models."""
    state, request = session.state, ui.TrainRequest.for_section("scaled")
    config = next(iter(state.configs.values()))
    width, task = head_width(config), config.task_as(DelayedCopyConfig)
    ui.explanation(
        f"Two Transformers with one layer and one head of width {width} learn to write {task.longest} digits in "
        "reverse order. Their queries and keys are initialized with variance 1. They differ only in the division."
    )
    shown = request.session_with_results(session).state
    ui.show_problems(request.problems)
    ui.draw_train_offer(request, state)
    ends = ui.finished_loss_curves(request.views(shown.configs))
    ui.draw_earlier_note(request)
    ui.headline(findings.training_verdict(width, ends.get("scaled"), ends.get("raw")))
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.popover("Settings", icon=":material/tune:"):
            ui.draw_training_settings(session)
        ui.draw_train_controls(request, state.configs)
    ui.draw_learning_chart(
        "scaled-race",
        request,
        state.configs,
        ui.curve_panels(_METRICS, state.variants),
        f"{ui.describe_line(state.seeds)} “Learned”: loss below {LEARNED_LOSS} nats.",
        height=300,
        narrow_height=220,
        columns=2,
    )
    ui.paragraph(findings.training_text(ends.get("scaled"), ends.get("raw")))


def head_width(config: RunConfig) -> int:
    """Return d_k of the run's heads."""
    model = config.model
    return int(model.width // model.heads)  # type: ignore[attr-defined]  # all compared models are Transformers
