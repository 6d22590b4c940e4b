"""Charts and the table of a paper experiment: final losses, curves and every number."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer import charts, ui
from explorer.byte_cache import cached
from explorer.catalogue import MODELS
from explorer.charts.style import PAGE, annotation, css_colour, end_label, line_trace, round_significant
from explorer.experiments.paper_experiments import UNIFORM_BITS, Condition, Experiment, ExperimentPanel, Trial
from explorer.inspection.compare import downsample, median_and_range
from explorer.labs.text import experiment_findings as findings
from explorer.labs.text.experiment_findings import Outcome
from explorer.training.record import Curves
from explorer.ui.wording import join_words

_MAX_BITS = UNIFORM_BITS + 0.4  # bits per character; what ends above stands at the upper edge of the chart
_DASHES = ("6px,4px", "solid")  # without, with
_VALUE_DASHES = ("1px,4px", "4px,4px", "9px,4px", "16px,4px", "solid")  # of the values of a setting, ascending
_SHIFT = 0.16  # between lines that share a value, as a share of the distance between values
MEASURES = {"bits": "held-out text", "gradient": "gradient norm"}


# ---- final losses


def end_panels(experiment: Experiment, outcomes: Mapping[str, Outcome]) -> list[ui.Panel]:
    """Return a panel of final losses for each panel of the experiment, on one axis."""
    row = MODELS[experiment.model]
    every = np.array([bits for each in outcomes.values() for bits in each.bits if math.isfinite(bits)])
    low = float(every.min()) if len(every) else 3.0
    high = min(float(every.max()), _MAX_BITS) if len(every) else _MAX_BITS
    if not outcomes or any(not each.is_finite for each in outcomes.values()):
        high = max(high, low + 0.5)
    room = 0.06 * max(high - low, 0.1)
    return [
        ui.Panel(
            f"ends-{part.name or experiment.name}",
            end_chart(experiment, part, outcomes, (low - room, high + room)),
            title=part.title or row.title,
            colour=None if part.title else row.colour,
        )
        for part in experiment.panels
    ]


def end_chart(
    experiment: Experiment, part: ExperimentPanel, outcomes: Mapping[str, Outcome], span: tuple[float, float]
) -> charts.Drawing:
    """Return the final losses of all seeds by the value of the setting.

    `span`: of the y axis. Losses above it are written at its upper edge.
    """
    (low, high), row, count = span, MODELS[experiment.model], len(experiment.conditions)
    traces: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    for index, condition in enumerate(experiment.conditions):
        bits = _final_bits(experiment, part, condition, outcomes)
        x = np.arange(len(bits)) + _SHIFT * (index - (count - 1) / 2)
        means = bits.mean(axis=1)
        shown = [round_significant(mean) if mean <= high else None for mean in means]
        dash = _DASHES[index] if count > 1 else "solid"
        traces.append(line_trace(x.tolist(), shown, f"{condition.words}, mean", row.colour, dash))
        traces.append(_seed_dots(condition, row.colour, dash, x, np.where(bits <= high, bits, np.nan)))
        for at, seeds in zip(x, bits, strict=True):
            if (seeds > high).any():
                highest = f"↑ {seeds.max():.3g}" if math.isfinite(seeds.max()) else "no numbers"
                style = {"font": {"size": 14, "color": css_colour(row.colour)}, "yanchor": "bottom"}
                notes.append(annotation(highest, float(at), high, **style, yshift=2 + 18 * index))
        if condition.label:
            last = [mean for mean in means if math.isfinite(mean)]
            end = (last[-1] - low) / (high - low) if last else 1.0
            notes.append(end_label(f"<b>{condition.label}</b>", 1.0, end, colour=css_colour(row.colour)))
    rules = [charts.level(UNIFORM_BITS, "blind guessing")] if low < UNIFORM_BITS < high else []
    ticks: dict[float | int, str] = {place: f"{value:g}" for place, value in enumerate(part.values)}
    layout = {
        "xaxis": charts.Axis(experiment.axis, (-0.4, len(part.values) - 0.6), ticks=ticks).layout(),
        "yaxis": charts.Axis(span=span, ticks=5).layout(),
        "shapes": [rule.shape() for rule in rules],
        "annotations": [*notes, *(label for rule in rules for label in rule.label(charts.PLAIN, charts.PLAIN))],
        "margin": {"l": 8, "r": 56 if experiment.conditions[0].label else 12, "t": 8 + 18 * count, "b": 8},
    }
    return charts.Drawing(_describe_ends(experiment, part, outcomes), traces, layout)


def _final_bits(
    experiment: Experiment, part: ExperimentPanel, condition: Condition, outcomes: Mapping[str, Outcome]
) -> Float[ndarray, "values replicas"]:
    """Return the final loss of every seed; NaN where there is none yet, infinity where the run diverged."""
    known = findings.outcomes_by_value(experiment, part, condition, outcomes)
    missing = np.full(experiment.trials[0].config.replicas, np.nan)
    rows = [np.nan_to_num(known[v].bits, nan=np.inf, posinf=np.inf) if v in known else missing for v in part.values]
    return np.array(rows, float)


def _seed_dots(
    condition: Condition, colour: str, dash: str, x: Float[ndarray, " values"], bits: Float[ndarray, "values replicas"]
) -> dict[str, Any]:
    places = np.broadcast_to(x[:, None], bits.shape)
    finite = np.isfinite(bits)
    return {
        "type": "scatter",
        "mode": "markers",
        "x": places[finite].tolist(),
        "y": [round_significant(value) for value in bits[finite]],
        "marker": {
            "size": 9,
            "color": css_colour(colour),
            "line": {"width": 1.5, "color": PAGE},
            "symbol": "circle" if dash == "solid" else "diamond",
        },
        "name": f"{condition.words}, every seed",
        "hovertemplate": f"%{{y:.3f}} bits<extra>{condition.words}</extra>",
        "cliponaxis": False,
    }


def _describe_ends(experiment: Experiment, part: ExperimentPanel, outcomes: Mapping[str, Outcome]) -> str:
    ends = [
        f"{condition.words} {value:g}: {findings.describe_outcome(each)}"
        for condition in experiment.conditions
        for value, each in findings.outcomes_by_value(experiment, part, condition, outcomes).items()
    ]
    title = f", {part.title}" if part.title else ""
    return f"Bits per character at the end, by {experiment.axis}{title}. {'; '.join(ends)}."


# ---- curves


def curve_panels(experiment: Experiment, views: Mapping[str, ui.RunView], measure: str) -> list[ui.Panel]:
    """Return a panel of curves for each value of the setting; with one condition, one panel for all values."""
    y = _curve_axis([views[trial.name] for trial in experiment.trials], measure)
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
            y,
        )
        for name, title, trials in groups
    ]


@cached()
def _curve_panel(
    name: str, title: str, trials: tuple[tuple[Trial, Curves | None], ...], measure: str, y: charts.Axis
) -> ui.Panel:
    """Return one panel, drawn once for all visitors who look at the same runs."""
    lines = []
    for index, (trial, curves) in enumerate(trials):
        row, condition, alone = MODELS[trial.config.model_name], trial.condition, not trial.condition.label
        label, words = condition.label or f"{trial.value:g}", condition.words
        if alone:
            words = f"a window of {trial.value:g}"
        dash = _VALUE_DASHES[index % 5] if alone else _DASHES[index]
        x, values = _curve_values(curves, measure)
        kept = downsample(values, max_points=150)
        lines.append(charts.Line(label, words, row.colour, dash, x[kept], values[kept], name=words))
    x_axis = charts.Axis("step", (0.0, float(trials[0][0].config.steps)), ticks=4, upright=True)
    chart = charts.LineChart(f"{title}: {MEASURES[measure]} by step", lines, x_axis, y, margin=52)
    return ui.Panel(name, chart, title=title)


def _curve_values(curves: Curves | None, measure: str) -> tuple[Float[ndarray, " points"], Float[ndarray, "points 3"]]:
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


def _curve_axis(views: Sequence[ui.RunView], measure: str) -> charts.Axis:
    """Return a y axis that shows the best run, and a diverging one on a logarithmic scale.

    During training it includes the initial loss; afterwards that would flatten the rest.
    """
    known = [spread for view in views if len(spread := _curve_values(view.curves, measure)[1])]
    values = np.concatenate(known) if known else np.zeros((0, 3))
    finite = values[np.isfinite(values) & (values > 0)]
    if measure == "gradient":
        low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.125, 8.0)
        return charts.Axis(span=(low * 0.8, max(high, 1.2) * 1.25), log=True)
    low = float(finite.min()) if len(finite) else 3.0
    if len(finite) and finite.max() > 2 * UNIFORM_BITS:
        return charts.Axis(span=(low * 0.9, float(finite.max()) * 1.1), log=True)
    last = [end for spread in known if math.isfinite(end := float(spread[-1].max()))]
    if len(known) == len(views) and not any(view.live for view in views):
        return charts.Axis(span=(low - 0.1, min(max(last, default=_MAX_BITS) + 0.6, _MAX_BITS)))
    return charts.Axis(span=(min(low, 3.0) - 0.1, _MAX_BITS))


# ---- table


def results_table(experiment: Experiment, outcomes: Mapping[str, Outcome]) -> charts.Table:
    """Return every number of the experiment: a row for each value of the setting."""
    alone = len(experiment.conditions) == 1
    inside = [bits for each in outcomes.values() for bits in each.bits if bits < _MAX_BITS]
    reach = (math.floor(10 * min(inside)) / 10, math.ceil(10 * max(inside)) / 10) if inside else (3.0, 6.0)
    columns = {"value": charts.Column(experiment.axis if alone else "learning rate", "model", wrap=True)}
    for condition in experiment.conditions:
        words = "bits per character" if alone else condition.words
        # What diverges is on no strip.
        kind: Any = "text" if experiment.claims_divergence else "strip"
        columns[condition.label or "end"] = charts.Column(words, kind, range=reach, wrap=True)
    columns["against"] = charts.Column("against the one before" if alone else "difference", wrap=True)
    if experiment.claims_divergence:
        columns["longest"] = charts.Column("longest gradient", minor=True)
    rows = [row for part in experiment.panels for row in _table_rows(experiment, part, outcomes)]
    caption = (
        "Mean and lowest to highest of the seeds, in bits per character on all held-out text. Difference: the "
        "second against the first, with the 95 % confidence interval over seeds (Student's t of pairs of seeds; not "
        "corrected for the number of rows). Three seeds make wide intervals, and are too few for a verdict."
    )
    return charts.Table(columns, rows if outcomes else [], "Every run of the experiment", caption)


def _table_rows(
    experiment: Experiment, part: ExperimentPanel, outcomes: Mapping[str, Outcome]
) -> list[dict[str, charts.Cell | str]]:
    compared = {
        each.value: findings.describe_difference(each)
        for each in (
            findings.compare_consecutive(experiment, outcomes)
            if len(experiment.conditions) == 1
            else findings.compare_conditions(experiment, part, outcomes)
        )
    }
    rows = []
    for value in part.values:
        by_condition = {
            condition.label or "end": findings.outcomes_by_value(experiment, part, condition, outcomes).get(value)
            for condition in experiment.conditions
        }
        longest = [findings.format_short(each.longest_gradient) for each in by_condition.values() if each]
        title = f"{part.title}, {value:g}" if part.title else f"{value:g}"
        cells: dict[str, charts.Cell | str] = {
            "value": charts.Cell(title, MODELS[experiment.model].colour),
            "against": compared.get(value, "–"),
            "longest": join_words(longest) if longest else "–",
        }
        for name, each in by_condition.items():
            dots = [bits for bits in each.bits if bits < _MAX_BITS] if each else []
            cells[name] = charts.strip(findings.describe_outcome(each), dots)
        rows.append(cells)
    return rows
