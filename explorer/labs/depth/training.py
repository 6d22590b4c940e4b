"""Training of stacks of 24 blocks with different placements of the norm, and without residuals."""

from __future__ import annotations

import math

import streamlit as st

from explorer import charts, ui
from explorer.experiments.labelling import DEPTH_VARIANTS, VARIANTS
from explorer.inspection.steps_to_solve import LEARNED_LOSS
from explorer.labs.depth import findings
from explorer.labs.depth.state import DepthState
from explorer.models.configs import TransformerTaggerConfig
from explorer.tasks.sequence_labelling.delayed_copy import DelayedCopyConfig

_LOSS = charts.Axis(span=(1e-3, 10.0), log=True)
_LEARNED = charts.level(LEARNED_LOSS, f"learned: {LEARNED_LOSS}")
_METRICS = [
    ui.Metric("loss", "Loss on new rows, nats", _LOSS, [_LEARNED], headroom=1.5, margin=108, digits=3),
    ui.Metric("exact", "Share of rows reversed correctly", charts.Axis(span=(0.0, 1.02)), margin=108),
]


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
        f"at a learning rate of {first.optimiser.learning_rate:g} and without a warm-up (one stack at a quarter of it)."
    )
    ui.show_problems(request.problems)
    ui.draw_missing_runs(request, configs, lambda names: ui.join_words([VARIANTS[name].words for name in names]))
    ui.draw_earlier_note(request)
    ends = ui.finished_loss_curves(request.views(shown.configs))
    by_stack = {VARIANTS[name].words.removeprefix("the stack "): end for name, end in ends.items()}
    ui.headline(findings.learning_finding(blocks, by_stack))
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.popover("Settings", icon=":material/tune:"):
            ui.bind_widget(session, "first", st.number_input, width=140)
        ui.draw_train_controls(request, configs)
    ui.draw_learning_chart(
        "depth-race",
        request,
        configs,
        ui.curve_panels(_METRICS, VARIANTS),
        f"Line: median of {ui.count_seeds(first.replicas)}. Band: lowest to highest. “Learned”: loss below "
        f"{LEARNED_LOSS} nats; a uniform guess has ln {task.symbols} = {math.log(task.symbols):.2f}.",
        height=320,
        narrow_height=240,
        columns=2,
    )
    ui.paragraph(findings.learning_text(by_stack))
    ui.paragraph(findings.warmup_claim_text(ends.get("echo-deep-after"), ends.get("echo-deep-gentle")))
    st.page_link(
        "text.py",
        label="What a warm-up does for four blocks of a language model",
        query_params={"experiment": "warmup"},
        icon=":material/stacked_line_chart:",
    )
