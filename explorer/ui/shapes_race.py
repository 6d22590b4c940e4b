"""The trainings behind one claim: a button, and what is learned by step, live while they go on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import streamlit as st

from explorer.figures.comparison import PER_RUN, Line
from explorer.figures.translation import by_step
from explorer.training.config import RunConfig
from explorer.training.record import Curves
from explorer.ui import runs, training_controls
from explorer.ui.components import Panel, Playback, tracks
from explorer.ui.page import problems
from explorer.ui.runs import Lane
from explorer.ui.stepwise import last_step, measured, playback
from explorer.ui.training_controls import Asked

HEIGHT = 220


@dataclass(frozen=True)
class Racer:
    """One line: a run, one thing that is measured of it, and how it is drawn."""

    run: str
    metric: str
    label: str  # at the end of the line
    words: str
    colour: str
    dash: str


@dataclass(frozen=True)
class Race:
    """The runs of one claim. `panels`: figures side by side, by their titles."""

    name: str
    configs: Mapping[str, RunConfig]
    panels: Mapping[str, tuple[Racer, ...]]
    caption: str

    def lanes(self) -> dict[str, Lane]:
        """What is known of the runs."""
        return runs.lanes(self.configs, Asked.of(self.name).raced)


def race_part(race: Race, lanes: Mapping[str, Lane]) -> None:
    """Train them here, and watch."""
    asked = Asked.of(race.name)
    problems(asked.problems)
    with st.container(horizontal=True, vertical_alignment="center"):
        training_controls.run_button(asked, race.configs.values(), lanes, f"shapes.{race.name}")
        st.caption(f"Training takes {training_controls.cost(lanes)}.")
    races = asked.races
    training_controls.live_frame(
        f"shapes-{race.name}-race",
        race.configs,
        asked.raced,
        lanes,
        lambda now: _pictures(race, now, races),
        height=HEIGHT,
        narrow_height=180,
        columns=len(race.panels),
    )
    st.caption(f"{training_controls.outcome(lanes)} {race.caption}".strip())


def _pictures(race: Race, lanes: Mapping[str, Lane], races: int) -> tuple[list[Panel], Playback]:
    last = last_step(lanes)
    panels = [
        _panel(race.name, title, tuple((each, lanes[each.run].curves) for each in racers), last)
        for title, racers in race.panels.items()
    ]
    return panels, playback(lanes, races, race.name)


@lru_cache(maxsize=32)
def _panel(name: str, title: str, drawn: tuple[tuple[Racer, Curves | None], ...], last: int) -> Panel:
    """Drawn once for all visitors who look at the same runs."""
    lines, told = [], []
    for each, curves in drawn:
        line = Line(each.label, each.words, each.colour, each.dash, *measured(curves, each.metric))
        lines.append(line)
        told.append(f"{each.words} {line.mean[-1]:.2f}" if len(line.mean) else f"{each.words} not yet")
    return Panel(
        f"shapes-{name}-{title}",
        by_step(lines, last),
        alt=f"{title}: share of right answers by step, at the end {'; '.join(told)}.",
        title=title,
        tracks=tracks([(line.label, line.colour) for line in lines], per_line=PER_RUN),
    )
