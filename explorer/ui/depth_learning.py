"""What a high stack needs to learn: trainings of 24 blocks with the norm here or there, and without residuals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np
import streamlit as st

from explorer.figures.comparison import comparison
from explorer.models.configs import TransformerTaggerConfig
from explorer.tasks.echo import EchoConfig
from explorer.training.config import RunConfig
from explorer.training.labelling_runs import CONTESTANTS, DEEP, Contestant
from explorer.training.record import Curves
from explorer.ui import depth_findings as findings
from explorer.ui import runs, training_controls
from explorer.ui.components import Panel, Playback, tracks
from explorer.ui.depth import Depth
from explorer.ui.findings import listed, seeds
from explorer.ui.learning import LEARNED, outcomes
from explorer.ui.page import explanation, plain, problems
from explorer.ui.runs import Lane
from explorer.ui.session import PageSession, bound
from explorer.ui.stepwise import last_step, playback
from explorer.ui.tagged import by_step
from explorer.ui.training_controls import Asked

HEIGHT, NARROW = 320, 240
_READ = {"loss": "Loss on fresh rows, nats", "exact": "Rows reversed without a mistake"}
_LOWEST = 1e-3  # nats: the end of the axis


def configs(state: Depth) -> dict[str, RunConfig]:
    """The run of each stack."""
    return {name: CONTESTANTS[name].config(seed=state.first) for name in DEEP}


def learning_section(session: PageSession[Depth]) -> None:
    """The whole section."""
    state, asked = session.state, Asked.of("deep")
    wanted = configs(state)
    lanes = runs.lanes(wanted, asked.raced)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.header("And when they learn?", anchor=False)
        training_controls.run_button(asked, wanted.values(), lanes, "deep")
    first = wanted[DEEP[0]]
    model, task = first.model, first.on(EchoConfig)
    assert isinstance(model, TransformerTaggerConfig)  # all who stand here are
    blocks, width = model.layers, model.width
    explanation(
        f"Stacks of {blocks} blocks, {width} numbers wide, are trained to write {task.longest} digits backwards: with "
        f"Adam at a rate of {first.optimiser.learning_rate:g} from the first step, without a warm-up, one of them at a "
        "quarter of that rate."
    )
    _first(session)
    problems(asked.problems)
    training_controls.offer_missing(lanes, asked, lambda names: listed([CONTESTANTS[name].words for name in names]))
    ends = outcomes(lanes)
    if said := findings.learning_finding(blocks, {words_of(name): end for name, end in ends.items()}):
        st.subheader(plain(said), anchor=False)
    races = asked.races
    training_controls.live_frame(
        "depth-race",
        wanted,
        asked.raced,
        lanes,
        lambda now: _racing(now, races),
        height=HEIGHT,
        narrow_height=NARROW,
        columns=2,
    )
    told = training_controls.outcome(lanes)
    st.caption(
        f"{told} Line: mean of {seeds(first.replicas)}. Band: lowest to highest. “Learned” means a loss below "
        f"{LEARNED} nats; guessing has ln {task.symbols} = {math.log(task.symbols):.2f}.".strip()
    )
    if claim := findings.claim_words(ends.get("echo-deep-after"), ends.get("echo-deep-gentle")):
        explanation(plain(claim))
    st.page_link(
        "text.py",
        label="What a warm-up does for four blocks of a language model",
        query_params={"experiment": "warmup"},
        icon=":material/stacked_line_chart:",
    )


def words_of(name: str) -> str:
    """What sets a stack apart: with the norm before each part."""
    return CONTESTANTS[name].words.removeprefix("the stack ")


def _first(session: PageSession[Depth]) -> None:
    ties = bound(session, "depth.first", session.state.first, lambda s, first: replace(s, first=first))
    st.number_input(
        "First seed", 0, 2**31 - 1, step=3, width=140, help="Other seeds draw other matrices and other rows.", **ties
    )


def _racing(lanes: Mapping[str, Lane], races: int) -> tuple[list[Panel], Playback]:
    last = last_step(lanes)
    drawn = tuple((CONTESTANTS[name], lane.curves) for name, lane in lanes.items())
    return [_panel(metric, drawn, last) for metric in _READ], playback(lanes, races, "depth")


@lru_cache(maxsize=64)
def _panel(metric: str, drawn: tuple[tuple[Contestant, Curves | None], ...], last: int) -> Panel:
    """Drawn once for all visitors who look at the same runs."""
    lines = [by_step(each, curves, metric) for each, curves in drawn]
    title = _READ[metric]
    ends = listed([f"{line.title} {line.mean[-1]:.2f}" for line in lines if len(line.mean)])
    if metric == "loss":
        highest = max((float(np.nanmax(line.high)) for line in lines if len(line.high)), default=0.0)
        axis, mark = (_LOWEST, max(10.0, 1.5 * highest)), (LEARNED, f"learned: {LEARNED}", "--soft")
    else:
        axis, mark = (0.0, 1.02), None
    figure = comparison(lines, "step", axis, log_y=metric == "loss", end=float(last), mark=mark, room=108, apart=0.09)
    return Panel(
        f"depth-{metric}",
        figure,
        alt=f"{title}, by step; at the end {ends or 'nothing yet'}.",
        title=title,
        tracks=tracks([(line.label, line.colour) for line in lines], 3 if metric == "loss" else 2),
    )
