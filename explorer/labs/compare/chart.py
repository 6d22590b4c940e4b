"""The curves of the compared runs, with a target that the visitor can move."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st

from explorer import charts, ui
from explorer.errors import LineageError
from explorer.inspection.compare import MetricCurve, downsample, median_and_range
from explorer.labs.compare.comparison import (
    ComparedRun,
    available_measures,
    default_target,
    displayed_curves,
    load_runs,
    runs_bits_per_byte,
    with_available_measure,
)
from explorer.labs.compare.results import comparability_note, machines_note, results_table, target_finding
from explorer.labs.compare.state import AXES, MEASURES, UNITS, Comparison
from explorer.training.record import Axis
from explorer.ui.state.visitor import current_visitor
from explorer.ui.training.learning_chart import seconds_to_next

_KEY, _HEIGHT = "comparison", 700  # of the section, with its figure and its table

_AXIS_TITLES: dict[Axis, str] = {
    "step": "training steps",
    "tokens": "tokens read by each seed",
    "seconds": "seconds of training, all seeds together",
}


def chart_controls(session: ui.PageSession[Comparison]) -> None:
    """Draw the choice of the axes, the measure and the smoothing."""
    runs, _ = load_runs(session.state.displayed_runs, current_visitor().id)
    state = with_available_measure(session.state, runs)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ui.bind_widget(session, "x", st.segmented_control)
        ui.bind_widget(
            session,
            "y",
            st.selectbox,
            shown=state.y,
            update=lambda s, y: replace(s, y=y, target=None),
            options={name: MEASURES[name] for name in available_measures(runs)},
            width=340,
        )
        ui.bind_widget(session, "smooth", st.slider, width=180)
        ui.bind_widget(session, "log_x", st.toggle)
        ui.bind_widget(session, "log_y", st.toggle)


def curves_section(session: ui.PageSession[Comparison]) -> None:
    """Draw the figure and its results; during training the browser fetches new ones."""
    visitor_id = current_visitor().id

    def take_target() -> None:
        moved = ui.pop_target(_KEY)
        if moved is not None and moved != session.state.target:
            session.state = replace(session.state, target=moved)
            st.rerun()

    draw = partial(_draw_comparison, session.state, visitor_id)
    ui.live_section(_KEY, draw, _HEIGHT, events={_KEY: ("target",)}, apply_events=take_target)


def _draw_comparison(state: Comparison, visitor_id: str, document: ui.Document) -> float | None:
    """Write the finding, the curves and the results; return the seconds until the next ones."""
    try:
        runs, _ = load_runs(state.displayed_runs, visitor_id)
        state = with_available_measure(state, runs)
        target = default_target(state, runs) if state.target is None else state.target
        document.finding(target_finding(state, runs, target))
        bits = runs_bits_per_byte(runs)
        if note := comparability_note(state, runs):
            document.text(f"{note} {bits.note}".strip() if bits else note)
        panel = _panel(state, runs, target)
        document.figures(_KEY, [panel], height=460, narrow_height=320, columns=1)
        document.table("comparison-results", results_table(state, runs, target, bits))
        document.caption(machines_note(runs))
    except LineageError as error:
        document.problems([str(error)])
        return None
    return seconds_to_next(run.view for run in runs)


def _panel(state: Comparison, runs: Sequence[ComparedRun], target: float) -> ui.Panel:
    chart = comparison_chart(state, runs)
    low, high = _axis_range(state, displayed_curves(state, runs))
    target_lines = [{name: readout[name] for name in ("trace", "title", "colour")} for readout in chart.readouts]
    return ui.Panel(
        f"{state.y}-{state.x}",
        chart,
        target={
            "value": min(max(target, low), high),
            "low": low,
            "high": high,
            "label": "target",
            "lines": target_lines,
            "rising": state.rising,
            "unit": UNITS[state.x],
            "digits": 2 if state.x == "seconds" else 0,
        },
    )


def comparison_chart(state: Comparison, runs: Sequence[ComparedRun]) -> charts.LineChart:
    """Return the curves of all runs, each with its number and its name at its end."""
    curves, dashes = displayed_curves(state, runs), _line_styles(runs)
    return charts.LineChart(
        f"{MEASURES[state.y]} {AXES[state.x]}",
        [_line(run, curve, dashes[run.key]) for run, curve in zip(runs, curves, strict=True)],
        charts.Axis(_AXIS_TITLES[state.x], log=state.log_x),
        charts.Axis(span=_axis_range(state, curves), log=state.log_y),
        labels="title",
        margin=44,
        digits=3,
    )


def _line(run: ComparedRun, curve: MetricCurve | None, dash: str) -> charts.Line:
    x, spread = np.zeros(0), np.zeros((0, 3))
    if curve is not None and len(curve.x):
        spread = median_and_range(curve.values)
        kept = downsample(spread)
        x, spread = curve.x[kept], spread[kept]
    return charts.Line(run.label, run.name, run.view.row.colour, dash, x, spread, name=run.title)


def _line_styles(runs: Sequence[ComparedRun]) -> dict[str, str]:
    """Return a dash for each run: runs of one model have one colour, so their dashes differ."""
    dashes: dict[str, str] = {}
    seen: Counter[str] = Counter()
    for run in runs:
        default, model = run.view.row.dash, run.config.model_name
        others = [dash for dash in ("solid", "10px,4px", "2px,4px", "10px,3px,2px,3px") if dash != default]
        dashes[run.key] = [default, *others][seen[model] % (len(others) + 1)]
        seen[model] += 1
    return dashes


def _axis_range(state: Comparison, curves: Sequence[MetricCurve | None]) -> tuple[float, float]:
    values = [c.values[~np.isnan(c.values)] for c in curves if c is not None and c.values.size]
    values = [v for v in values if len(v)]
    lowest, highest = min((v.min() for v in values), default=0.5), max((v.max() for v in values), default=1.0)
    if state.rising:
        low = float(min(0.42, lowest - 0.02) if lowest < 0.5 else 0.45)
        return (max(low, 0.01), 1.03) if state.log_y else (low, 1.03)
    return (max(float(lowest) * 0.8, 1e-6), float(highest) * 1.2) if state.log_y else (0.0, float(highest) * 1.05)
