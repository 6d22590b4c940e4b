"""Sweeps over sequence length, width and number of layers: timed on this server and drawn beside the formulas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Final
from uuid import uuid4

import numpy as np
import streamlit as st

from explorer.catalogue import MODELS
from explorer.figures.cost import TRACES_PER_LINE, CostLine, cost_figure
from explorer.inspection.transformer import cost_formulas as formulas
from explorer.inspection.transformer.cost_formulas import PARTS, LayerSize, MeasuredCosts
from explorer.labs.cost import findings
from explorer.labs.cost.findings import SweepResult
from explorer.labs.cost.state import HEADS, LENGTHS, MODEL_OF_PART, SWEEPS, WIDTHS, CostState, Sweep
from explorer.ui.components.plot_frame import Panel, draw_plot_frame
from explorer.ui.components.table import draw_table
from explorer.ui.deferred_sections import show_latest
from explorer.ui.page_sections import EXPLANATION, escape_markdown
from explorer.ui.state.session import PageSession, bind_widget

HEIGHT, NARROW = 380, 320  # of a figure, in pixels
SECONDS: Final = 0.6  # per part and sweep; all eighteen take about ten
AXES: Final[Mapping[Sweep, str]] = {
    "length": "tokens in the sequence, T",
    "width": "numbers in a vector, d",
    "layers": "layers",
}
_MEASUREMENT_KEY = "cost.token"  # session key of the last press of "Measure again"


def controls(session: PageSession[CostState]) -> None:
    """Draw the controls of the sweeps."""
    state = session.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        binding = bind_widget(session, "cost.way", state.way, lambda s, new: replace(s, way=new or s.way))
        ways = {"both": "forward and back", "forward": "forward alone"}
        st.segmented_control("Time of", list(ways), format_func=ways.__getitem__, **binding)
        binding = bind_widget(session, "cost.width", state.width, lambda s, new: replace(s, width=new))
        st.selectbox("Width, where it stays", WIDTHS, width=180, **binding)
        binding = bind_widget(session, "cost.length", state.length, lambda s, new: replace(s, length=new))
        st.selectbox("Length, where it stays", LENGTHS, width=180, **binding)
        binding = bind_widget(session, "cost.heads", state.heads, lambda s, new: replace(s, heads=new))
        st.selectbox("Heads", HEADS, width=90, **binding)

        def measure_again() -> None:
            st.session_state[_MEASUREMENT_KEY] = uuid4().hex  # a new cache key for each press

        st.button("Measure again", icon=":material/timer:", on_click=measure_again, key="cost.again")
        st.button(
            "Back to the defaults",
            icon=":material/undo:",
            on_click=lambda: session.change(lambda s: CostState()),
            disabled=state == CostState(),
        )


def _measure(part: str, sizes: tuple[LayerSize, ...]) -> MeasuredCosts:
    from explorer.inspection.transformer.cost_measurement import measure_costs

    return measure_costs(part, sizes, SECONDS)


def sweep_section(state: CostState, sweep: Sweep) -> None:
    """Draw one sweep; each part is measured by itself and drawn as soon as it is measured."""
    token = st.session_state.get(_MEASUREMENT_KEY, "")
    jobs = {}
    for part in PARTS:
        sizes = state.sizes(sweep, part)
        jobs[part] = (f"cost-{sweep}", part, *sizes, token), partial(_measure, part, sizes)

    def draw(results: Mapping[str, MeasuredCosts], old: frozenset[str]) -> None:
        _draw(state, sweep, {part: each for part, each in results.items() if part not in old})

    what = f"Timing {len(PARTS)} parts at {len(SWEEPS[sweep])} sizes each on this server, one after the other …"
    height = HEIGHT + (670 if sweep == "length" else 220)
    show_latest(f"cost-{sweep}", lambda: jobs, draw, what, height, pool="timing")


def sweep_result(part: str, sweep: Sweep, sizes: tuple[LayerSize, ...], results: MeasuredCosts) -> SweepResult:
    """Return the measurements of one part beside its formulas."""
    return SweepResult(
        part,
        np.array(SWEEPS[sweep]),
        results.forward,
        results.forward_backward,
        results.saved_bytes,
        np.array([formulas.multiplications(part, size) for size in sizes], dtype=float),
        np.array([formulas.expected_saved_bytes(part, size) for size in sizes], dtype=float),
    )


def _draw(state: CostState, sweep: Sweep, results: Mapping[str, MeasuredCosts]) -> None:
    """Draw the measured parts of a sweep, and its sentences once all parts are measured."""
    results_by_part = {
        part: sweep_result(part, sweep, state.sizes(sweep, part), results[part]) for part in PARTS if part in results
    }
    complete = len(results_by_part) == len(PARTS)
    sentence = (
        findings.FINDINGS[sweep](results_by_part, state)
        if complete
        else f"{len(results_by_part)} of {len(PARTS)} parts are measured."
    )
    st.subheader(escape_markdown(sentence), anchor=False)
    time = [
        _cost_line(each, 1e3 * each.seconds(state.way), 1e3 * each.scaled_formula(state.way))
        for each in results_by_part.values()
    ]
    memory = [_cost_line(each, each.bytes_kept / 1e6, each.bytes_by_formula / 1e6) for each in results_by_part.values()]
    way = "forward and back" if state.way == "both" else "forward"
    draw_plot_frame(
        [
            _panel(f"cost-{sweep}-seconds", f"Milliseconds, {way}", "milliseconds", time, sweep),
            _panel(f"cost-{sweep}-bytes", "Megabytes kept for the way back", "megabytes", memory, sweep),
        ],
        key=f"cost-{sweep}-figures",
        height=HEIGHT,
        narrow_height=NARROW,
        columns=2,
    )
    if sweep == "length":
        _exponent_table(state, results_by_part)
    with st.container(width=EXPLANATION):
        if not complete:
            st.markdown(escape_markdown(f"{findings.missing_parts(list(results_by_part))} being timed …"))
        else:
            st.markdown(escape_markdown(findings.sweep_note(results_by_part, state, sweep)))


def _cost_line(each: SweepResult, measured: np.ndarray, formula: np.ndarray) -> CostLine:
    row = MODELS[MODEL_OF_PART.get(each.part, each.part)]
    name = findings.PART_NAMES[each.part]
    return CostLine(name, row.colour, row.dash, each.x, measured, formula, each.part == "fused")


def _panel(name: str, title: str, unit: str, lines: list[CostLine], sweep: Sweep) -> Panel:
    ends = "; ".join(
        f"{line.name} {measured[0]:.2g} to {measured[-1]:.2g}"
        for line in lines
        if len(measured := line.measured[np.isfinite(line.measured)])
    )
    tracks = [
        {"trace": TRACES_PER_LINE * i + 1, "title": line.name, "colour": line.colour, "digits": 2}
        for i, line in enumerate(lines)
    ]
    return Panel(
        name,
        cost_figure(lines, AXES[sweep], unit, SWEEPS[sweep]),
        f"{title} over {AXES[sweep]}: {ends}.",
        title=title,
        tracks=tracks,
    )


def _exponent_table(state: CostState, results: Mapping[str, SweepResult]) -> None:
    """Draw the fitted exponents of length beside those of the formulas, a row per part."""
    columns: list[dict[str, object]] = [
        {"key": "name", "label": "part", "kind": "model", "align": "left"},
        {"key": "formula", "label": "multiplications", "kind": "text", "align": "left"},
        {"key": "power", "label": "power, measured", "kind": "number", "align": "right"},
        {"key": "own", "label": "power, formula", "kind": "number", "align": "right"},
        {"key": "memory", "label": "power of memory", "kind": "number", "align": "right"},
        {"key": "rate", "label": "multiplications a nanosecond", "kind": "number", "align": "right"},
    ]
    rows = []
    for part in PARTS:
        cells = {
            "name": {"text": findings.PART_NAMES[part], "colour": MODELS[MODEL_OF_PART.get(part, part)].colour},
            "formula": {"text": findings.FORMULAS[part]},
        }
        if part in results:
            numbers = *results[part].exponents("length", state.way), results[part].multiplications_per_nanosecond()
            for key, value in zip(("power", "own", "memory", "rate"), numbers, strict=True):
                cells[key] = {"text": f"{value:.2f}"}
        rows.append({"cells": cells})
    draw_table(
        columns,
        rows,
        key="cost-length-fits",
        label="How cost grows with length",
        caption=f"Power of T: slope of the least squares line through the logarithms, from "
        f"{findings.FIT_FROM['length']} "
        f"on. Of forward {'and back' if state.way == 'both' else 'alone'}; the rate is that of the forward at the last "
        "size that was measured.",
    )
