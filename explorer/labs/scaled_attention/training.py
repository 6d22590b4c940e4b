"""One wide head that learns to reverse digits, with and without the division by √d_k."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import streamlit as st

from explorer.byte_cache import cached
from explorer.figures.comparison import comparison_figure
from explorer.inspection.steps_to_solve import LEARNED_LOSS
from explorer.labs.scaled_attention import findings
from explorer.labs.scaled_attention.state import ScaledAttentionState
from explorer.tasks.sequence_labelling.delayed_copy import DelayedCopyConfig
from explorer.training.config import RunConfig
from explorer.ui.components.plot_frame import Panel
from explorer.ui.page_sections import escape_markdown, explanation, show_problems
from explorer.ui.state.session import PageSession
from explorer.ui.training import comparison_settings
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
from explorer.ui.wording import describe_line, join_words

HEIGHT, NARROW = 300, 220
_METRICS = {"loss": ("Loss on new rows, nats", 2.6), "exact": ("Share of rows reversed correctly", 1.02)}


def training_section(session: PageSession[ScaledAttentionState]) -> None:
    """Draw the verdict and the training curves of both models."""
    state, request = session.state, TrainRequest.for_section("scaled")
    config = next(iter(state.configs.values()))
    width, task = head_width(config), config.task_as(DelayedCopyConfig)
    explanation(
        f"Two Transformers with one layer and one head of width {width} learn to write {task.longest} digits in "
        "reverse order. Their queries and keys are initialized with variance 1. They differ only in the division."
    )
    shown = request.session_with_results(session).state
    show_problems(request.problems)
    words = {name: each.words for name, each in state.variants.items()}
    draw_missing_runs(request, state.configs, lambda names: join_words([words[name] for name in names]))
    ends = finished_loss_curves(request.views(shown.configs))
    draw_earlier_note(request)
    if sentence := findings.training_verdict(width, ends.get("scaled"), ends.get("raw")):
        st.subheader(escape_markdown(sentence), anchor=False)
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.popover("Settings", icon=":material/tune:"):
            comparison_settings.draw_training_settings(session)
        draw_train_controls(request, state.configs)
    draw_learning_chart(
        "scaled-race",
        request,
        state.configs,
        partial(_training_panels, state),
        f"{describe_line(state.seeds)} “Learned”: loss below {LEARNED_LOSS} nats.",
        height=HEIGHT,
        narrow_height=NARROW,
        columns=2,
    )
    if text := findings.training_text(ends.get("scaled"), ends.get("raw")):
        explanation(escape_markdown(text))


def head_width(config: RunConfig) -> int:
    """Return d_k of the run's heads."""
    model = config.model
    return int(model.width // model.heads)  # type: ignore[attr-defined]  # all compared models are Transformers


def _training_panels(state: ScaledAttentionState, views: Mapping[str, RunView]) -> list[Panel]:
    curves_by_variant = curves_of_variants(state.variants, views)
    return [_training_panel(metric, curves_by_variant, last_step(views)) for metric in _METRICS]


@cached()
def _training_panel(metric: str, curves_by_variant: VariantCurves, last: int) -> Panel:
    """Draw one metric of all runs by step; cached for all visitors who look at the same runs."""
    lines = metric_lines(curves_by_variant, metric)
    title, top = _METRICS[metric]
    top = max(top, highest_value(lines) * 1.05) if metric == "loss" else top
    mark = (LEARNED_LOSS, f"learned: {LEARNED_LOSS}", "--soft") if metric == "loss" else None
    figure = comparison_figure(lines, "step", (0.0, top), x_end=float(last), reference=mark, right_margin=100)
    return line_panel(f"scaled-{metric}", title, lines, figure)
