"""Evaluation on the training sequences: a model that has learned nothing general looks right there."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import streamlit as st

from explorer import charts, ui
from explorer.byte_cache import cached
from explorer.catalogue import MODELS
from explorer.experiments.recall import NOTEBOOK_STEPS, notebook_configs
from explorer.inspection.compare import median_and_range, metric_over_seeds
from explorer.labs.memory import findings, string_model, training_chart
from explorer.labs.memory.state import MemoryState
from explorer.training.record import Curves
from explorer.ui.training.learning_chart import step_axis

_METRICS = {
    "train_accuracy": ("training", "training sequences", "6px,4px"),
    "accuracy": ("new", "new sequences", "solid"),
}


def section() -> None:
    """Draw the accuracy on the training sequences compared with new ones."""
    request, configs = ui.TrainRequest.for_section("trap"), notebook_configs()
    views = request.views(configs)
    finished = {model: view.result for model, view in views.items() if view.result is not None and ui.is_finished(view)}
    if finding := findings.train_set_finding(finished):
        ui.explanation(f"**{ui.escape_markdown(finding)}**")
    ui.explanation(
        "Both networks train on the same 256 sequences of 50 symbols in every step. Accuracy on the training sequences "
        "alone would look like success."
    )
    ui.show_problems(request.problems)
    ui.draw_train_controls(request, configs)
    ui.draw_learning_chart(
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


def _draw_panels(views: Mapping[str, ui.RunView]) -> list[ui.Panel]:
    last = ui.last_step(views)
    return [_panel(model, view.curves, last) for model, view in views.items()]


@cached()
def _panel(model: str, curves: Curves | None, last: int) -> ui.Panel:
    row, lines = MODELS[model], []
    for name, (label, words, dash) in _METRICS.items():
        x, *values = metric_over_seeds(curves, name, median_and_range)
        lines.append(charts.Line(label, words, row.colour, dash, x, np.stack(values, axis=1), name=words))
    subject, marks = f"{row.title}, accuracy by step", [charts.limit(NOTEBOOK_STEPS)]
    chart = training_chart.accuracy_chart(subject, lines, training_chart.step_axis(last), 0.5, marks)
    return ui.Panel(f"trap-{model}", chart, title=row.title, colour=row.colour)


def small_data_section(session: ui.PageSession[MemoryState]) -> None:
    """Draw both experiments."""
    st.subheader("A language model of one string", anchor=False)
    string_model.section(session)
    st.subheader("Accuracy on the training sequences and on new ones", anchor=False)
    section()
