"""The loss on the second copy and the scores of heads over training."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer import charts, ui
from explorer.inspection.compare import first_crossing, metric_curve
from explorer.labs.induction import findings
from explorer.labs.induction.state import InductionState
from explorer.tasks.sequence_labelling.induction import InductionConfig
from explorer.training.record import Curves

_EVENTS = {  # metric, value, and whether the metric rises to it
    f"previous-token {findings.PREVIOUS_SCORE}": ("previous_score", findings.PREVIOUS_SCORE, True),
    f"induction {findings.INDUCTION_SCORE}": ("induction_score", findings.INDUCTION_SCORE, True),
    f"loss {findings.SOLVED_LOSS} nats": ("second_copy_loss", findings.SOLVED_LOSS, False),
}


def final_values(
    state: InductionState, views: Mapping[str, ui.RunView], metric: str
) -> dict[str, Float[ndarray, " seeds"]]:
    """Return the last values of a metric of the finished runs, by the words for their models."""
    return {state.variants[name].words: curves.last(metric) for name, curves in _finished_curves(views).items()}


def _finished_curves(views: Mapping[str, ui.RunView]) -> dict[str, Curves]:
    return {name: view.result for name, view in views.items() if view.result is not None and ui.is_finished(view)}


def training_section(state: InductionState, request: ui.TrainRequest) -> None:
    """Draw the loss and the highest scores of any head by step."""
    task = next(iter(state.configs.values())).task_as(InductionConfig)
    ui.draw_learning_chart(
        "induction-training",
        request,
        state.configs,
        ui.curve_panels(_metrics(task), state.variants),
        "Measured on new rows. Previous-token score: share of attention to the token before. Induction score: share of "
        "attention, in the second copy, to the token after the earlier occurrence. Each is that of the best head. "
        f"Horizontal lines: the loss of a guess among the symbols of the row, {task.known_symbols_loss:.2f} nats, and "
        f"the lowest loss of a model that goes by the position alone, {task.position_loss:.2f} nats. Line: median of "
        "the seeds, band: lowest to highest.",
        height=200,
        narrow_height=210,
        columns=3,
    )


@cache
def _metrics(task: InductionConfig) -> tuple[ui.Metric, ...]:
    share = charts.Axis(span=(0.0, 1.04))
    span = charts.Axis(span=(0.0, 1.1 * math.log(task.symbols)))
    return (
        ui.Metric(
            "second_copy_loss",
            "Loss, second copy (nats)",
            span,
            [charts.level(loss, f"{loss:.2f}") for loss in (task.known_symbols_loss, task.position_loss)],
            headroom=1.02,
            margin=92,
        ),
        ui.Metric("previous_score", "Previous-token score", share, margin=92),
        ui.Metric("induction_score", "Induction score", share, margin=92),
    )


def moments_view(document: ui.Document, state: InductionState, views: Mapping[str, ui.RunView]) -> None:
    """Write at which step each seed of the finished runs passes a score or a loss, and how the models differ."""
    moments = {
        name: [
            first_crossing(metric_curve(curves, views[name].config, metric, "step"), target, rising)
            for metric, target, rising in _EVENTS.values()
        ]
        for name, curves in _finished_curves(views).items()
    }
    sentences = [findings.moment_finding(state.variants[name].words, *steps) for name, steps in moments.items()]
    document.text(" ".join(filter(None, sentences)))
    learned = {name: steps for name, steps in moments.items() if np.isfinite(steps).any()}
    rows: list[charts.Row] = []
    for name, event, steps in ((n, e, s) for n in learned for e, s in zip(_EVENTS, learned[n], strict=True)):
        if len(reached := steps[np.isfinite(steps)]):
            model = f"{state.variants[name].label}: " * (len(learned) > 1)
            seeds = f" ({len(reached)} of {len(steps)} seeds)" * (len(reached) < len(steps))
            cell = charts.Cell(f"{model}{event}{seeds}", views[name].row.colour)
            rows.append({"event": cell, "step": charts.strip(f"{np.median(reached):.0f}", reached.round())})
    if rows:
        last = float(ui.last_step({name: views[name] for name in moments}))
        columns = {
            "event": charts.Column("score or loss"),
            "step": charts.Column("first step", "strip", range=(0.0, last)),
        }
        label = "Steps at which the scores rise and the loss falls"
        caption = "Median of the seeds that reach it, and a dot for each; interpolated between two evaluations."
        document.table("induction-moments", charts.Table(columns, rows, label, caption))
    document.text(findings.comparison_text(final_values(state, views, "second_copy_loss")) if moments else "")
