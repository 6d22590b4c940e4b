"""The learning curves of the negation page, during and after training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from inspect import unwrap

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer.byte_cache import cached
from explorer.catalogue import MODELS, model_row, models_of
from explorer.figures.runs.learning_curves import HIGH, LOW, MEDIAN, learning_curve
from explorer.inspection.compare import downsample
from explorer.labs.negation.results_tables import readout_ceiling
from explorer.labs.negation.session import NegationSession
from explorer.labs.negation.state import NegationLab
from explorer.training.config import RunConfig, key
from explorer.training.record import Curves
from explorer.ui.components.plot_frame import Panel
from explorer.ui.state.widgets import bind_widget, draw_choice, reset_button, setting_widget
from explorer.ui.training.learning_chart import draw_learning_chart, epoch_axis
from explorer.ui.training.run_view import RunView
from explorer.ui.training.train_controls import TrainRequest, draw_train_controls
from explorer.ui.wording import count_seeds


def training_section(session: NegationSession) -> None:
    """Draw the learning curves of all models, with the settings and the Train button."""
    lab = session.experiment
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.header("How do the models learn it?", anchor=False)
        with st.container(horizontal=True, width="content", vertical_alignment="center"):
            bind_widget(session, "metric", st.segmented_control, label_visibility="collapsed")
            with st.popover("Settings", icon=":material/tune:"):
                _training_settings(session)
            draw_train_controls(
                TrainRequest.for_section(lab.TASK),
                lab.configs,
                next_seed=session.next_seed_configs,
                keys=("train", "stop"),
            )
    _learning_curves(session)


def _training_settings(session: NegationSession) -> None:
    """Draw the choice of the models, the seeds and the settings of each model."""
    titles = {model: MODELS[model].title for model in models_of("negation")}
    bind_widget(session, "models", st.pills, selection_mode="multi")
    for name in ("replicas", "seed", "batch_size"):
        setting_widget(session, name, section="race")
    model = draw_choice(st.selectbox, "Settings of one model", titles, key="settings-of")
    for name in NegationLab.own_settings(model):
        setting_widget(session, name, model=model, section="race")
    if session.state != session.state.reset():
        reset_button(session)


def _learning_curves(session: NegationSession) -> None:
    """Draw the curves; during training the browser polls for new ones."""
    lab = session.experiment
    many = lab.value("replicas") > 1
    band = (
        f"Line: median of {count_seeds(lab.value('replicas'))}. Band: lowest to highest seed. "
        if many
        else "Line: one seed. "
    )
    best = readout_ceiling(lab)
    if lab.metric != "accuracy":
        what = "Cross-entropy over all training sentences, in nats."
    elif lab.has_file:
        what = f"Accuracy on the {len(session.data.sample('test', 0)):,} held-out sentences, which training never sees."
    else:
        what = (
            f"Exact accuracy: over all sentences, weighted by their probability. Dashed: the ceiling of a sum of word "
            f"weights, {best:.4f}."
        )
    draw_learning_chart(
        "negation-race",
        TrainRequest.for_section(lab.TASK),
        lab.configs,
        partial(_panels, lab),
        band + what,
        run=".".join(key(config) for config in lab.configs.values()),
        axis=epoch_axis,
        height=180,
        columns=3,
        narrow_height=160,
    )


def _panels(lab: NegationLab, views: Mapping[str, RunView]) -> list[Panel]:
    best = readout_ceiling(lab)
    last_epoch = max(view.config.epochs for view in views.values())
    accuracy = lab.metric == "accuracy"
    metric = lab.accuracy if accuracy else "train_loss"
    span = _axis_range([view.curves.metrics[metric] for view in views.values() if view.curves], accuracy)
    has_mark = accuracy and not lab.has_file
    marks = [(best, "ceiling" if i == 0 else "") if has_mark else None for i in range(len(views))]
    return [
        # The cache would keep the curves of a private run after the visit.
        (unwrap(_panel) if view.config.own_text else _panel)(view.curves, view.config, metric, last_epoch, span, mark)
        for view, mark in zip(views.values(), marks, strict=True)
    ]


_METRICS = {"exact_accuracy": "accuracy", "test_accuracy": "accuracy on held-out sentences", "train_loss": "loss"}


@cached()
def _panel(
    curves: Curves | None,
    config: RunConfig,
    metric: str,
    last_epoch: int,
    span: tuple[float, float],
    mark: tuple[float, str] | None,
) -> Panel:
    """Return the curve of one model, drawn once for all visitors who follow the same training."""
    row = model_row(config.model)
    values, epochs = np.zeros((0, config.replicas)), np.zeros(0)
    if curves is not None:
        values = curves.metrics[metric]
        epochs = curves.axis_values("epoch", curves.evaluated, config.steps_per_epoch)
    spread = np.column_stack([np.median(values, axis=1), values.min(axis=1), values.max(axis=1)])
    kept = downsample(spread, max_points=150)  # of small multiples
    end = f"{np.median(values[-1]):.3f}" if len(values) else "–"
    return Panel(
        f"{row.name}-{metric}",
        learning_curve(epochs[kept], values[kept], row.title, row.colour, row.dash, last_epoch, span, mark),
        alt=f"{row.title}: {_METRICS[metric]} over epochs, at the end {end} (median over the seeds).",
        title=row.title,
        colour=row.colour,
        value=end,
        track=(MEDIAN, LOW, HIGH),
    )


def _axis_range(curves: Sequence[Float[ndarray, "_ replicas"]], accuracy: bool) -> tuple[float, float]:
    """Return one range of the y axis for all models, constant over the epochs."""
    if accuracy:
        lowest = min((float(values.min()) for values in curves if len(values)), default=0.5)
        return (min(0.42, lowest - 0.02) if lowest < 0.5 else 0.42), 1.03
    return 0.0, max((float(values.max()) for values in curves if len(values)), default=0.7) * 1.05
