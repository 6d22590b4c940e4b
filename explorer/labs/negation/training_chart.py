"""The learning curves of the negation page, during and after training."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from inspect import unwrap
from typing import TypeAlias

import numpy as np
import streamlit as st

from explorer import charts, ui
from explorer.byte_cache import cached
from explorer.catalogue import MODELS, model_row, models_of
from explorer.inspection.compare import downsample, median_and_range
from explorer.labs.negation.results_tables import readout_ceiling
from explorer.labs.negation.session import NegationSession
from explorer.labs.negation.state import NegationLab
from explorer.training.config import RunConfig, key
from explorer.training.record import Curves
from explorer.ui.state.widgets import draw_choice, setting_widget
from explorer.ui.training.learning_chart import epoch_axis
from explorer.ui.wording import count_seeds

Runs: TypeAlias = tuple[tuple[RunConfig, Curves | None], ...]  # can be a cache key
_METRICS = {"exact_accuracy": "accuracy", "test_accuracy": "accuracy on held-out sentences", "train_loss": "loss"}


def training_section(session: NegationSession) -> None:
    """Draw the learning curves of all models, with the settings and the Train button."""
    lab = session.experiment
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.header("How do the models learn it?", anchor=False)
        with st.container(horizontal=True, width="content", vertical_alignment="center"):
            ui.bind_widget(session, "metric", st.segmented_control, label_visibility="collapsed")
            with st.popover("Settings", icon=":material/tune:"):
                _training_settings(session)
            ui.draw_train_controls(
                ui.TrainRequest.for_section(lab.TASK),
                lab.configs,
                next_seed=session.next_seed_configs,
                keys=("train", "stop"),
            )
    _learning_curves(session)


def _training_settings(session: NegationSession) -> None:
    """Draw the choice of the models, the seeds and the settings of each model."""
    titles = {model: MODELS[model].title for model in models_of("negation")}
    ui.bind_widget(session, "models", st.pills, selection_mode="multi")
    for name in ("replicas", "seed", "batch_size"):
        setting_widget(session, name, section="race")
    model = draw_choice(st.selectbox, "Settings of one model", titles, key="settings-of")
    for name in NegationLab.own_settings(model):
        setting_widget(session, name, model=model, section="race")
    if session.state != session.state.reset():
        ui.reset_button(session)


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
    ui.draw_learning_chart(
        "negation-race",
        ui.TrainRequest.for_section(lab.TASK),
        lab.configs,
        partial(_panels, lab),
        band + what,
        run=".".join(key(config) for config in lab.configs.values()),
        axis=epoch_axis,
        height=180,
        columns=3,
        narrow_height=160,
    )


def _panels(lab: NegationLab, views: Mapping[str, ui.RunView]) -> list[ui.Panel]:
    accuracy = lab.metric == "accuracy"
    ceiling = readout_ceiling(lab) if accuracy and not lab.has_file else None
    private = any(view.config.own_text for view in views.values())  # a cache would outlive the visit
    runs = tuple((view.config, view.curves) for view in views.values())
    return list(
        (unwrap(_draw_panels) if private else _draw_panels)(runs, lab.accuracy if accuracy else "train_loss", ceiling)
    )


@cached()
def _draw_panels(runs: Runs, metric: str, ceiling: float | None) -> tuple[ui.Panel, ...]:
    """Return the curve of each model on one axis, drawn once for all visitors who follow the same training.

    ceiling: of a sum of word weights, if the metric is an exact accuracy
    """
    x = charts.Axis("epoch", (0, max(config.epochs for config, _ in runs)), ticks=4)
    values = [curves.metrics[metric] for _, curves in runs if curves and len(curves.metrics[metric])]
    if metric == "train_loss":
        span = (0.0, 1.05 * max((float(each.max()) for each in values), default=0.7))
    else:
        lowest = min((float(each.min()) for each in values), default=0.5)
        span = (min(0.42, lowest - 0.02), 1.03)
    y = charts.Axis(span=span, ticks=4)
    panels = []
    for i, (config, curves) in enumerate(runs):
        rules = [] if ceiling is None else [charts.level(ceiling, "" if i else "ceiling", right=True)]
        panels.append(_panel(config, curves, metric, x, y, rules))
    return tuple(panels)


def _panel(
    config: RunConfig, curves: Curves | None, metric: str, x: charts.Axis, y: charts.Axis, rules: list[charts.Rule]
) -> ui.Panel:
    row, epochs, spread = model_row(config.model), np.zeros(0), np.zeros((0, 3))
    if curves is not None:
        spread = median_and_range(curves.metrics[metric])
        kept = downsample(spread, max_points=150)  # of small multiples
        epochs = curves.axis_values("epoch", curves.evaluated, config.steps_per_epoch)[kept]
        spread = spread[kept]
    line = charts.Line(row.title, row.title, row.colour, row.dash, epochs, spread)
    subject = f"{_METRICS[metric].capitalize()} by epoch"
    return ui.Panel(
        f"{row.name}-{metric}",
        charts.LineChart(subject, [line], x, y, rules, labels="none", digits=3),
        title=row.title,
        colour=row.colour,
        value=f"{spread[-1, 0]:.3f}" if len(spread) else "–",
        reads_in_title=True,
    )
