"""Figures and tables of a paper experiment: final losses, curves and every number."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.byte_cache import cached
from explorer.catalogue import MODELS
from explorer.experiments.paper_experiments import UNIFORM_BITS, Experiment, ExperimentPanel, Trial
from explorer.figures.comparison import Line as Curve
from explorer.figures.runs.experiments import FinalValues, final_values_figure, low_comparison_figure
from explorer.inspection.compare import downsample, median_and_range
from explorer.labs.text import experiment_findings as findings
from explorer.labs.text.experiment_findings import Outcome
from explorer.training.record import Curves
from explorer.ui.components.plot_frame import Panel, value_tracks
from explorer.ui.components.table import column, draw_table
from explorer.ui.training.run_view import RunView
from explorer.ui.wording import join_words

_MAX_BITS = UNIFORM_BITS + 0.4  # bits a character: who ends above stands on the edge of the figure
_DASHES = ("6px,4px", "solid")  # without, with
MEASURES = {"bits": "held-out text", "gradient": "gradient norm"}


def end_panels(experiment: Experiment, outcomes: Mapping[str, Outcome]) -> list[Panel]:
    """Return a panel of final losses for each panel of the experiment, on one axis."""
    row = MODELS[experiment.model]
    every = np.concatenate([each.bits for each in outcomes.values()]) if outcomes else np.zeros(0)
    every = every[np.isfinite(every)]
    low = float(every.min()) if len(every) else 3.0
    high = min(float(every.max()), _MAX_BITS) if len(every) else _MAX_BITS
    if not outcomes or any(not each.is_finite for each in outcomes.values()):
        high = max(high, low + 0.5)
    room = 0.06 * max(high - low, 0.1)
    panels = []
    for part in experiment.panels:
        lines = []
        for line, dash in zip(experiment.conditions, _dashes(len(experiment.conditions)), strict=True):
            known = findings.outcomes_by_value(experiment, part, line, outcomes)
            nothing = np.full(experiment.trials[0].config.replicas, np.nan)
            # What is not there yet is left out; what ended without numbers is infinitely far up.
            values = [
                nothing if value not in known else np.where(np.isfinite(known[value].bits), known[value].bits, np.inf)
                for value in part.values
            ]
            lines.append(FinalValues(line.label, line.words, row.colour, dash, np.array(values, float)))
        panels.append(
            Panel(
                f"ends-{part.name or experiment.name}",
                final_values_figure(
                    lines,
                    [f"{value:g}" for value in part.values],
                    experiment.axis,
                    (low - room, high + room),
                    (UNIFORM_BITS, "blind guessing"),
                ),
                alt=_alt_text(experiment, part, outcomes),
                title=part.title or row.title,
                colour=None if part.title else row.colour,
            )
        )
    return panels


def _alt_text(experiment: Experiment, part: ExperimentPanel, outcomes: Mapping[str, Outcome]) -> str:
    """Return the final losses as a sentence."""
    ends = [
        f"{line.words} {value:g}: {findings.describe_outcome(each)}"
        for line in experiment.conditions
        for value, each in findings.outcomes_by_value(experiment, part, line, outcomes).items()
    ]
    what = f"Bits per character at the end, by {experiment.axis}"
    return f"{what}, {part.title}. {'; '.join(ends)}." if part.title else f"{what}. {'; '.join(ends)}."


def _dashes(count: int) -> tuple[str, ...]:
    """Return the dashes of the conditions; runs of one model share its colour."""
    return ("solid",) if count == 1 else _DASHES[:count]


_VALUE_DASHES = ("1px,4px", "4px,4px", "9px,4px", "16px,4px", "solid")  # of the values of a setting, ascending


def curve_panels(experiment: Experiment, views: Mapping[str, RunView], measure: str) -> list[Panel]:
    """Return a panel of curves for each value of the setting; with one condition, one panel for all values."""
    scale = _make_axis([views[trial.name] for trial in experiment.trials], measure)
    if len(experiment.conditions) == 1:
        groups = [("", MODELS[experiment.model].title, list(experiment.trials))]
    else:
        groups = [
            (
                f"{part.name}-{value:g}",
                f"{part.title}, {value:g}" if part.title else f"Rate {value:g}",
                [trial for trial in experiment.trials if (trial.panel, trial.value) == (part, value)],
            )
            for part in experiment.panels
            for value in part.values
        ]
    return [
        _curve_panel(
            f"{experiment.name}-{measure}-{name}",
            title,
            tuple((trial, views[trial.name].curves) for trial in trials),
            measure,
            scale,
        )
        for name, title, trials in groups
    ]


@dataclass(frozen=True)
class _Axis:
    """The range of the y axis of all panels, and whether it is logarithmic."""

    span: tuple[float, float]
    log: bool


@cached()
def _curve_panel(
    name: str, title: str, trials: tuple[tuple[Trial, Curves | None], ...], measure: str, scale: _Axis
) -> Panel:
    """Return one panel, drawn once for all visitors who look at the same runs."""
    drawn_lines = []
    for index, (trial, found) in enumerate(trials):
        row = MODELS[trial.config.model_name]
        alone = not trial.condition.label
        label = f"{trial.value:g}" if alone else trial.condition.label
        words = f"a window of {trial.value:g}" if alone else trial.condition.words
        x, values = _values(found, measure)
        kept = downsample(values, max_points=150)
        drawn_lines.append(
            Curve(
                label,
                words,
                row.colour,
                _VALUE_DASHES[index % 5] if alone else _DASHES[index],
                x[kept],
                *values[kept].T,
            )
        )
    return Panel(
        name,
        low_comparison_figure(drawn_lines, "step", scale.span, float(trials[0][0].config.steps), scale.log),
        alt=f"{title}: {MEASURES[measure]} by step, {join_words([line.title for line in drawn_lines])}.",
        title=title,
        tracks=value_tracks([(line.title, line.colour) for line in drawn_lines]),
    )


def _values(curves: Curves | None, measure: str) -> tuple[Float[ndarray, " points"], Float[ndarray, "points 3"]]:
    """Return steps, and median, lowest and highest of the seeds there."""
    if curves is None:
        return np.zeros(0), np.zeros((0, 3))
    if measure == "gradient":
        values = curves.signals.get("gradient_norm", np.zeros((0, 1)))
        x = np.arange(len(values)) + 1.0
    else:
        values, x = curves.metrics.get("val_loss_part", np.zeros((0, 1))) / math.log(2), curves.evaluated.astype(float)
        values = values[: len(x)]
    return x, median_and_range(np.where(np.isfinite(values), values, np.nan))


def _make_axis(views: list[RunView], measure: str) -> _Axis:
    """Return an axis that shows the best run, and a diverging one on a logarithmic scale.

    During training it includes the initial loss; afterwards that would flatten the rest.
    """
    known = [spread for view in views if len(spread := _values(view.curves, measure)[1])]
    values = np.concatenate(known) if known else np.zeros((0, 3))
    finite = values[np.isfinite(values) & (values > 0)]
    if measure == "gradient":
        return _Axis(
            (float(finite.min()) * 0.8, max(float(finite.max()), 1.2) * 1.25) if len(finite) else (0.1, 10.0), True
        )
    low = float(finite.min()) if len(finite) else 3.0
    if len(finite) and finite.max() > 2 * UNIFORM_BITS:
        return _Axis((low * 0.9, float(finite.max()) * 1.1), True)
    over = len(known) == len(views) and not any(view.live for view in views)
    last = [end for spread in known if math.isfinite(end := float(spread[-1].max()))]
    highest = max(last, default=_MAX_BITS)
    return _Axis((low - 0.1, min(highest + 0.6, _MAX_BITS)) if over else (min(low, 3.0) - 0.1, _MAX_BITS), False)


def results_table(experiment: Experiment, outcomes: Mapping[str, Outcome]) -> None:
    """Draw every number of the experiment."""
    if not outcomes:
        return
    rows = [cells for part in experiment.panels for cells in _cells(experiment, part, outcomes)]
    draw_table(
        _columns(experiment, outcomes),
        rows,
        key="experiment-table",
        label="Every run of the experiment",
        caption="Mean and lowest to highest of the seeds, in bits per character on all held-out text. Difference: the "
        "second against the first, with the 95 % confidence interval over seeds (Student's t of pairs of seeds; not "
        "corrected for the number of rows). Three seeds make wide intervals, and are too few for a verdict.",
    )


def _columns(experiment: Experiment, outcomes: Mapping[str, Outcome]) -> list[dict[str, object]]:
    alone = len(experiment.conditions) == 1
    every = np.concatenate([each.bits for each in outcomes.values()])
    inside = every[every < _MAX_BITS]
    reach = [3.0, 6.0]
    if len(inside):
        reach = [math.floor(10 * float(inside.min())) / 10, math.ceil(10 * float(inside.max())) / 10]
    columns = [column("value", experiment.axis if alone else "learning rate", "model", wrap=True)]
    for line in experiment.conditions:
        words = "bits per character" if alone else line.words
        kind = "text" if experiment.claims_divergence else "strip"  # what breaks out is on no strip
        columns.append(column(line.label or "end", words, kind, range=reach, wrap=True))
    against = "against the one before" if alone else "difference"
    columns.append(column("against", against, wrap=True))
    if experiment.claims_divergence:
        columns.append(column("longest", "longest gradient", minor=True))
    return columns


def _cells(experiment: Experiment, part: ExperimentPanel, outcomes: Mapping[str, Outcome]) -> list[dict[str, object]]:
    """Return the cells of a row for each value of the setting."""
    alone = len(experiment.conditions) == 1
    steps = (
        findings.compare_consecutive(experiment, outcomes)
        if alone
        else findings.compare_conditions(experiment, part, outcomes)
    )
    compared = {each.value: findings.describe_difference(each) for each in steps}
    rows = []
    for value in part.values:
        by_condition = {
            line.label or "end": findings.outcomes_by_value(experiment, part, line, outcomes).get(value)
            for line in experiment.conditions
        }
        named = f"{part.title}, {value:g}" if part.title else f"{value:g}"
        cells: dict[str, object] = {"value": {"text": named, "colour": MODELS[experiment.model].colour}}
        for name, each in by_condition.items():
            dots = [round(float(v), 4) for v in each.bits if v < _MAX_BITS] if each else []
            cells[name] = {"text": findings.describe_outcome(each), "values": dots}
        cells["against"] = compared.get(value, "–")
        longest = [findings.format_short(each.longest_gradient) for each in by_condition.values() if each]
        cells["longest"] = join_words(longest) if longest else "–"
        rows.append(cells)
    return rows
