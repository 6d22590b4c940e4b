"""One wide head that learns to reverse digits, with and without the division by √d_k."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import streamlit as st

from explorer.byte_cache import cached
from explorer.experiments.model_variant import ModelVariant
from explorer.figures.comparison import Line, comparison_figure, variant_line
from explorer.inspection.compare import median_and_range, metric_over_seeds
from explorer.inspection.steps_to_solve import LEARNED_LOSS
from explorer.labs.scaled_attention import findings
from explorer.labs.scaled_attention.state import ScaledAttentionState
from explorer.tasks.sequence_labelling.delayed_copy import DelayedCopyConfig
from explorer.training.config import RunConfig
from explorer.training.record import Curves
from explorer.ui.components.plot_frame import Panel, value_tracks
from explorer.ui.page_sections import escape_markdown, explanation, show_problems
from explorer.ui.state.session import PageSession
from explorer.ui.training import comparison_settings
from explorer.ui.training.learning_chart import draw_learning_chart, last_step
from explorer.ui.training.run_view import RunView
from explorer.ui.training.steps_to_solve import finished_loss_curves
from explorer.ui.training.train_controls import TrainRequest, draw_earlier_note, draw_missing_runs, draw_train_controls
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
    curves_by_variant = tuple((state.variants[name], view.curves) for name, view in views.items())
    return [_training_panel(metric, curves_by_variant, last_step(views)) for metric in _METRICS]


@cached()
def _training_panel(metric: str, curves_by_variant: tuple[tuple[ModelVariant, Curves | None], ...], last: int) -> Panel:
    """Draw one metric of all runs by step; cached for all visitors who look at the same runs."""
    lines: list[Line] = [
        variant_line(variant, *metric_over_seeds(curves, metric, median_and_range))
        for variant, curves in curves_by_variant
    ]
    title, top = _METRICS[metric]
    ends = join_words([f"{line.title} {line.mean[-1]:.2f}" for line in lines if len(line.mean)])
    highest = max((float(np.nanmax(line.high)) for line in lines if len(line.high)), default=0.0)
    top = max(top, highest * 1.05) if metric == "loss" else top
    mark = (LEARNED_LOSS, f"learned: {LEARNED_LOSS}", "--soft") if metric == "loss" else None
    figure = comparison_figure(lines, "step", (0.0, top), x_end=float(last), reference=mark, right_margin=100)
    return Panel(
        f"scaled-{metric}",
        figure,
        alt=f"{title}, by step; at the end {ends or 'nothing yet'}.",
        title=title,
        tracks=value_tracks([(line.label, line.colour) for line in lines]),
    )
