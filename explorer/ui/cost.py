"""What it costs: the state of the page, and the sweeps over length, width and layers that are measured here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, Literal
from uuid import uuid4

import numpy as np
import streamlit as st

from explorer.catalogue import MODELS, TASKS
from explorer.errors import InvalidSetting, shortened
from explorer.figures.cost import PER_LINE, Costs, costs
from explorer.inspection import cost as formulas
from explorer.inspection.cost import PARTS, Measured, Size
from explorer.ui import cost_findings as findings
from explorer.ui.components import Panel, frame, table
from explorer.ui.cost_findings import Swept
from explorer.ui.page import EXPLANATION, plain
from explorer.ui.session import PageSession, bound
from explorer.ui.slowly import latest

HEIGHT, NARROW = 380, 320  # of a figure, in pixels
SECONDS: Final = 0.6  # for one kind of part in one sweep; all eighteen take about ten
WIDTHS, LENGTHS, HEADS = (16, 32, 64, 128, 256), (64, 128, 256, 512), (1, 2, 4, 8)
Sweep = Literal["length", "width", "layers"]
SWEEPS: Final[Mapping[Sweep, tuple[int, ...]]] = {
    "length": (32, 64, 128, 256, 512, 1_024, 2_048),
    "width": (16, 32, 64, 128, 256, 512),
    "layers": (1, 2, 4, 8),
}
AXES: Final[Mapping[Sweep, str]] = {
    "length": "tokens in the sequence, T",
    "width": "numbers in a vector, d",
    "layers": "layers",
}
_TOKEN = "cost.token"  # of the last press of "Measure again"
_ARCHITECTURES = {"attention": "transformer", "fused": "transformer"}


def _who(given: object) -> None:
    task, _, model = str(given).partition("-")
    if model not in MODELS or task not in MODELS[model].variants or model == "ngram":
        raise InvalidSetting(f"There is no “{shortened(given)}” to count. Give a task and a model: text-transformer.")


def _one_of(*possible: int) -> object:
    def check(given: object) -> None:
        if given not in possible:
            raise InvalidSetting(f"{given} is not measured here. Give one of {', '.join(map(str, possible))}.")

    return check


@dataclass(frozen=True)
class Cost:
    """Which sizes are measured, what of it is shown, and whose parameters are counted at which sizes."""

    way: Literal["both", "forward"] = "both"
    width: int = field(default=64, metadata={"check": _one_of(*WIDTHS)})  # where the length grows, or the layers
    length: int = field(default=128, metadata={"check": _one_of(*LENGTHS)})  # where the width grows, or the layers
    heads: int = field(default=4, metadata={"check": _one_of(*HEADS)})
    who: str = field(default="text-transformer", metadata={"check": _who})
    d: int = field(default=0, metadata={"low": 0, "high": 512})  # sizes by hand; 0: the default of the model
    m: int = field(default=0, metadata={"low": 0, "high": 2_048})
    layers: int = field(default=0, metadata={"low": 0, "high": 24})
    vocabulary: int = field(default=0, metadata={"low": 0, "high": 50_000})

    def sizes(self, sweep: Sweep, part: str) -> tuple[Size, ...]:
        """Every point of a sweep. Only attention has heads: whatever their number, the others are measured once."""
        start = Size(self.length, self.width, 1, self.heads if part in _ARCHITECTURES else 1)
        changes: list[dict[str, Any]] = [{sweep: value} for value in SWEEPS[sweep]]
        return tuple(replace(start, **each) for each in changes)

    def of(self, who: str) -> Cost:
        """Another model, at its own sizes."""
        return replace(self, who=who, d=0, m=0, layers=0, vocabulary=0)

    def sized(self, name: str, value: int) -> Cost:
        """One size by hand."""
        changes: dict[str, Any] = {name: value}
        return replace(self, **changes)

    @property
    def task_and_model(self) -> tuple[str, str]:
        task, _, model = self.who.partition("-")
        return task, model

    @property
    def title(self) -> str:
        task, model = self.task_and_model
        return f"{MODELS[model].title}, {TASKS[task].title}"


def controls(session: PageSession[Cost]) -> None:
    """What is measured."""
    state = session.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ties = bound(session, "cost.way", state.way, lambda s, new: replace(s, way=new or s.way))
        ways = {"both": "forward and back", "forward": "forward alone"}
        st.segmented_control("Time of", list(ways), format_func=ways.__getitem__, **ties)
        ties = bound(session, "cost.width", state.width, lambda s, new: replace(s, width=new))
        st.selectbox("Width, where it stays", WIDTHS, width=180, **ties)
        ties = bound(session, "cost.length", state.length, lambda s, new: replace(s, length=new))
        st.selectbox("Length, where it stays", LENGTHS, width=180, **ties)
        ties = bound(session, "cost.heads", state.heads, lambda s, new: replace(s, heads=new))
        st.selectbox("Heads", HEADS, width=90, **ties)

        def again() -> None:
            st.session_state[_TOKEN] = uuid4().hex  # each press measures anew, whatever others have measured

        st.button("Measure again", icon=":material/timer:", on_click=again, key="cost.again")
        st.button(
            "Back to the defaults",
            icon=":material/undo:",
            on_click=lambda: session.change(lambda s: Cost()),
            disabled=state == Cost(),
        )


def _measure(part: str, sizes: tuple[Size, ...]) -> Measured:
    from explorer.inspection.cost_measuring import measured

    return measured(part, sizes, SECONDS)


def sweep_section(state: Cost, sweep: Sweep) -> None:
    """One sweep: every kind of part is measured by itself and drawn once it is there."""
    token = st.session_state.get(_TOKEN, "")
    wanted = {}
    for part in PARTS:
        sizes = state.sizes(sweep, part)
        wanted[part] = (f"cost-{sweep}", part, *sizes, token), partial(_measure, part, sizes)

    def draw(found: Mapping[str, Measured], old: frozenset[str]) -> None:
        _draw(state, sweep, {part: each for part, each in found.items() if part not in old})

    what = f"Timing {len(PARTS)} parts at {len(SWEEPS[sweep])} sizes each on this server, one after the other …"
    height = HEIGHT + (670 if sweep == "length" else 220)
    latest(f"cost-{sweep}", lambda: wanted, draw, what, height, pool="timing")


def swept(part: str, sweep: Sweep, sizes: tuple[Size, ...], found: Measured) -> Swept:
    """What was measured beside what its formulas say."""
    return Swept(
        part,
        np.array(SWEEPS[sweep]),
        found.forward,
        found.both,
        found.kept,
        np.array([formulas.multiplications(part, size) for size in sizes], dtype=float),
        np.array([formulas.bytes_kept(part, size) for size in sizes], dtype=float),
    )


def _draw(state: Cost, sweep: Sweep, found: Mapping[str, Measured]) -> None:
    """What is there of a sweep; its sentences once it is whole."""
    every = {part: swept(part, sweep, state.sizes(sweep, part), found[part]) for part in PARTS if part in found}
    whole = len(every) == len(PARTS)
    said = findings.FINDINGS[sweep](every, state) if whole else f"{len(every)} of {len(PARTS)} parts are measured."
    st.subheader(plain(said), anchor=False)
    time = [_costs(each, 1e3 * each.seconds(state.way), 1e3 * each.fitted(state.way)) for each in every.values()]
    memory = [_costs(each, each.kept / 1e6, each.bytes / 1e6) for each in every.values()]
    way = "forward and back" if state.way == "both" else "forward"
    frame(
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
        _fits(state, every)
    with st.container(width=EXPLANATION):
        if not whole:
            st.markdown(plain(f"{findings.missing(list(every))} being timed …"))
        else:
            st.markdown(plain(findings.note(every, state, sweep)))


def _costs(each: Swept, measured: np.ndarray, formula: np.ndarray) -> Costs:
    row = MODELS[_ARCHITECTURES.get(each.part, each.part)]
    name = findings.NAMES[each.part]
    return Costs(name, row.colour, row.dash, each.x, measured, formula, each.part == "fused")


def _panel(name: str, title: str, unit: str, lines: list[Costs], sweep: Sweep) -> Panel:
    ends = "; ".join(
        f"{line.name} {there[0]:.2g} to {there[-1]:.2g}"
        for line in lines
        if len(there := line.measured[np.isfinite(line.measured)])
    )
    tracks = [
        {"trace": PER_LINE * i + 1, "title": line.name, "colour": line.colour, "digits": 2}
        for i, line in enumerate(lines)
    ]
    return Panel(
        name,
        costs(lines, AXES[sweep], unit, SWEEPS[sweep]),
        f"{title} over {AXES[sweep]}: {ends}.",
        title=title,
        tracks=tracks,
    )


def _fits(state: Cost, found: Mapping[str, Swept]) -> None:
    """The powers of the length that were fitted, beside those of the formulas; a row for each part, measured or not."""
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
            "name": {"text": findings.NAMES[part], "colour": MODELS[_ARCHITECTURES.get(part, part)].colour},
            "formula": {"text": findings.FORMULAS[part]},
        }
        if part in found:
            numbers = *found[part].powers("length", state.way), found[part].rate()
            for key, value in zip(("power", "own", "memory", "rate"), numbers, strict=True):
                cells[key] = {"text": f"{value:.2f}"}
        rows.append({"cells": cells})
    table(
        columns,
        rows,
        key="cost-length-fits",
        label="How cost grows with length",
        caption=f"Power of T: slope of the least squares line through the logarithms, from {findings.FROM['length']} "
        f"on. Of forward {'and back' if state.way == 'both' else 'alone'}; the rate is that of the forward at the last "
        "size that was measured.",
    )
