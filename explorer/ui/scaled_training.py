"""Does the division matter in training? One wide head that learns to reverse digits, with it and without."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
import streamlit as st

from explorer.figures.comparison import Line, comparison
from explorer.tasks.echo import EchoConfig
from explorer.training.config import RunConfig
from explorer.training.labelling_runs import Contestant
from explorer.training.record import Curves
from explorer.ui import runs, tagged, training_controls
from explorer.ui import scaled_findings as findings
from explorer.ui.components import Panel, Playback, tracks
from explorer.ui.findings import listed, seeds
from explorer.ui.learning import LEARNED, outcomes
from explorer.ui.page import explanation, plain, problems
from explorer.ui.runs import Lane
from explorer.ui.scaled import Scaled
from explorer.ui.session import PageSession
from explorer.ui.stepwise import last_step, playback
from explorer.ui.tagged import by_step
from explorer.ui.training_controls import Asked

HEIGHT, NARROW = 300, 220
_READ = {"loss": ("Loss on fresh rows, nats", 2.6), "exact": ("Rows reversed without a mistake", 1.02)}


def training_section(session: PageSession[Scaled]) -> None:
    """The whole section."""
    state, asked = session.state, Asked.of("scaled")
    lanes = runs.lanes(state.configs, asked.raced)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.header("Does it matter in training?", anchor=False)
        training_controls.run_button(asked, state.configs.values(), lanes, "scaled")
    config = next(iter(state.configs.values()))
    width, task = width_of(config), config.on(EchoConfig)
    explanation(
        f"Two Transformers of one layer and one head, {width} numbers wide, learn to write {task.longest} digits "
        "backwards. Their queries and keys start at a variance of one, as above. They differ in the division alone."
    )
    _settings(session)
    problems(asked.problems)
    words = {name: each.words for name, each in state.contestants.items()}
    training_controls.offer_missing(lanes, asked, lambda names: listed([words[name] for name in names]))
    ends = outcomes(lanes)
    if said := findings.training_verdict(width, ends.get("scaled"), ends.get("raw")):
        st.subheader(plain(said), anchor=False)
    races = asked.races
    training_controls.live_frame(
        "scaled-race",
        state.configs,
        asked.raced,
        lanes,
        lambda now: _racing(state, now, races),
        height=HEIGHT,
        narrow_height=NARROW,
        columns=2,
    )
    band = f"Line: mean of {seeds(state.seeds)}. Band: lowest to highest." if state.seeds > 1 else "Line: one seed."
    st.caption(f"{training_controls.outcome(lanes)} {band} “Learned” means a loss below {LEARNED} nats.".strip())


def width_of(config: RunConfig) -> int:
    """d_k of a run's heads."""
    model = config.model
    return int(model.width // model.heads)  # type: ignore[union-attr]  # all who race here are Transformers


def _settings(session: PageSession[Scaled]) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        tagged.settings(session, "scaled", by=50)


def _racing(state: Scaled, lanes: Mapping[str, Lane], races: int) -> tuple[list[Panel], Playback]:
    last = last_step(lanes)
    drawn = tuple((state.contestants[name], lane.curves) for name, lane in lanes.items())
    panels = [_panel(metric, drawn, last) for metric in _READ]
    return panels, playback(lanes, races, "scaled")


@lru_cache(maxsize=64)
def _panel(metric: str, drawn: tuple[tuple[Contestant, Curves | None], ...], last: int) -> Panel:
    """Drawn once for all visitors who look at the same runs."""
    lines: list[Line] = [by_step(each, curves, metric) for each, curves in drawn]
    title, top = _READ[metric]
    ends = listed([f"{line.title} {line.mean[-1]:.2f}" for line in lines if len(line.mean)])
    highest = max((float(np.nanmax(line.high)) for line in lines if len(line.high)), default=0.0)
    top = max(top, highest * 1.05) if metric == "loss" else top
    mark = (LEARNED, f"learned: {LEARNED}", "--soft") if metric == "loss" else None
    figure = comparison(lines, "step", (0.0, top), end=float(last), mark=mark, room=100, apart=0.1)
    return Panel(
        f"scaled-{metric}",
        figure,
        alt=f"{title}, by step; at the end {ends or 'nothing yet'}.",
        title=title,
        tracks=tracks([(line.label, line.colour) for line in lines]),
    )
