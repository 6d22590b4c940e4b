"""Evaluation on the training sequences: a model that has learned nothing general looks right there."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, partial

import streamlit as st

from explorer.catalogue import MODELS
from explorer.experiments.recall import NOTEBOOK_STEPS, notebook_configs
from explorer.figures.comparison import Line
from explorer.figures.recall import train_and_test_accuracy
from explorer.inspection.compare import metric_over_seeds
from explorer.labs.memory import findings
from explorer.training.record import Curves
from explorer.ui.components.plot_frame import Panel, value_tracks
from explorer.ui.page_sections import escape_markdown, explanation, show_problems
from explorer.ui.training.learning_chart import draw_learning_chart, last_step, step_axis
from explorer.ui.training.run_view import RunView
from explorer.ui.training.train_controls import TrainRequest, draw_train_controls, is_finished

_METRICS = {
    "train_accuracy": ("its own", "its own sequences", "6px,4px"),
    "accuracy": ("fresh", "fresh sequences", "solid"),
}


def section() -> None:
    """Draw the notebook's protocol: accuracy on the training sequences compared with new ones."""
    request, configs = TrainRequest.for_section("trap"), notebook_configs()
    views = request.views(configs)
    st.header("Ask what it has not seen", anchor=False)
    explanation(
        "A notebook that this page grew from draws 256 sequences of 50 symbols once, learns from all of them in every "
        f"step, and after {NOTEBOOK_STEPS} steps scores them: 0.68 for the RNN, 0.57 for the LSTM. Here is its "
        "protocol, for eight seeds and ten times as long, asked twice: about its own sequences, and about fresh ones."
    )
    finished = {model: view.result for model, view in views.items() if view.result is not None and is_finished(view)}
    for sentence in findings.train_set_findings(finished):
        st.subheader(escape_markdown(sentence), anchor=False)
    if finished:
        explanation(findings.notebook_caption(finished, NOTEBOOK_STEPS))
    show_problems(request.problems)
    draw_train_controls(request, configs)
    draw_learning_chart(
        "memory-trap",
        request,
        configs,
        _draw_panels,
        "Line: mean of eight seeds. Band: lowest to highest. Dashed line: guessing. Upright line: where the notebook "
        "stops.",
        axis=partial(step_axis, step=5.0),
        height=260,
        narrow_height=210,
        columns=2,
    )


def _draw_panels(views: Mapping[str, RunView]) -> list[Panel]:
    last = last_step(views)
    return [_panel(model, view.curves, last) for model, view in views.items()]


@lru_cache(maxsize=16)
def _panel(model: str, curves: Curves | None, last: int) -> Panel:
    row, lines = MODELS[model], []
    for name, (label, words, dash) in _METRICS.items():
        lines.append(Line(label, words, row.colour, dash, *metric_over_seeds(curves, name)))
    return Panel(
        f"trap-{model}",
        train_and_test_accuracy(lines, last, NOTEBOOK_STEPS),
        alt=f"{row.title}: accuracy on its own 256 sequences and on fresh ones, by step.",
        title=row.title,
        colour=row.colour,
        tracks=value_tracks([(words, row.colour) for _, words, _ in _METRICS.values()]),
    )
