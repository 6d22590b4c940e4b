"""The sweeps: who solves recall at which length, and at which step size. Every tile is a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import get_args

import numpy as np
import streamlit as st

from explorer.catalogue import MODELS
from explorer.errors import LineageError
from explorer.figures.recall import solved
from explorer.training import estimate
from explorer.training.config import RunConfig
from explorer.training.estimate import duration
from explorer.training.recall_runs import CONTESTANTS, LENGTHS, OFTEN, at_rates, swept
from explorer.ui import recall_findings as findings
from explorer.ui import runs, training_controls
from explorer.ui.components import Panel, frame
from explorer.ui.findings import listed, seeds
from explorer.ui.memory import Memory, Sweep
from explorer.ui.memory_race import outcomes
from explorer.ui.page import explanation, plain, problems
from explorer.ui.recall_findings import Recalled
from explorer.ui.runs import Lane
from explorer.ui.session import PageSession, bound
from explorer.ui.training_controls import Asked

TITLES: dict[Sweep, str] = {"starts": "those of the race", "rates": "the RNN at several step sizes"}
_ROW = 34  # px


def sweep_section(session: PageSession[Memory]) -> None:
    """Tiles: models by lengths; each can be trained here, and stopped with what there is."""
    memory, asked = session.state, Asked.of("sweep")
    st.header("Is there a length at which it ends?", anchor=False)
    ties = bound(session, "memory.sweep", memory.sweep, lambda m, s: replace(m, sweep=s or m.sweep))
    st.segmented_control("Sweep", get_args(Sweep), format_func=TITLES.__getitem__, label_visibility="collapsed", **ties)
    try:
        configs = _configs(memory)
    except LineageError as error:
        problems([str(error)])
        return
    names = {_text(cell): config for cell, config in configs.items()}
    lanes = runs.lanes(names, asked.raced)
    found = outcomes({_text(cell): CONTESTANTS[cell[0]] for cell in configs}, lanes)
    cells = {cell: found[_text(cell)] for cell in configs if _text(cell) in found}
    for sentence in _told(memory.sweep, cells):
        st.subheader(plain(sentence), anchor=False)
    problems(asked.problems)
    with st.container(horizontal=True, vertical_alignment="center"):
        training_controls.run_button(asked, _missing(lanes), lanes, "sweep")
        _progress(lanes, asked)
    rows = list(dict.fromkeys(cell[:-1] for cell in configs))
    frame([_grid(memory, rows, cells)], key="memory-sweep", height=70 + _ROW * len(rows), columns=1)
    explanation(
        f"A tile is a training at that length; it says how many of {seeds(memory.seeds)} solve it within the steps of "
        "the race. The number is a fact about a length, a start, a step size and luck together: no tile is a law "
        "about an architecture."
    )


Cell = tuple[str, float, int]  # contestant, step size (0: its usual one), length


def _configs(memory: Memory) -> dict[Cell, RunConfig]:
    """The run of every tile. Raises InvalidSetting."""
    shared = {name: value for name, value in memory.shared.items() if name not in ("length", "learning_rate")}
    if memory.sweep == "rates":
        return {(name, rate, n): each for (name, rate, n), each in at_rates(OFTEN, **shared).items()}
    rate = {"learning_rate": memory.rate} if memory.rate else {}
    return {(name, memory.rate, n): each for (name, n), each in swept(memory.who, **shared, **rate).items()}


def _text(cell: Cell) -> str:
    return "/".join(map(str, cell))


def _missing(lanes: Mapping[str, Lane]) -> list[RunConfig]:
    """What has no run yet; where nothing is missing, everything once more."""
    every = [lane.config for lane in lanes.values()]
    return [lane.config for lane in lanes.values() if not lane.stored] or every


def _progress(lanes: Mapping[str, Lane], asked: Asked) -> None:
    """How far the sweep is, looked at again by itself; or what it would cost."""
    live = any(lane.live for lane in lanes.values())
    if not live:
        missing = _missing(lanes)
        st.caption(f"{len(missing)} trainings, about {duration(sum(map(estimate.seconds, missing)))}.")
        return
    configs, before = {name: lane.config for name, lane in lanes.items()}, _over(lanes)

    @st.fragment(key="sweep-progress", run_every=1.0 * training_controls.crowd())
    def drawn() -> None:
        now = runs.lanes(configs, asked.raced)
        if _over(now) != before:
            st.rerun()  # a tile more
        steps = sum(lane.config.steps for lane in now.values() if lane.job)
        done = sum(lane.job.step if lane.live else lane.config.steps for lane in now.values() if lane.job)
        said = f"{training_controls.progress(now)}; {sum(lane.live for lane in now.values())} trainings to go"
        st.progress(done / max(steps, 1), text=said)

    drawn()


def _over(lanes: Mapping[str, Lane]) -> int:
    return sum(bool(lane.job and lane.job.done) for lane in lanes.values())


def _grid(memory: Memory, rows: list[tuple[str, float]], cells: Mapping[Cell, Recalled]) -> Panel:
    shares = np.full((len(rows), len(LENGTHS)), np.nan)
    said = [["" for _ in LENGTHS] for _ in rows]
    for i, row in enumerate(rows):
        for j, length in enumerate(LENGTHS):
            each = cells.get((*row, length))
            if each:
                shares[i, j] = each.solved / len(each.accuracy)
                said[i][j] = str(each.solved)
    titles = [_title(memory.sweep, *row) for row in rows]
    told = [
        f"{title}: {listed([f'{each} at {n}' for each, n in zip(line, LENGTHS, strict=True) if each]) or 'no run yet'}"
        for title, line in zip(titles, said, strict=True)
    ]
    return Panel(
        f"sweep-{memory.sweep}-{len(rows)}",
        solved(shares, said, titles, [f"{n:,}" for n in LENGTHS], "symbols, trained and asked"),
        alt=f"Seeds that solve recall, by length. {'. '.join(told)}.",
    )


def _title(sweep: Sweep, name: str, rate: float) -> str:
    each = CONTESTANTS[name]
    return f"{each.short}, {rate:g}" if sweep == "rates" else each.short


def _told(sweep: Sweep, cells: Mapping[Cell, Recalled]) -> list[str]:
    """The finding in words."""
    if sweep == "rates":
        every = {name: {(rate, n): each for (who, rate, n), each in cells.items() if who == name} for name in OFTEN}
        told = [
            findings.moves(of, f"the {MODELS['rnn'].title} {CONTESTANTS[name].words}") for name, of in every.items()
        ]
        return [each for each in told if each]
    ended = findings.ends({name: {n: e for (w, _, n), e in cells.items() if w == name} for name, _, _ in cells})
    return [ended] if ended else []
