"""Sweeps over sequence length, width and number of layers: formulas and measurements, drawn beside each other."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import partial
from typing import Final

import numpy as np
import streamlit as st

from explorer.catalogue import MODELS
from explorer.figures.transformer.cost import TRACES_PER_LINE, CostLine, cost_figure
from explorer.inspection.transformer import cost_formulas as formulas
from explorer.inspection.transformer.cost_formulas import PARTS, LayerSize, MeasuredCosts
from explorer.labs.cost import findings, measurements
from explorer.labs.cost.findings import SweepResult
from explorer.labs.cost.measurements import Points
from explorer.labs.cost.state import MODEL_OF_PART, SWEEPS, CostState, Sweep
from explorer.ui.components.plot_frame import Panel, add_plot_frame
from explorer.ui.components.table import add_table, column
from explorer.ui.document import Document
from explorer.ui.result_section import Request, result_section
from explorer.ui.state.session import PageSession
from explorer.ui.state.widgets import bind_widget, reset_button
from explorer.web import background

HEIGHT, NARROW = 380, 320  # of a figure, in pixels
AXES: Final[Mapping[Sweep, str]] = {
    "length": "tokens in the sequence, T",
    "width": "numbers in a vector, d",
    "layers": "layers",
}


def controls(session: PageSession[CostState]) -> None:
    """Draw the controls of the sweeps."""
    state = session.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        bind_widget(session, "way", st.segmented_control)
        bind_widget(session, "width", st.selectbox, width=130)
        bind_widget(session, "length", st.selectbox, width=130)
        bind_widget(session, "heads", st.selectbox, width=90)

        st.button(
            "Measure on this server",
            icon=":material/timer:",
            on_click=_request_measurements,
            args=(state,),
            key="cost.measure",
            help=f"All {len(PARTS)} parts at all sizes of the three sections, one after the other. This takes ten to "
            "forty seconds; a measurement that another visitor has started is shared.",
        )
        if session.state != session.state.reset():
            reset_button(session)


def _request_measurements(state: CostState) -> None:
    for sweep in SWEEPS:
        for part in PARTS:
            measurements.request_measurement((part, state.sizes(sweep, part)))


def sweep_section(state: CostState, sweep: Sweep) -> None:
    """Draw one sweep: at once with what has been measured before; a requested measurement replaces it part by part."""
    points = {part: (part, state.sizes(sweep, part)) for part in PARTS}
    # The key changes with each new measurement. Submitted here, it does not wait for what is being timed.
    stored = (f"cost-stored-{sweep}", *(measurements.find_latest(each) for each in points.values()))
    background.submit(stored, dict, "quick")
    jobs: dict[str, Request[object]] = {"stored": (stored, dict), **_measurement_jobs(points)}
    result_section(
        f"cost-{sweep}",
        jobs,
        partial(_draw, state, sweep),
        f"Timing {len(PARTS)} parts at {len(SWEEPS[sweep])} sizes each on this server, one after the other …",
        HEIGHT + (670 if sweep == "length" else 220),
        pool="timing",
        partly=True,
    )


def _measurement_jobs(points: Mapping[str, Points]) -> dict[str, Request[object]]:
    """Return the requested measurements that are neither finished nor cancelled, by part."""
    submitted = background.results()
    jobs: dict[str, Request[object]] = {}
    for part, each in points.items():
        token = measurements.request_token(each)
        key: tuple[Hashable, ...] = ("cost", *each, token)
        if token and key in submitted and submitted[key].cancelled():
            measurements.withdraw_request(each)
        elif token:
            jobs[part] = key, partial(measurements.measure, each)
    return jobs


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


def _draw(state: CostState, sweep: Sweep, document: Document, _: Mapping[str, object]) -> None:
    """Draw the latest measurements of all parts beside the formulas."""
    latest = {part: measurements.find_latest((part, state.sizes(sweep, part))) for part in PARTS}
    results = {part: sweep_result(part, sweep, state.sizes(sweep, part), each.costs) for part, each in latest.items()}
    document.finding(findings.FINDINGS[sweep](results, state))
    if sweep == "length" and (note := findings.kernel_note(results, state)):
        document.text(note)  # above the figure, which without it says that a GRU is slower than an LSTM
    time = [
        _cost_line(each, 1e3 * each.seconds(state.way), 1e3 * each.scaled_formula(state.way))
        for each in results.values()
    ]
    memory = [_cost_line(each, each.bytes_kept / 1e6, each.bytes_by_formula / 1e6) for each in results.values()]
    way = "forward and backward" if state.way == "both" else "forward"
    add_plot_frame(
        document,
        [
            _panel(f"cost-{sweep}-seconds", f"Time, {way} (milliseconds)", "milliseconds", time, sweep),
            _panel(f"cost-{sweep}-bytes", "Memory kept for the backward pass (MB)", "megabytes", memory, sweep),
        ],
        key=f"cost-{sweep}-figures",
        height=HEIGHT,
        narrow_height=NARROW,
        columns=2,
    )
    document.caption(findings.source_caption({part: each.source for part, each in latest.items()}))
    if sweep == "length":
        _add_exponent_table(document, state, results)
    for paragraph in findings.sweep_note(results, state, sweep).split("\n\n"):
        document.text(paragraph)


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


def _add_exponent_table(document: Document, state: CostState, results: Mapping[str, SweepResult]) -> None:
    """Add the fitted exponents of length beside those of the formulas, a row per part."""
    columns = [
        column("name", "part", "model"),
        column("formula", "multiplications", wrap=True),
        column("power", "measured power", "number", wrap=True),
        column("own", "power of the formula", "number", wrap=True),
        column("memory", "power of memory", "number", minor=True),
        column("rate", "multiplications per nanosecond", "number", minor=True),
    ]
    rows = []
    for part in PARTS:
        cells = {
            "name": {"text": findings.PART_NAMES[part], "colour": MODELS[MODEL_OF_PART.get(part, part)].colour},
            "formula": findings.FORMULAS[part],
        }
        numbers = *results[part].exponents("length", state.way), results[part].multiplications_per_nanosecond()
        for key, value in zip(("power", "own", "memory", "rate"), numbers, strict=True):
            cells[key] = f"{value:.2f}"
        rows.append(cells)
    add_table(
        document,
        columns,
        rows,
        key="cost-length-fits",
        label="How cost grows with length",
        caption=f"Power of T: slope of the least squares line through the logarithms, from "
        f"{findings.FIT_FROM['length']} on. Time: forward {'and backward' if state.way == 'both' else 'only'}; the "
        "rate is that of the forward pass at the largest measured size.",
    )
