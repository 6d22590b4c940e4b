"""One wide head that learns to reverse digits, with and without the division by √d_k."""

from __future__ import annotations

import streamlit as st

from explorer import charts, ui
from explorer.inspection.steps_to_solve import LEARNED_LOSS
from explorer.labs.scaled_attention import findings
from explorer.labs.scaled_attention.state import ScaledAttentionState
from explorer.tasks.sequence_labelling.delayed_copy import DelayedCopyConfig
from explorer.training.config import RunConfig
from explorer.ui.training import comparison_settings
from explorer.ui.training.steps_to_solve import finished_loss_curves
from explorer.ui.wording import describe_line, join_words

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
    words = {name: each.words for name, each in state.variants.items()}
    ui.draw_missing_runs(request, state.configs, lambda names: join_words([words[name] for name in names]))
    ends = finished_loss_curves(request.views(shown.configs))
    ui.draw_earlier_note(request)
    ui.headline(findings.training_verdict(width, ends.get("scaled"), ends.get("raw")))
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.popover("Settings", icon=":material/tune:"):
            comparison_settings.draw_training_settings(session)
        ui.draw_train_controls(request, state.configs)
    ui.draw_learning_chart(
        "scaled-race",
        request,
        state.configs,
        ui.curve_panels(_METRICS, state.variants),
        f"{describe_line(state.seeds)} “Learned”: loss below {LEARNED_LOSS} nats.",
        height=300,
        narrow_height=220,
        columns=2,
    )
    ui.paragraph(findings.training_text(ends.get("scaled"), ends.get("raw")))


def head_width(config: RunConfig) -> int:
    """Return d_k of the run's heads."""
    model = config.model
    return int(model.width // model.heads)  # type: ignore[attr-defined]  # all compared models are Transformers
