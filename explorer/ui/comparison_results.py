"""What came of the runs that are compared: who is at the target first and why, the table, the settings, the starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st
from numpy import ndarray

from explorer.errors import LineageError
from explorer.inspection.comparing import Course, Difference, difference, over_seeds, paired, reached, same_start
from explorer.training import store
from explorer.training.estimate import duration
from explorer.training.record import Axis
from explorer.ui.comparing import AXES, UNITS, Comparison, Entrant, courses, differences
from explorer.ui.components import table
from explorer.ui.findings import listed


@dataclass(frozen=True)
class Arrival:
    """When a run is at the target: where its mean curve is, as the figure shows it, and how many seeds ever are."""

    entrant: Entrant
    at: float | None
    seeds: int


def arrivals(state: Comparison, entrants: Sequence[Entrant], target: float, axis: Axis) -> list[Arrival]:
    """When every run is at the target, on one axis."""
    found = []
    for entrant, c in zip(entrants, courses(state, entrants, axis), strict=True):
        if c is None or not len(c.x):
            found.append(Arrival(entrant, None, 0))
            continue
        mean = Course(c.x, over_seeds(c.values)[:, :1])
        at = float(reached(mean, target, state.rising)[0])
        there = int((~np.isnan(reached(c, target, state.rising))).sum())
        found.append(Arrival(entrant, None if np.isnan(at) else at, there))
    return found


def winners_finding(state: Comparison, entrants: Sequence[Entrant], target: float) -> str:
    """Who is at the target first: by step, by token, by second."""
    firsts: dict[Axis, Arrival] = {}
    for axis in AXES:
        there = [a for a in arrivals(state, entrants, target, axis) if a.at is not None]
        if there:
            firsts[axis] = min(there, key=lambda a: a.at or 0.0)
    if not firsts:
        return f"No run's mean is ever at {shown(target, state.rising)}. Drag the target to where they are."
    names = {first.entrant.key: first.entrant.name for first in firsts.values()}
    if len(names) == 1:
        one, found = next(iter(names.values())), listed([amount(first.at, axis) for axis, first in firsts.items()])
        if len(entrants) == 1:
            return f"{one} is at {shown(target, state.rising)} after {found}."
        return f"{one} is at {shown(target, state.rising)} first, whatever one counts: after {found}."
    parts = [f"{first.entrant.name} {AXES[axis]} ({amount(first.at, axis)})" for axis, first in firsts.items()]
    return f"First at {shown(target, state.rising)}: {listed(parts)}."


def amount(value: float | None, axis: Axis) -> str:
    """A place on an axis with its unit."""
    if value is None or not np.isfinite(value):
        return "never"
    if axis != "seconds":
        count = f"{value:,.0f}"
        return f"{count} {UNITS[axis].removesuffix('s') if count == '1' else UNITS[axis]}"
    return duration(value) if value >= 0.1 else f"{1000 * value:.0f} ms"


def price(entrant: Entrant) -> tuple[float, float] | None:
    """Milliseconds and tokens of a step."""
    curves = entrant.curves
    if curves is None or not len(curves.losses):
        return None
    steps = len(curves.losses)
    seconds, tokens = curves.seconds[-1] - curves.seconds[0], curves.tokens[-1] - curves.tokens[0]
    return 1000 * float(seconds) / steps, float(tokens) / steps


def price_formulas(entrants: Sequence[Entrant]) -> list[str]:
    """Seconds are steps times the price of a step: in words, then with the numbers of the cheapest and the dearest."""
    lines = [r"\text{seconds} = \text{steps} \times \text{seconds a step}"]
    priced = sorted(((p[0], e) for e in entrants if (p := price(e))), key=lambda pair: pair[0])
    for cost, entrant in priced[:: max(len(priced) - 1, 1)][:2]:
        curves = entrant.curves
        if curves is not None:
            steps = len(curves.losses)
            total = f"{cost * steps / 1000:.2f}"
            lines.append(
                rf"{total}\,\text{{s}} = {steps} \times {cost:.2f}\,\text{{ms}}\quad(\text{{run {entrant.label}}})"
            )
    return lines


def why_finding(entrants: Sequence[Entrant]) -> str:
    """Why the three axes may have three winners: what a step costs in each run."""
    prices = [(*p, e.name) for e in entrants if (p := price(e))]
    if len(prices) < 2:
        return ""
    quick, _, cheap = min(prices, key=lambda each: each[0])
    slow, _, dear = max(prices, key=lambda each: each[0])
    ratio = slow / max(quick, 1e-9)
    first = f"A step of {dear} takes {slow:.2f} ms, one of {cheap} {quick:.2f} ms: {ratio:.1f} times as long."
    tokens = [each[1] for each in prices]
    if max(tokens) - min(tokens) < 0.02 * max(tokens):
        return f"{first} Every step reads about {np.mean(tokens):,.0f} tokens a seed, so steps and tokens agree."
    return f"{first} Their steps read from {min(tokens):,.0f} to {max(tokens):,.0f} tokens a seed."


def verdict(first: Entrant, second: Entrant, state: Comparison) -> Difference | None:
    """How far the second run ends above the first, over the seeds."""
    one, other = first.last(state.y), second.last(state.y)
    if one is None or other is None:
        return None
    return difference(np.asarray(one, float), np.asarray(other, float), paired(first.config, second.config))


def verdict_words(found: Difference | None, rising: bool) -> str:
    """A difference with its interval, and whether it is more than luck."""
    if found is None:
        return "one seed tells nothing of luck"
    text = f"{_signed(found.mean, rising)} ({_signed(found.low, rising)} to {_signed(found.high, rising)})"
    return f"{text}, within the noise of the seeds" if found.noise else text


def shown(value: float, rising: bool) -> str:
    """An accuracy with three digits after the point, a loss with three that count."""
    if rising:
        return f"{value:.3f}"
    return f"{value:.3f}" if abs(value) >= 0.1 or not value else f"{float(f'{value:.2g}'):.8f}".rstrip("0").rstrip(".")


def _signed(value: float, rising: bool) -> str:
    text = shown(abs(value), rising)
    return text if not float(text) else f"{'−' if value < 0 else '+'}{text}"


def results(state: Comparison, entrants: Sequence[Entrant], target: float) -> None:
    """A row a run: how it ended, against the first one, what it cost, and when it was at the target."""
    by_axis = {axis: arrivals(state, entrants, target, axis) for axis in AXES}
    ends = [last for e in entrants if (last := e.last(state.y)) is not None]
    known = np.concatenate(ends) if ends else np.zeros(1)
    axis_range = [0.5, 1.0] if state.rising and np.nanmin(known) >= 0.5 else [0.0, 1.0]
    if not state.rising:
        axis_range = [0.0, float(f"{max(np.nanmax(known), 1e-6):.2g}")]
    rows = []
    for i, e in enumerate(entrants):
        last, cost = e.last(state.y), price(e)
        values = [] if last is None else [float(f"{v:.5g}") for v in last if np.isfinite(v)]
        arrived, count = by_axis["step"][i], e.config.replicas
        seeds = "" if arrived.seeds in (0, count) else f" ({arrived.seeds} of {count} seeds)"
        cells: dict[str, object] = {
            "name": {"text": e.title, "colour": e.lane.row.colour},
            "end": {"text": shown(float(np.mean(values)), state.rising) if values else "–", "values": values},
            "against": {"text": verdict_words(verdict(entrants[0], e, state), state.rising) if i else "–"},
            "parameters": {"text": f"{e.lane.parameters:,}" if e.lane.parameters else "–"},
            "price": {"text": f"{cost[0]:.2f} ms" if cost else "–"},
        }
        for axis in AXES:
            cells[axis] = {"text": amount(by_axis[axis][i].at, axis) + (seeds if axis == "step" else "")}
        rows.append({"cells": cells})
    first = entrants[0].name if entrants else ""
    table(
        [
            {"key": "name", "label": "", "kind": "model", "align": "left"},
            {"key": "end", "label": "at the end", "kind": "strip", "align": "left", "range": axis_range},
            {"key": "against", "label": f"against 1, {first}", "kind": "text", "align": "left"},
            {"key": "step", "label": f"steps to {shown(target, state.rising)}", "kind": "number", "align": "right"},
            {"key": "tokens", "label": "tokens", "kind": "number", "align": "right"},
            {"key": "seconds", "label": "time", "kind": "number", "align": "right"},
            {"key": "price", "label": "a step", "kind": "number", "align": "right"},
            {"key": "parameters", "label": "parameters", "kind": "number", "align": "right"},
        ],
        rows,
        key="comparison-results",
        label="Results, a row a run",
        caption="At the end: the mean and a dot for each seed. In brackets: the interval that 19 of 20 draws of seeds "
        "hold (Student's t; of pairs where seeds and data are the same). "
        "To the target: where the mean curve crosses it, and how many seeds ever do.",
    )


def differences_table(entrants: Sequence[Entrant]) -> None:
    """What differs in the runs' configurations, and nothing else."""
    rows = differences(entrants)
    columns = [{"key": "name", "label": "setting", "kind": "text", "align": "left"}]
    columns += [
        {"key": e.key, "label": e.title, "kind": "mono", "align": "left", "colour": e.lane.row.colour} for e in entrants
    ]
    table(
        columns,
        [
            {"cells": {"name": {"text": name}} | {e.key: {"text": v} for e, v in zip(entrants, values, strict=True)}}
            for name, values in rows.items()
        ],
        key="comparison-differences",
        label="Settings in which the runs differ",
        caption="Every setting that is not named here is the same in all of them.",
    )


@st.cache_resource(max_entries=256, show_spinner=False)
def _start(stamp: tuple[str, str], _run: store.StoredRun) -> dict[str, ndarray]:
    return _run.weights(0)


def start_finding(entrants: Sequence[Entrant]) -> list[str]:
    """Which of the runs' weights were the same before the first step, each pair of neighbours."""
    told = []
    for i, one in enumerate(entrants):
        for other in entrants[i + 1 :]:
            runs_of = [e.lane.stored for e in (one, other)]
            if one.config.seeds != other.config.seeds or not all(run and 0 in run.snapshot_steps() for run in runs_of):
                continue
            try:
                starts = [_start(run.stamp, run) for run in runs_of if run]
            except LineageError:
                continue
            shared, of = same_start(*starts)
            if shared:
                what = "all their weights" if len(shared) == of else listed([f"`{name}`" for name in shared])
                told.append(f"{one.title} and {other.title} start from the same numbers in {what}.")
    return told
