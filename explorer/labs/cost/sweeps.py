"""Sweeps over sequence length, width and number of layers: formulas and measurements, drawn beside each other.

Measured costs are those of this server if it has made any, otherwise those of a reference machine, from a file that is
included. `python -m benchmarks.reference_costs` writes it anew.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeAlias
from uuid import uuid4

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer import charts, ui
from explorer.byte_cache import cached
from explorer.catalogue import MODELS
from explorer.inspection.transformer import cost_formulas as formulas
from explorer.inspection.transformer import cost_measurement
from explorer.inspection.transformer.cost_formulas import PARTS, LayerSize, MeasuredCosts
from explorer.labs.cost import findings
from explorer.labs.cost.findings import SweepResult
from explorer.labs.cost.state import MODEL_OF_PART, SWEEPS, CostState, Sweep
from explorer.web import background

SECONDS: Final = 0.6  # per part and sweep; all eighteen take between ten and forty
REFERENCE_FILE: Final = Path(__file__).with_name("reference_costs.json")
Points: TypeAlias = tuple[str, tuple[LayerSize, ...]]  # a part and the sizes at which it is measured


@dataclass(frozen=True, eq=False)
class Measurement:
    """Measured costs of one part, and where and when they were measured."""

    costs: MeasuredCosts
    source: str  # such as "this server, 14:05 UTC"


_measured: dict[Points, Measurement] = {}  # the latest of this process; the page offers a few hundred
_requested: dict[Points, str] = {}  # a token for each request that has not been measured yet


@cached()
def _reference_measurement(points: Points) -> Measurement:
    (source, costs), (part, sizes) = read_reference(), points
    return Measurement(MeasuredCosts(*np.array([costs[part, size] for size in sizes]).T), source)


def measure(points: Points) -> Measurement:
    """Measure one part now and store the result as the latest one; the request for it has then ended."""
    try:
        costs = cost_measurement.measure_costs(*points, SECONDS)
        _measured[points] = Measurement(costs, f"this server, {datetime.now(UTC):%H:%M} UTC")
    finally:
        _requested.pop(points, None)
    return _measured[points]


@cached()
def read_reference() -> tuple[str, dict[tuple[str, LayerSize], list[float]]]:
    """Return what the reference machine is, and its seconds forward, seconds forward and backward, and bytes."""
    stored = json.loads(REFERENCE_FILE.read_text("utf-8"))
    date = datetime.fromisoformat(stored["date"])
    costs = {
        (part, LayerSize(*map(int, row[:4]))): [np.nan if value is None else value for value in row[4:]]
        for part, rows in stored["costs"].items()
        for row in rows
    }
    return f"a machine with the processor {stored['processor']}, {date.day} {date:%B %Y}", costs


# ---- the sections


Latest: TypeAlias = Mapping[str, Measurement]  # by part
HEIGHT, NARROW = 460, 320  # of a figure, in pixels
AXES: Final[Mapping[Sweep, str]] = {
    "length": "tokens in the sequence, T",
    "width": "numbers in a vector, d",
    "layers": "layers",
}


def controls(session: ui.PageSession[CostState]) -> None:
    """Draw the controls of the sweeps."""
    state = session.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ui.bind_widget(session, "way", st.segmented_control)
        ui.bind_widget(session, "width", st.selectbox, width=130)
        ui.bind_widget(session, "length", st.selectbox, width=130)
        ui.bind_widget(session, "heads", st.selectbox, width=90)

        st.button(
            "Measure on this server",
            icon=":material/timer:",
            on_click=_request_measurements,
            args=(state,),
            key="cost.measure",
            help=f"All {len(PARTS)} parts at all sizes of the three sections, one after the other. This takes ten to "
            "forty seconds; a measurement that another visitor has started is shared.",
        )
        ui.reset_button(session)


def _request_measurements(state: CostState) -> None:
    for sweep in SWEEPS:
        for part in PARTS:
            _requested.setdefault((part, state.sizes(sweep, part)), uuid4().hex)  # it joins an earlier request


def sweep_section(state: CostState, sweep: Sweep) -> None:
    """Draw one sweep: at once with what has been measured before; a requested measurement replaces it part by part."""
    points = {part: (part, state.sizes(sweep, part)) for part in PARTS}
    found = ((part, _measured.get(each) or _reference_measurement(each)) for part, each in points.items())
    latest = ui.Call(_latest_by_part, tuple(found))
    background.submit(latest.key, latest, "quick")  # it does not wait for what is being timed
    ui.show_each(
        f"cost-{sweep}",
        {"stored": latest, **_requested_calls(points)},
        sweep_view,
        state,
        sweep,
        waiting=f"Timing {len(PARTS)} parts at {len(SWEEPS[sweep])} sizes each on this server, one after the other …",
        height=HEIGHT + (670 if sweep == "length" else 220),
        pool="timing",
        partly=True,
    )


def _latest_by_part(latest: tuple[tuple[str, Measurement], ...]) -> Latest:
    return dict(latest)


def _requested_calls(points: Mapping[str, Points]) -> dict[str, ui.Call[Latest]]:
    """Return the requested measurements that are neither finished nor cancelled, by part."""
    submitted = background.results()
    calls: dict[str, ui.Call[Latest]] = {}
    for part, each in points.items():
        if token := _requested.get(each):
            call = ui.Call(_measure_requested, each, token)
            if call.key in submitted and submitted[call.key].cancelled():
                _requested.pop(each)
            else:
                calls[part] = call
    return calls


def _measure_requested(points: Points, request: str) -> Latest:
    """Measure one part; the token of the request distinguishes the call from an earlier one."""
    return {points[0]: measure(points)}


def sweep_result(part: str, sweep: Sweep, sizes: tuple[LayerSize, ...], costs: MeasuredCosts) -> SweepResult:
    """Return the measurements of one part beside its formulas."""
    multiplications, saved_bytes = (
        np.array([formula(part, size) for size in sizes], dtype=float)
        for formula in (formulas.multiplications, formulas.expected_saved_bytes)
    )
    measured = costs.forward, costs.forward_backward, costs.saved_bytes
    return SweepResult(part, np.array(SWEEPS[sweep]), *measured, multiplications, saved_bytes)


def sweep_view(document: ui.Document, results: Mapping[str, Latest], state: CostState, sweep: Sweep) -> None:
    """Write the latest measurements of all parts beside the formulas; `results`: the stored ones, then new ones."""
    latest = dict(item for found in results.values() for item in found.items())
    swept = {part: sweep_result(part, sweep, state.sizes(sweep, part), each.costs) for part, each in latest.items()}
    document.finding(findings.FINDINGS[sweep](swept, state))
    # Above the figure, which without it says that a GRU is slower than an LSTM.
    document.text(findings.kernel_note(swept, state) if sweep == "length" else "")
    seconds, kept = [], []
    for each in swept.values():
        seconds += _lines(each, 1e3 * each.seconds(state.way), 1e3 * each.scaled_formula(state.way))
        kept += _lines(each, each.bytes_kept / 1e6, each.bytes_by_formula / 1e6)
    time = f"Time, {'forward and backward' if state.way == 'both' else 'forward'} (milliseconds)"
    memory = "Memory kept for the backward pass (MB)"
    panels = [
        ui.Panel(f"cost-{sweep}-seconds", cost_chart(time, seconds, sweep, "milliseconds"), title=time),
        ui.Panel(f"cost-{sweep}-bytes", cost_chart(memory, kept, sweep, "megabytes"), title=memory),
    ]
    document.figures(f"cost-{sweep}-figures", panels, height=HEIGHT, narrow_height=NARROW, columns=2)
    document.caption(findings.source_caption({part: each.source for part, each in latest.items()}))
    if sweep == "length":
        document.table("cost-length-fits", exponent_table(swept, state))
    for paragraph in findings.sweep_note(swept, state, sweep).split("\n\n"):
        document.text(paragraph)


def _lines(
    each: SweepResult, measured: Float[ndarray, " sizes"], formula: Float[ndarray, " sizes"]
) -> list[charts.Line]:
    """Return the dotted line of the formula, and dots at the measured sizes."""
    row, name = MODELS[MODEL_OF_PART.get(each.part, each.part)], findings.PART_NAMES[each.part]
    dots = charts.Line(
        name, name, row.colour, row.dash, each.x, measured, "hollow" if each.part == "fused" else "filled"
    )
    return [replace(dots, label="", title=f"{name}, formula", dash="1px,4px", values=formula, dots="", width=1.5), dots]


def cost_chart(title: str, lines: list[charts.Line], sweep: Sweep, unit: str) -> charts.LineChart:
    """Return measured costs and their formulas on logarithmic axes, where a power law is a straight line."""
    sizes = SWEEPS[sweep]
    shown = sizes if len(sizes) <= 6 else sizes[(len(sizes) - 1) % 2 :: 2]  # few enough for a phone; includes the last
    span = sizes[0] * 10**-0.04, sizes[-1] * 10**0.04
    x = charts.Axis(AXES[sweep], span, log=True, ticks={size: f"{size:,}" for size in shown}, upright=True)
    y = charts.Axis(unit, log=True)
    measured = charts.LineChart(f"{title} over {AXES[sweep]}", [line for line in lines if line.dots], x, y, margin=124)
    return replace(measured, lines=lines, words=measured.text)


def exponent_table(results: Mapping[str, SweepResult], state: CostState) -> charts.Table:
    """Return the fitted exponents of length beside those of the formulas, a row for each part."""
    columns = {
        "name": charts.Column("part", "model"),
        "formula": charts.Column("multiplications", wrap=True),
        "power": charts.Column("measured power", "number", wrap=True),
        "own": charts.Column("power of the formula", "number", wrap=True),
        "memory": charts.Column("power of memory", "number", minor=True),
        "rate": charts.Column("multiplications per nanosecond", "number", minor=True),
    }
    rows: list[charts.Row] = []
    for part in PARTS:
        numbers = *results[part].exponents("length", state.way), results[part].multiplications_per_nanosecond()
        rows.append(
            {
                "name": charts.Cell(findings.PART_NAMES[part], MODELS[MODEL_OF_PART.get(part, part)].colour),
                "formula": findings.FORMULAS[part],
                **{key: f"{value:.2f}" for key, value in zip(("power", "own", "memory", "rate"), numbers, strict=True)},
            }
        )
    caption = (
        f"Power of T: slope of the least squares line through the logarithms, from {findings.FIT_FROM['length']} on. "
        f"Time: forward {'and backward' if state.way == 'both' else 'only'}; the rate is that of the forward pass at "
        "the largest measured size."
    )
    return charts.Table(columns, rows, "How cost grows with length", caption)
