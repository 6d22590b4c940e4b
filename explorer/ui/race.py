"""The race of the negation lab: its curves, while they grow and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer.catalogue import model_row, models_of
from explorer.figures.race import HIGH, LOW, MEAN, learning_curve
from explorer.inspection.comparing import thinned
from explorer.tasks.ceiling import ceiling
from explorer.tasks.negation import Negation
from explorer.training.config import RunConfig, key
from explorer.training.record import Curves
from explorer.ui import runs, training_controls
from explorer.ui.components import Panel, Playback
from explorer.ui.findings import seeds
from explorer.ui.negation_lab import NegationLab
from explorer.ui.runs import Lane
from explorer.ui.session import NegationSession

_LABELS = {
    "width": "Width of the embeddings",
    "hidden": "Hidden units",
    "window": "Window, in tokens",
    "heads": "Heads",
    "layers": "Layers",
    "start": "Start of the embeddings (standard deviation)",
    "epochs": "Epochs",
    "learning_rate": "Learning rate",
}
OWN_LABELS = {
    model: {name: _LABELS[name] for name in NegationLab.own_settings(model)} for model in models_of("negation")
}


def live_panel(session: NegationSession) -> None:
    """The curves; while a training runs the browser asks for them twice a second."""
    lab, races = session.lab, session.races
    lanes = runs.lanes(lab.configs, session.raced)
    training_controls.live_frame(
        "negation-race",
        lab.configs,
        session.raced,
        lanes,
        lambda now: _picture(lab, now, races),
        height=220,
        narrow_height=160,
    )
    many = lab.value("replicas") > 1
    band = (
        f"Line: mean of {seeds(lab.value('replicas'))}. Band: lowest to highest seed. " if many else "Line: one seed. "
    )
    what = (
        f"{lab.task.test_size:,} test sentences a seed. Dashed: the best any counting model can do on endless text, "
        f"{ceiling(Negation(lab.task).sentences):.4f}; a sampled test set may land above it by luck."
        if lab.metric == "accuracy"
        else "Cross-entropy over all training sentences, in nats."
    )
    st.caption(f"{training_controls.outcome(lanes)} {band}{what}")


def _picture(lab: NegationLab, lanes: Mapping[str, Lane], races: int) -> tuple[list[Panel], Playback]:
    best = ceiling(Negation(lab.task).sentences)
    last_epoch = max(lane.config.epochs for lane in lanes.values())
    accuracy = lab.metric == "accuracy"
    metric = "test_accuracy" if accuracy else "train_loss"
    known = {model: lane.curves.metrics[metric] for model, lane in lanes.items() if lane.curves}
    span = _span(list(known.values()), accuracy)
    marks = [(best, "ceiling" if i == 0 else "") if accuracy else None for i in range(len(lanes))]
    panels = [
        _panel(lane.curves, lane.config, lab.metric, last_epoch, span, mark)
        for lane, mark in zip(lanes.values(), marks, strict=True)
    ]
    return panels, _playback(races, lanes, last_epoch)


@lru_cache(maxsize=256)
def _panel(
    curves: Curves | None,
    config: RunConfig,
    metric: str,
    last_epoch: int,
    span: tuple[float, float],
    mark: tuple[float, str] | None,
) -> Panel:
    """One model's curve: drawn once for all visitors who follow the same training."""
    row = model_row(config.model)
    measure = "test_accuracy" if metric == "accuracy" else "train_loss"
    values, epochs = np.zeros((0, config.replicas)), np.zeros(0)
    if curves is not None:
        values = curves.metrics[measure]
        epochs = curves.along("epoch", curves.evaluated, config.steps_per_epoch)
    spread = np.column_stack([values.mean(axis=1), values.min(axis=1), values.max(axis=1)])
    kept = thinned(spread, most=150)  # of small multiples
    end = f"{values[-1].mean():.3f}" if len(values) else "–"
    return Panel(
        f"{row.name}-{measure}",
        learning_curve(epochs[kept], values[kept], row.title, row.colour, row.dash, last_epoch, span, mark),
        alt=f"{row.title}: {metric} over epochs, at the end {end} on average.",
        title=row.title,
        colour=row.colour,
        value=end,
        track=(MEAN, LOW, HIGH),
    )


def _playback(races: int, lanes: Mapping[str, Lane], last_epoch: int) -> Playback:
    reached = max((int(lane.epochs[-1]) for lane in lanes.values() if len(lane.epochs)), default=0)
    runs_shown = ".".join(key(lane.config) for lane in lanes.values())
    return training_controls.playback(lanes, races, runs_shown, last_epoch, reached)


def _span(curves: Sequence[Float[ndarray, "_ replicas"]], accuracy: bool) -> tuple[float, float]:
    """One axis for all models, the same from the first epoch to the last."""
    if accuracy:
        lowest = min((float(values.min()) for values in curves if len(values)), default=0.5)
        return (min(0.42, lowest - 0.02) if lowest < 0.5 else 0.42), 1.03
    return 0.0, max((float(values.max()) for values in curves if len(values)), default=0.7) * 1.05
