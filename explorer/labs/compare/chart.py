"""The curves of the compared runs, with a target that the visitor can move."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st

from explorer.figures.comparison import Line, comparison_figure
from explorer.inspection.compare import MetricCurve, downsample, mean_and_range
from explorer.labs.compare.comparison import (
    ComparedRun,
    available_measures,
    default_target,
    displayed_curves,
    load_runs,
    with_available_measure,
)
from explorer.labs.compare.results import results_table, target_finding
from explorer.labs.compare.state import AXES, MEASURES, UNITS, Comparison
from explorer.training.record import Axis
from explorer.ui.components.plot_frame import Panel, draw_plot_frame, value_tracks
from explorer.ui.page_sections import escape_markdown
from explorer.ui.state.session import PageSession, bind_widget
from explorer.ui.training.train_controls import polling_slowdown
from explorer.ui.wording import join_words

_AXIS_TITLES: dict[Axis, str] = {
    "step": "optimiser steps",
    "tokens": "tokens read by one seed",
    "seconds": "seconds of training, all seeds together",
}


def chart_controls(session: PageSession[Comparison]) -> None:
    """Draw the choice of the axes, the measure and the smoothing."""
    runs, _ = load_runs(session.state.displayed_runs)
    state = with_available_measure(session.state, runs)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ties = bind_widget(session, "compare.x", state.x, lambda s, x: replace(s, x=x or s.x))
        st.segmented_control("Along", list(AXES), format_func=AXES.__getitem__, **ties)
        ties = bind_widget(session, "compare.y", state.y, lambda s, y: replace(s, y=y, target=None))
        st.selectbox("What", available_measures(runs), format_func=MEASURES.__getitem__, width=340, **ties)
        ties = bind_widget(session, "compare.smooth", state.smooth, lambda s, v: replace(s, smooth=v))
        st.slider("Smoothing", 0.0, 0.99, step=0.01, width=180, help="What each point keeps of those before.", **ties)
        for name, label in (("log_x", "log x"), ("log_y", "log y")):
            ties = bind_widget(session, f"compare.{name}", getattr(state, name), partial(_with_log_axis, name))
            st.toggle(label, **ties)


def _with_log_axis(name: str, state: Comparison, on: bool) -> Comparison:
    """Return the comparison with a logarithmic or linear axis."""
    return replace(state, log_x=on) if name == "log_x" else replace(state, log_y=on)


def curves_section(session: PageSession[Comparison]) -> None:
    """Draw the figure and its results; during training they are redrawn twice a second."""
    runs, _ = load_runs(session.state.displayed_runs)
    live = any(run.view.live for run in runs)

    @st.fragment(run_every=0.5 * polling_slowdown() if live else None)
    def panel() -> None:
        runs, _ = load_runs(session.state.displayed_runs)
        state = with_available_measure(session.state, runs)
        target = default_target(state, runs) if state.target is None else state.target
        st.subheader(escape_markdown(target_finding(state, runs, target)), anchor=False)
        moved = _draw_curves(state, runs, target)
        if moved is not None and moved != state.target:
            session.state = replace(state, target=moved)
            st.rerun()
        results_table(state, runs, target)
        if live and not any(run.view.live for run in runs):
            st.rerun()

    panel()


def _draw_curves(state: Comparison, runs: Sequence[ComparedRun], target: float) -> float | None:
    """Draw the curves; return the target where the visitor has just moved it, otherwise None."""
    curves = displayed_curves(state, runs)
    dashes = _line_styles(runs)
    lines = [_line(run, curve, dashes[run.key]) for run, curve in zip(runs, curves, strict=True)]
    tracks = value_tracks([(run.title, run.view.row.colour) for run in runs], 3)
    y_range = _axis_range(state, curves)
    panel = Panel(
        f"{state.y}-{state.x}",
        comparison_figure(lines, _AXIS_TITLES[state.x], y_range, log_x=state.log_x, log_y=state.log_y),
        alt=f"{MEASURES[state.y]} {AXES[state.x]}: {join_words([run.title for run in runs])}.",
        tracks=tracks,
        target={
            "value": min(max(target, y_range[0]), y_range[1]),
            "low": y_range[0],
            "high": y_range[1],
            "label": "target",
            "lines": [{"trace": t["trace"], "title": t["title"], "colour": t["colour"]} for t in tracks],
            "rising": state.rising,
            "unit": UNITS[state.x],
            "digits": 2 if state.x == "seconds" else 0,
        },
    )
    return draw_plot_frame([panel], key="comparison", height=420, narrow_height=320, columns=1)


def _line(run: ComparedRun, curve: MetricCurve | None, dash: str) -> Line:
    none = np.zeros(0)
    if curve is None or not len(curve.x):
        return Line(run.label, run.name, run.view.row.colour, dash, none, none, none, none)
    spread = mean_and_range(curve.values)
    kept = downsample(spread)
    mean, low, high = spread[kept].T
    return Line(run.label, run.name, run.view.row.colour, dash, curve.x[kept], mean, low, high)


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
