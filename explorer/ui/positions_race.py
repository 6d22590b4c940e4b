"""The same small task with each kind of positions and with none, and longer than it was trained."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
import streamlit as st

from explorer.figures.comparison import Line
from explorer.figures.positions import by_length
from explorer.figures.translation import by_step
from explorer.inspection.comparing import over_seeds
from explorer.tasks.echo import EchoConfig, asked_lengths
from explorer.training.labelling_runs import CONTESTANTS, Contestant
from explorer.training.record import Curves
from explorer.ui import positions_findings as findings
from explorer.ui import runs, tagged, training_controls
from explorer.ui.components import Panel, Playback, frame, tracks
from explorer.ui.findings import listed, seeds
from explorer.ui.page import explanation, plain, problems
from explorer.ui.positions import Positions
from explorer.ui.positions_findings import Echoed
from explorer.ui.runs import Lane
from explorer.ui.session import PageSession, bound
from explorer.ui.stepwise import last_step, playback
from explorer.ui.tagged import COLOUR
from explorer.ui.training_controls import Asked

_AGAIN = {"copy": "as they were", "reverse": "from the last to the first"}


def race_section(session: PageSession[Positions]) -> None:
    """The whole section."""
    state, asked = session.state, Asked.of("echo")
    lanes = runs.lanes(state.configs, asked.raced)
    st.header("The same task with each, and with none", anchor=False)
    explanation(
        f"Causal Transformers, alike in all but their positions, read digits and a bar, and say the digits again, "
        f"{_AGAIN[state.again]}. They are trained on 1 to {state.longest} digits, and asked for more."
    )
    _settings(session)
    problems(asked.problems)
    words = {name: each.words for name, each in state.contestants.items()}
    training_controls.offer_missing(lanes, asked, lambda names: listed([words[name] for name in names]))
    ends = outcomes(state, lanes)
    if ends:
        st.subheader(plain(findings.verdict(ends, state.longest)), anchor=False)
        _lengths(state, ends)
        explanation(plain(findings.beyond(ends, state.longest)))
        if said := findings.nothing(ends, state.longest):
            explanation(plain(said))
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.header("While they learn", anchor=False)
        training_controls.run_button(asked, state.configs.values(), lanes, "positions")
    _race(state, lanes, asked)


def _settings(session: PageSession[Positions]) -> None:
    state = session.state
    usual = Positions().who
    ties = bound(session, "positions.who", list(state.who), lambda s, who: s.with_who(tuple(who)))
    st.pills(
        "Who echoes",
        usual,
        format_func=lambda name: CONTESTANTS[f"echo-{name}"].title,
        selection_mode="multi",
        wrap=True,
        **ties,
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ties = bound(session, "positions.again", state.again, lambda s, v: s.racing(again=v))
        st.selectbox("Digits are said again", list(_AGAIN), format_func=_AGAIN.__getitem__, width=230, **ties)
        ties = bound(session, "positions.longest", state.longest, lambda s, v: s.racing(longest=v))
        st.number_input("Digits, at most", 1, 24, step=1, width=140, **ties)
        tagged.settings(session, "positions", by=100)


def outcomes(state: Positions, lanes: Mapping[str, Lane]) -> dict[str, Echoed]:
    """How each ended that was trained to its end."""
    found = {}
    for name, lane in lanes.items():
        values = tagged.parts(lane.result, "by_length") if training_controls.finished(lane) else None
        if values is not None:
            lengths = asked_lengths(lane.config.on(EchoConfig))
            found[name] = Echoed(state.contestants[name].words, lengths, values)
    return found


def _lengths(state: Positions, ends: Mapping[str, Echoed]) -> None:
    """Exact match at every length, trained or not: a panel for each model, for their lines lie on each other."""
    longest = max(each.lengths[-1] for each in ends.values())
    panels = [_panel(state.contestants[name], each, state.longest, longest) for name, each in ends.items()]
    frame(panels, key="positions-lengths", height=260, narrow_height=190, columns=len(panels))
    st.caption(
        "Exact match: the share of fresh rows of each length whose every digit is said rightly, each digit after the "
        "right ones before it; of a row that is all right, that is what the model would write by itself. "
        + (f"Line: mean of {seeds(state.seeds)}. Band: lowest to highest." if state.seeds > 1 else "Line: one seed.")
    )


def _panel(who: Contestant, each: Echoed, trained: int, longest: int) -> Panel:
    line = Line(who.label, who.words, COLOUR, who.dash, np.array(each.lengths, float), *over_seeds(each.exact.T).T)
    told = f"at {trained} {each.at(trained):.2f}, at {trained + 1} {each.at(trained + 1):.2f}"
    return Panel(
        f"positions-lengths-{who.name}",
        by_length(line, trained, longest),
        alt=f"{who.title}: exact match by the number of digits; {told}.",
        title=who.title,
        tracks=tracks([(line.label, line.colour)]),
        rest=float(trained + 1),
    )


def _race(state: Positions, lanes: Mapping[str, Lane], asked: Asked) -> None:
    races = asked.races
    training_controls.live_frame(
        "positions-race",
        state.configs,
        asked.raced,
        lanes,
        lambda now: _racing(state, now, races),
        height=300,
        narrow_height=240,
        columns=1,
    )
    outcome = training_controls.outcome(lanes)
    st.caption(f"{outcome} Exact match on a few fresh rows of every trained length, as the training goes on.".strip())


def _racing(state: Positions, lanes: Mapping[str, Lane], races: int) -> tuple[list[Panel], Playback]:
    last = last_step(lanes)
    drawn = tuple((state.contestants[name], lane.curves) for name, lane in lanes.items())
    return [_learning(drawn, last)], playback(lanes, races, "echo")


@lru_cache(maxsize=64)
def _learning(drawn: tuple[tuple[Contestant, Curves | None], ...], last: int) -> Panel:
    """Drawn once for all visitors who look at the same runs."""
    lines = [tagged.by_step(each, curves, "exact") for each, curves in drawn]
    return Panel(
        "learning-echo",
        by_step(lines, last),
        alt=f"Exact match on fresh rows by step: {listed([each.words for each, _ in drawn])}.",
        tracks=tracks([(line.label, line.colour) for line in lines]),
    )
