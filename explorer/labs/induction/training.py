"""The loss on the second copy and the scores of heads over training."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.byte_cache import cached
from explorer.figures.comparison import comparison_figure
from explorer.inspection.compare import first_crossing, metric_curve
from explorer.labs.induction import findings
from explorer.labs.induction.state import InductionState
from explorer.tasks.sequence_labelling.induction import InductionConfig
from explorer.ui.components.plot_frame import Panel
from explorer.ui.components.table import column, draw_table
from explorer.ui.page_sections import escape_markdown, explanation
from explorer.ui.training.learning_chart import draw_learning_chart, last_step
from explorer.ui.training.run_view import RunView
from explorer.ui.training.train_controls import TrainRequest, is_finished
from explorer.ui.training.variant_charts import (
    VariantCurves,
    curves_of_variants,
    highest_value,
    line_panel,
    metric_lines,
)

_METRICS = {
    "second_copy_loss": "Loss, second copy (nats)",
    "previous_score": "Previous-token score",
    "induction_score": "Induction score",
}
_EVENTS = {  # metric, value, and whether the metric rises to it
    f"previous-token {findings.PREVIOUS_SCORE}": ("previous_score", findings.PREVIOUS_SCORE, True),
    f"induction {findings.INDUCTION_SCORE}": ("induction_score", findings.INDUCTION_SCORE, True),
    f"loss {findings.SOLVED_LOSS} nats": ("second_copy_loss", findings.SOLVED_LOSS, False),
}


def loss_finding(state: InductionState, views: Mapping[str, RunView]) -> str:
    """Return the finding of the page, from the finished runs; empty without one."""
    return findings.loss_finding(_final_losses(state, views))


def loss_text(state: InductionState, views: Mapping[str, RunView]) -> str:
    """Return the loss of each model with its range; empty without a finished run."""
    return findings.loss_text(_final_losses(state, views))


def _final_losses(state: InductionState, views: Mapping[str, RunView]) -> dict[str, Float[ndarray, " seeds"]]:
    return {
        state.variants[name].words: view.result.last("second_copy_loss")
        for name, view in views.items()
        if is_finished(view) and view.result is not None
    }


def training_section(state: InductionState, request: TrainRequest) -> None:
    """Draw the loss and the highest scores of any head by step."""
    task = next(iter(state.configs.values())).task_as(InductionConfig)
    draw_learning_chart(
        "induction-training",
        request,
        state.configs,
        partial(_panels, state, task),
        "Measured on new rows. Previous-token score: share of attention to the token before. Induction score: share of "
        "attention, in the second copy, to the token after the earlier occurrence. Each is that of the best head. "
        f"Horizontal line: the loss of a guess among the symbols of the row, {task.known_symbols_loss:.2f} nats. Line: "
        "median of the seeds, band: lowest to highest.",
        height=200,
        narrow_height=210,
        columns=len(_METRICS),
    )


def moments_section(state: InductionState, views: Mapping[str, RunView]) -> None:
    """Draw at which step each seed passes a score or a loss, and write how the models differ."""
    finished = {name: view for name, view in views.items() if is_finished(view) and view.result is not None}
    if not finished:
        return
    moments = {name: _moments(view) for name, view in finished.items()}
    sentences = [findings.moment_finding(state.variants[name].words, *steps) for name, steps in moments.items()]
    if text := " ".join(filter(None, sentences)):
        explanation(escape_markdown(text))
    learned = {name: steps for name, steps in moments.items() if np.isfinite(steps).any()}
    rows = [
        _moment_row(
            event if len(learned) == 1 else f"{state.variants[name].label}: {event}", finished[name].row.colour, steps
        )
        for name in learned
        for event, steps in zip(_EVENTS, learned[name], strict=True)
        if np.isfinite(steps).any()
    ]
    columns = [
        column("event", "score or loss"),
        column("step", "first step", "strip", range=[0, last_step(finished)]),
    ]
    if rows:
        label = "Steps at which the scores rise and the loss falls"
        caption = "Median of the seeds that reach it, and a dot for each; interpolated between two evaluations."
        draw_table(columns, rows, key="induction-moments", label=label, caption=caption)
    if text := findings.comparison_text(_final_losses(state, views)):
        explanation(escape_markdown(text))


def _moments(view: RunView) -> tuple[Float[ndarray, " seeds"], ...]:
    """Return the step at which each seed reaches each of the _EVENTS; NaN where it does not."""
    assert view.result is not None
    return tuple(
        first_crossing(metric_curve(view.result, view.config, metric, "step"), target, rising)
        for metric, target, rising in _EVENTS.values()
    )


def _moment_row(event: str, colour: str, steps: Float[ndarray, " seeds"]) -> dict[str, object]:
    reached = steps[np.isfinite(steps)]
    seeds = "" if len(reached) == len(steps) else f" ({len(reached)} of {len(steps)} seeds)"
    values = [round(float(step)) for step in reached]
    return {
        "event": {"text": f"{event}{seeds}", "colour": colour},
        "step": {"text": f"{np.median(reached):.0f}", "values": values, "mark": None},
    }


def _panels(state: InductionState, task: InductionConfig, views: Mapping[str, RunView]) -> list[Panel]:
    curves = curves_of_variants(state.variants, views)
    return [_panel(metric, task, curves, last_step(views)) for metric in _METRICS]


@cached()
def _panel(metric: str, task: InductionConfig, curves_by_variant: VariantCurves, last: int) -> Panel:
    lines = metric_lines(curves_by_variant, metric)
    is_loss = metric == "second_copy_loss"
    figure = comparison_figure(
        lines,
        "step",
        (0.0, max(1.1 * task.chance_loss, 1.02 * highest_value(lines)) if is_loss else 1.04),
        x_end=float(last),
        reference=(task.known_symbols_loss, f"{task.known_symbols_loss:.2f}", "--soft") if is_loss else None,
        right_margin=92,
    )
    title = _METRICS[metric]
    return line_panel(f"induction-{metric}", title, lines, figure, f"{title} by step")
