"""Training of stacks of 24 blocks with different placements of the norm, and without residuals."""

from __future__ import annotations

import math
from collections.abc import Mapping

import streamlit as st

from explorer.byte_cache import cached
from explorer.experiments.labelling import DEPTH_VARIANTS, VARIANTS
from explorer.figures.comparison import comparison_figure
from explorer.inspection.steps_to_solve import LEARNED_LOSS
from explorer.labs.depth import findings
from explorer.labs.depth.state import DepthState
from explorer.models.configs import TransformerTaggerConfig
from explorer.tasks.sequence_labelling.delayed_copy import DelayedCopyConfig
from explorer.ui.components.plot_frame import Panel
from explorer.ui.page_sections import escape_markdown, explanation, show_problems
from explorer.ui.state.session import PageSession
from explorer.ui.state.widgets import bind_widget
from explorer.ui.training.learning_chart import draw_learning_chart, last_step
from explorer.ui.training.run_view import RunView
from explorer.ui.training.steps_to_solve import finished_loss_curves
from explorer.ui.training.train_controls import TrainRequest, draw_earlier_note, draw_missing_runs, draw_train_controls
from explorer.ui.training.variant_charts import (
    VariantCurves,
    curves_of_variants,
    highest_value,
    line_panel,
    metric_lines,
)
from explorer.ui.wording import count_seeds, join_words

HEIGHT, NARROW = 320, 240
_METRICS = {"loss": "Loss on new rows, nats", "exact": "Share of rows reversed correctly"}
_AXIS_MIN = 1e-3  # nats: the end of the axis


def training_section(session: PageSession[DepthState]) -> None:
    """Draw the finding and the training curves of the stacks."""
    request, configs = TrainRequest.for_section("deep"), session.state.configs
    shown = request.session_with_results(session).state
    first = configs[DEPTH_VARIANTS[0]]
    model, task = first.model, first.task_as(DelayedCopyConfig)
    assert isinstance(model, TransformerTaggerConfig)  # all stacks are of this model
    blocks, width = model.layers, model.width
    explanation(
        f"Stacks of {blocks} blocks of width {width} learn to write {task.longest} digits in reverse order, with Adam "
        f"at a learning rate of {first.optimiser.learning_rate:g} and without a warm-up (one stack at a quarter of it)."
    )
    show_problems(request.problems)
    draw_missing_runs(request, configs, lambda names: join_words([VARIANTS[name].words for name in names]))
    draw_earlier_note(request)
    ends = finished_loss_curves(request.views(shown.configs))
    if sentence := findings.learning_finding(blocks, {stack_name(name): end for name, end in ends.items()}):
        st.subheader(escape_markdown(sentence), anchor=False)
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.popover("Settings", icon=":material/tune:"):
            bind_widget(session, "first", st.number_input, width=140)
        draw_train_controls(request, configs)
    draw_learning_chart(
        "depth-race",
        request,
        configs,
        _training_panels,
        f"Line: median of {count_seeds(first.replicas)}. Band: lowest to highest. “Learned”: loss below "
        f"{LEARNED_LOSS} nats; a uniform guess has ln {task.symbols} = {math.log(task.symbols):.2f}.",
        height=HEIGHT,
        narrow_height=NARROW,
        columns=2,
    )
    if counts := findings.learning_text({stack_name(name): end for name, end in ends.items()}):
        explanation(escape_markdown(counts))
    if claim := findings.warmup_claim_text(ends.get("echo-deep-after"), ends.get("echo-deep-gentle")):
        explanation(escape_markdown(claim))
    st.page_link(
        "text.py",
        label="What a warm-up does for four blocks of a language model",
        query_params={"experiment": "warmup"},
        icon=":material/stacked_line_chart:",
    )


def stack_name(name: str) -> str:
    """Return what distinguishes a stack, for example "with the norm before each part"."""
    return VARIANTS[name].words.removeprefix("the stack ")


def _training_panels(views: Mapping[str, RunView]) -> list[Panel]:
    curves_by_variant = curves_of_variants(VARIANTS, views)
    return [_training_panel(metric, curves_by_variant, last_step(views)) for metric in _METRICS]


@cached()
def _training_panel(metric: str, curves_by_variant: VariantCurves, last: int) -> Panel:
    """Draw one metric of all runs by step; cached for all visitors who look at the same runs."""
    lines = metric_lines(curves_by_variant, metric)
    is_loss = metric == "loss"
    figure = comparison_figure(
        lines,
        "step",
        (_AXIS_MIN, max(10.0, 1.5 * highest_value(lines))) if is_loss else (0.0, 1.02),
        log_y=is_loss,
        x_end=float(last),
        reference=(LEARNED_LOSS, f"learned: {LEARNED_LOSS}", "--soft") if is_loss else None,
        right_margin=108,
    )
    return line_panel(f"depth-{metric}", _METRICS[metric], lines, figure, digits=3 if is_loss else 2)
