"""Evaluation on the training sequences: a model that has learned nothing general looks right there."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import streamlit as st

from explorer.byte_cache import cached
from explorer.catalogue import MODELS
from explorer.experiments.recall import NOTEBOOK_STEPS, notebook_configs
from explorer.figures.comparison import Line
from explorer.figures.recurrent.recall import train_and_test_accuracy
from explorer.inspection.compare import median_and_range, metric_over_seeds
from explorer.labs.memory import findings, string_model
from explorer.labs.memory.state import MemoryState
from explorer.training.record import Curves
from explorer.ui.components.plot_frame import Panel, value_tracks
from explorer.ui.page_sections import escape_markdown, explanation, show_problems
from explorer.ui.state.session import PageSession
from explorer.ui.training.learning_chart import draw_learning_chart, last_step, step_axis
from explorer.ui.training.run_view import RunView
from explorer.ui.training.train_controls import TrainRequest, draw_train_controls, is_finished

_METRICS = {
    "train_accuracy": ("training", "training sequences", "6px,4px"),
    "accuracy": ("new", "new sequences", "solid"),
}


def section() -> None:
    """Draw the accuracy on the training sequences compared with new ones."""
    request, configs = TrainRequest.for_section("trap"), notebook_configs()
    views = request.views(configs)
    finished = {model: view.result for model, view in views.items() if view.result is not None and is_finished(view)}
    if finding := findings.train_set_finding(finished):
        explanation(f"**{escape_markdown(finding)}**")
    explanation(
        "Both networks train on the same 256 sequences of 50 symbols in every step. Accuracy on the training sequences "
        "alone would look like success."
    )
    show_problems(request.problems)
    draw_train_controls(request, configs)
    draw_learning_chart(
        "memory-trap",
        request,
        configs,
        _draw_panels,
        f"Line: median of eight seeds. Band: lowest to highest seed. Dashed line: guessing. Vertical line: step "
        f"{NOTEBOOK_STEPS}. {findings.train_set_caption(finished)}".strip(),
        axis=partial(step_axis, step=5.0),
        height=260,
        narrow_height=210,
        columns=2,
    )


def _draw_panels(views: Mapping[str, RunView]) -> list[Panel]:
    last = last_step(views)
    return [_panel(model, view.curves, last) for model, view in views.items()]


@cached()
def _panel(model: str, curves: Curves | None, last: int) -> Panel:
    row, lines = MODELS[model], []
    for name, (label, words, dash) in _METRICS.items():
        values = metric_over_seeds(curves, name, median_and_range)
        lines.append(Line(label, words, row.colour, dash, *values, statistic="median"))
    return Panel(
        f"trap-{model}",
        train_and_test_accuracy(lines, last, NOTEBOOK_STEPS),
        alt=f"{row.title}: accuracy on its 256 training sequences and on new ones, by step.",
        title=row.title,
        colour=row.colour,
        tracks=value_tracks([(words, row.colour) for _, words, _ in _METRICS.values()]),
    )


def small_data_section(session: PageSession[MemoryState]) -> None:
    """Draw both experiments."""
    st.subheader("A language model of one string", anchor=False)
    string_model.section(session)
    st.subheader("Accuracy on the training sequences and on new ones", anchor=False)
    section()
