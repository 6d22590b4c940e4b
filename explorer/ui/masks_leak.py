"""The mask taken away: two models of which one can see what it is asked, in sentences and in random symbols."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from random import Random

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer.figures.comparison import Line
from explorer.figures.masks import losses
from explorer.inspection.comparing import over_seeds
from explorer.tasks.noise import NoiseConfig
from explorer.tasks.tale import TaleConfig, sentence
from explorer.training.labelling_runs import Contestant
from explorer.training.record import Curves
from explorer.ui import masks_findings as findings
from explorer.ui import runs, tagged, training_controls
from explorer.ui.components import Panel, Playback, frame, tracks
from explorer.ui.findings import listed, seeds
from explorer.ui.masks import READS, Masks
from explorer.ui.masks_findings import Leaked
from explorer.ui.masks_written import written_section
from explorer.ui.page import explanation, plain, problems
from explorer.ui.runs import Lane
from explorer.ui.session import PageSession, bound
from explorer.ui.stepwise import last_step, playback
from explorer.ui.tagged import COLOUR, by_step, parts
from explorer.ui.training_controls import Asked

LOWEST = 1e-3  # nats: what lies below is drawn at the edge
HEIGHT, NARROW = 260, 200
_READ = {"loss": "Read at once, as in training", "prefix_loss": "Fed as in generation"}


def leak_section(session: PageSession[Masks]) -> None:
    """The whole section."""
    state, asked = session.state, Asked.of(session.state.reads)
    lanes, task = runs.lanes(state.configs, asked.raced), task_of(state)
    st.header("Take the causal mask away", anchor=False)
    _settings(session)
    explanation(plain(_about(task)))
    problems(asked.problems)
    words = {name: each.words for name, each in state.contestants.items()}
    training_controls.offer_missing(lanes, asked, lambda names: listed([words[name] for name in names]))
    ends, reading = outcomes(lanes), findings.reading(task)
    causal, without = ends.get("causal"), ends.get("open")
    if said := findings.verdict(reading, causal, without):
        st.subheader(plain(said), anchor=False)
    written_section(session, lanes)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.header("While they learn", anchor=False)
        training_controls.run_button(asked, state.configs.values(), lanes, "masks")
    _race(state, lanes, asked)
    if without is not None:
        explanation(plain(findings.generation(reading, without)))
        _by_place(state, lanes)
        explanation(plain(findings.places(reading, without)))


def task_of(state: Masks) -> TaleConfig | NoiseConfig:
    """What the two models read."""
    return NoiseConfig(symbols=state.symbols) if state.reads == "noise" else TaleConfig()


def _about(task: TaleConfig | NoiseConfig) -> str:
    both = "Two Transformers, alike in all but the mask, are to name the next"
    if isinstance(task, NoiseConfig):
        return (
            f"{both} symbol of random rows, at every place at once. Nothing can be learned: whoever spreads an even "
            "guess loses the logarithm of the number of symbols, and nobody who sees only the past can lose less on "
            "average."
        )
    example = sentence(Random("masks")).strip()
    return (
        f"{both} letter, at every place of a row at once. The rows are cut from sentences of a small grammar, such as "
        f"“{example}” Each word is drawn by chance, so how much the grammar leaves open is known: {task.floor:.2f} "
        "nats a letter. Nobody who sees only the past can lose less on average."
    )


def _settings(session: PageSession[Masks]) -> None:
    state = session.state
    ties = bound(session, "masks.reads", state.reads, lambda s, v: s.racing(reads=v or s.reads))
    st.segmented_control("What they read", list(READS), format_func=READS.__getitem__, **ties)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if state.reads == "noise":
            ties = bound(session, "masks.symbols", state.symbols, lambda s, v: s.racing(symbols=v))
            st.number_input("Different symbols", 2, 26, step=1, width=150, **ties)
        tagged.settings(session, "masks", by=50)


def outcomes(lanes: Mapping[str, Lane]) -> dict[str, Leaked]:
    """How each ended that was trained to its end."""
    found = {}
    for name, lane in lanes.items():
        curves = lane.result
        if training_controls.finished(lane) and curves is not None and len(curves.evaluated):
            found[name] = Leaked(curves.last("loss"), curves.last("prefix_loss"), parts(curves, "by_place"))
    return found


# ---- while they learn


def _race(state: Masks, lanes: Mapping[str, Lane], asked: Asked) -> None:
    races, task = asked.races, task_of(state)
    training_controls.live_frame(
        "masks-race",
        state.configs,
        asked.raced,
        lanes,
        lambda now: _racing(state, now, races),
        height=HEIGHT,
        narrow_height=NARROW,
        columns=2,
    )
    outcome, reading = training_controls.outcome(lanes), findings.reading(task)
    st.caption(
        f"{outcome} Loss in nats on fresh rows of {task.places} {reading.sign}s. Left: the row is read at "
        f"once, every place asked. Right: every {reading.sign} is asked of the {reading.sign}s before it alone. "
        f"{_line(state.seeds)} Across: the floor, the least that is possible. The axis is logarithmic.".strip()
    )


def _line(count: int) -> str:
    return f"Line: mean of {seeds(count)}. Band: lowest to highest." if count > 1 else "Line: one seed."


def _racing(state: Masks, lanes: Mapping[str, Lane], races: int) -> tuple[list[Panel], Playback]:
    last = last_step(lanes)
    drawn = tuple((state.contestants[name], lane.curves) for name, lane in lanes.items())
    panels = [_learning(metric, drawn, last, task_of(state)) for metric in _READ]
    return panels, playback(lanes, races, state.reads)


@lru_cache(maxsize=64)
def _learning(
    metric: str,
    drawn: tuple[tuple[Contestant, Curves | None], ...],
    last: int,
    task: TaleConfig | NoiseConfig,
) -> Panel:
    """Drawn once for all visitors who look at the same runs."""
    every = [by_step(each, curves, name) for each, curves in drawn for name in _READ]
    lines = [by_step(each, curves, metric) for each, curves in drawn]
    return _panel(f"leak-{metric}", _READ[metric], lines, "step", float(last), _span(every, task), task)


def _span(lines: Iterable[Line], task: TaleConfig | NoiseConfig) -> tuple[float, float]:
    """The axis that all panels share: from one power of ten to a little above the highest."""
    known = np.concatenate([np.concatenate([line.low, line.high]) for line in lines])
    known = known[np.isfinite(known) & (known > 0)]
    reading = findings.reading(task)
    low = min(known.min(initial=reading.floor), reading.floor / 2)
    return float(10 ** np.floor(np.log10(max(low, LOWEST)))), float(1.3 * known.max(initial=reading.guessing))


def _panel(
    name: str,
    title: str,
    lines: list[Line],
    axis: str,
    last: float,
    span: tuple[float, float],
    task: TaleConfig | NoiseConfig,
) -> Panel:
    reading = findings.reading(task)
    # In a tale the first letter of a word leaves more open than the last: what is possible is no line over places.
    floor = None if axis == "place" and isinstance(task, TaleConfig) else (reading.floor, reading.least)
    ends = listed([f"{line.title} {line.mean[-1]:.2f}" for line in lines if len(line.mean)])
    return Panel(
        name,
        losses(lines, axis == "place", last, span, floor),
        alt=f"{title}: loss by {axis}; at the end {ends or 'nothing yet'}; the least possible is {reading.floor:.2f}.",
        title=title,
        tracks=tracks([(line.label, line.colour) for line in lines]),
        rest=last if axis == "place" else None,
    )


# ---- by place


def _by_place(state: Masks, lanes: Mapping[str, Lane]) -> None:
    """The loss at each place of the row, at the end."""
    found: dict[tuple[str, str], list[Line]] = {}
    for answer, title in (("by_place", "Read at once, by place"), ("prefix_by_place", "As in generation, by place")):
        for name, lane in lanes.items():
            values = parts(lane.result, answer)
            if values is not None:
                found.setdefault((answer, title), []).append(_over_places(state.contestants[name], values))
    if not found:
        return
    task, every = task_of(state), [line for lines in found.values() for line in lines]
    last, span = max(float(line.x[-1]) for line in every), _span(every, task)
    frame(
        [_panel(f"leak-{answer}", title, lines, "place", last, span, task) for (answer, title), lines in found.items()],
        key="masks-places",
        height=HEIGHT,
        narrow_height=NARROW,
        columns=2,
    )


def _over_places(each: Contestant, values: Float[ndarray, "replicas places"]) -> Line:
    x = np.arange(1, values.shape[1] + 1, dtype=float)
    return Line(each.label, each.words, COLOUR, each.dash, x, *over_seeds(values.T).T)
