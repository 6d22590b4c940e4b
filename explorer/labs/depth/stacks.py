"""Stacks of blocks with different placements of the norm and without residuals: before and in training."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import streamlit as st

from explorer import charts, ui
from explorer.experiments.labelling import DEPTH_VARIANTS, VARIANTS
from explorer.inspection.steps_to_solve import LEARNED_LOSS
from explorer.inspection.transformer import depth
from explorer.labs.depth import findings
from explorer.labs.depth.state import LAYERS, DepthState
from explorer.models.configs import TransformerTaggerConfig
from explorer.tasks.sequence_labelling.delayed_copy import DelayedCopyConfig
from explorer.web.background import submit
from explorer.web.results import pack, register_arrays


@dataclass(frozen=True, eq=False)
class PackedMeasurements:
    """The measurements of all stacks, and the same as bytes for the browser."""

    measurements: depth.StackMeasurements
    content: bytes


def measurement_call(state: DepthState) -> ui.Call[PackedMeasurements]:
    """Return the measurement of all stacks with the settings of the page."""
    return ui.Call(_measure, state.start, state.heads)


def prefetch_default_stacks() -> None:
    """Start measuring the stacks that the page shows first, so that its first visitor does not wait for them."""
    call = measurement_call(DepthState())
    submit(call.key, call, "patient")


def _measure(start: depth.Initialization, heads: int) -> PackedMeasurements:
    found = depth.measure_stacks(heads, start)
    arrays = {name: depth.log10_values(getattr(found, name)) for name in ("size", "stream", "weights")}
    return PackedMeasurements(found, pack({**arrays, "similarity": found.cosine_similarity.astype(np.float32)}))


_WAITING = "Eighty untrained stacks of 24 blocks are measured, with their gradients …"
_KEY = "stacks"
_LOSS = charts.Axis(span=(1e-3, 10.0), log=True)
_LEARNED = charts.level(LEARNED_LOSS, f"learned: {LEARNED_LOSS}")
_METRICS = [
    ui.Metric("loss", "Loss on new rows, nats", _LOSS, [_LEARNED], headroom=1.5, margin=108, digits=3),
    ui.Metric("exact", "Share of rows reversed correctly", charts.Axis(span=(0.0, 1.02)), margin=108),
]


def stacks_section(session: ui.PageSession[DepthState]) -> None:
    """Draw the measurements of the stacks, and the settings below them."""
    ui.show(
        "depth-stacks",
        measurement_call(session.state),
        stacks_view,
        session.state,
        waiting=_WAITING,
        height=900,
        events={_KEY: ("set",)},
        on_event=lambda: ui.apply_component_event(session, _KEY),
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        with st.popover("Settings", icon=":material/tune:"):
            ui.bind_widget(session, "start", st.selectbox, width=260)
            ui.bind_widget(session, "heads", st.selectbox, width=160)
        ui.reset_button(session, "fresh", lambda _: DepthState())


def formulas_section(session: ui.PageSession[DepthState]) -> None:
    """Draw the growth of the stream with its measured numbers, and the formulas of the split into heads."""
    ui.explanation(
        "Let v be the mean square of the numbers in the residual stream, and s the share of it that one matrix keeps. "
        "The attention adds at most s² of its input, less where it averages different tokens; the feedforward layer "
        "adds s²/2, because ReLU sets half of the numbers to zero. With the norm before each part the input has mean "
        "square 1, so v grows by a constant amount per block. Without a norm v grows by a constant factor. With the "
        "norm after each sum v stays 1."
    )
    st.latex(
        r"\begin{aligned}\text{before: }&1 + l\,\tfrac{s^2}{2} \le v_l \le 1 + l\left(\tfrac{s^2}{2} + s^2\right)\\"
        r"\text{none: }&a^l \le v_l \le a^l\left(1 + s^2\right)^l, \quad a = 1 + \tfrac{s^2}{2}\\"
        r"\text{after: }&v_l = 1\end{aligned}"
    )
    state, call = session.state, measurement_call(session.state)
    ui.show("depth-numbers", call, numbers_view, state.start, state.layers, waiting=_WAITING, height=260)
    ui.explanation(
        "**Heads.** A layer of width d has one matrix each for queries, keys and values. A head uses d/h of their "
        "columns, so more heads need no more parameters. But each head compares shorter vectors: its matrix of scores "
        "has at most rank d/h, which limits the attention patterns over longer texts."
    )
    st.latex(
        r"\begin{gathered}\mathrm{head}_i = \mathrm{softmax}\!\left(\frac{Q_i K_i^\top}{\sqrt{d/h}}\right) V_i\\"
        r"\mathrm{rank}\,(Q_i K_i^\top) \le \tfrac{d}{h},\quad 4d^2 \text{ parameters}\end{gathered}"
    )


def stacks_view(document: ui.Document, result: PackedMeasurements, state: DepthState) -> None:
    """Write the component with the measurements of all stacks, and what they are made of."""
    lines = [depth.expected_mean_squares(combination, state.start) for combination in depth.COMBINATIONS]
    document.component(
        "residual_stacks",
        {
            "combinations": [vars(combination) for combination in depth.COMBINATIONS],
            "heights": LAYERS,
            "expected": [None if line is None else np.log10(line).round(5).tolist() for line in lines],
            "chosen": {name: getattr(state, name) for name in ("residual", "norm", "kind", "layers")},
            "address": register_arrays(result.content),
            "file": f"stacks-{state.start}-{state.heads}-heads",
        },
        key=_KEY,
    )
    document.caption(
        f"Line: median of {depth.SEEDS} random initializations, band: lowest to highest. Pale: the other combinations, "
        f"dotted without a residual. Dashed in the first panel: the expected range. Input: {depth.TOKENS} random "
        f"symbols out of {depth.SYMBOLS}. Width {depth.WIDTH}, {state.heads} heads. "
        f"{findings.initialization_text(state.start, depth.MEAN_SQUARE_GAIN[state.start])}"
    )


def numbers_view(document: ui.Document, result: PackedMeasurements, start: depth.Initialization, layers: int) -> None:
    """Write the numbers of the formulas for a stack of so many blocks, and what was measured of its gradients."""
    measured, top = result.measurements, max(2, layers)
    norms: tuple[depth.Norm, ...] = ("pre", "none", "post")
    combinations = {norm: depth.Combination(True, norm) for norm in norms}
    index = {norm: depth.COMBINATIONS.index(each) for norm, each in combinations.items()}
    expected = {}
    for norm, combination in combinations.items():
        line = depth.expected_mean_squares(combination, start)
        assert line is not None  # the formula covers all stacks with residuals
        expected[norm] = float(line[0, layers]), float(line[1, layers])
    middle: dict[str, float] = {norm: float(np.median(measured.size[i, layers])) for norm, i in index.items()}
    gain = depth.MEAN_SQUARE_GAIN[start]
    document.text(findings.formula_text(gain, layers, expected["pre"], expected["none"], middle))
    rms = depth.COMBINATIONS.index(depth.Combination(True, "pre", "rms"))
    document.text(findings.norm_kinds_text(measured.size[index["pre"], top], measured.size[rms, top], top))
    down = measured.stream[index["post"], top - 1]
    document.text(findings.vanishing_gradient_text(down[1] / down[top], top))
    if top > 2:
        low, high = (np.median(measured.weights[:, height - 1, height], axis=-1).tolist() for height in (2, top))
        after, before = ((low[index[norm]], high[index[norm]]) for norm in ("post", "pre"))
        grown = float(np.median(measured.size[index["pre"], top] / measured.size[index["pre"], 2]))
        document.text(findings.top_block_text(after, before, (2, top), grown))


def training_section(session: ui.PageSession[DepthState]) -> None:
    """Draw the finding and the training curves of the stacks."""
    request, configs = ui.TrainRequest.for_section("deep"), session.state.configs
    shown = request.session_with_results(session).state
    first = configs[DEPTH_VARIANTS[0]]
    model, task = first.model, first.task_as(DelayedCopyConfig)
    assert isinstance(model, TransformerTaggerConfig)  # all stacks are of this model
    blocks, width = model.layers, model.width
    ui.explanation(
        f"Stacks of {blocks} blocks of width {width} learn to write {task.longest} digits in reverse order, with Adam "
        "and without a warm-up. Each has the learning rate that is best for it, and one with the norm after each part "
        "also that of the norm before."
    )
    ui.show_problems(request.problems)
    ui.draw_missing_runs(request, configs, lambda names: ui.join_words([VARIANTS[name].words for name in names]))
    ui.draw_earlier_note(request)
    ends = ui.finished_loss_curves(request.views(shown.configs))
    by_stack = {VARIANTS[name].words.removeprefix("the stack "): end for name, end in ends.items()}
    ui.headline(findings.learning_finding(blocks, by_stack))
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.popover("Settings", icon=":material/tune:"):
            for name in ("seeds", "steps", "first"):
                ui.bind_widget(session, name, st.number_input, width=140)
        ui.draw_train_controls(request, configs)
    ui.draw_learning_chart(
        "depth-race",
        request,
        configs,
        ui.curve_panels(_METRICS, VARIANTS),
        f"{ui.describe_line(first.replicas)} “Learned”: loss below "
        f"{LEARNED_LOSS} nats; a uniform guess has ln {task.symbols} = {math.log(task.symbols):.2f}.",
        height=320,
        narrow_height=240,
        columns=2,
    )
    ui.paragraph(findings.learning_text(by_stack))
    after, gentle = "echo-deep-after", "echo-deep-gentle"
    rates = configs[after].optimiser.learning_rate, configs[gentle].optimiser.learning_rate
    ui.paragraph(findings.warmup_claim_text(ends.get(after), ends.get(gentle), rates))
    st.page_link(
        "text.py",
        label="What a warm-up does for four blocks of a language model",
        query_params={"experiment": "warmup"},
        icon=":material/stacked_line_chart:",
    )
