"""The notebook's trap: scored on the very sequences that were trained on, a net that recalls nothing looks right."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import streamlit as st

from explorer.catalogue import MODELS
from explorer.figures.comparison import Line
from explorer.figures.recall import own_and_fresh
from explorer.training.recall_runs import NOTEBOOK_STEPS, trap
from explorer.training.record import Curves
from explorer.ui import recall_findings as findings
from explorer.ui import runs, training_controls
from explorer.ui.components import Panel, Playback, tracks
from explorer.ui.page import explanation, plain, problems
from explorer.ui.runs import Lane
from explorer.ui.stepwise import last_step, measured, playback
from explorer.ui.training_controls import Asked

_KINDS = {
    "train_accuracy": ("its own", "its own sequences", "6px,4px"),
    "accuracy": ("fresh", "fresh sequences", "solid"),
}


def trap_section() -> None:
    """The notebook's protocol, followed for ten times as long, beside fresh sequences."""
    asked, configs = Asked.of("trap"), trap()
    lanes = runs.lanes(configs, asked.raced)
    st.header("Ask what it has not seen", anchor=False)
    explanation(
        "A notebook that this page grew from draws 256 sequences of 50 symbols once, learns from all of them in every "
        f"step, and after {NOTEBOOK_STEPS} steps scores them: 0.68 for the RNN, 0.57 for the LSTM. Here is its "
        "protocol, for eight seeds and ten times as long, asked twice: about its own sequences, and about fresh ones."
    )
    ended = {
        model: lane.result
        for model, lane in lanes.items()
        if lane.result is not None and training_controls.finished(lane)
    }
    for sentence in findings.trapped(ended):
        st.subheader(plain(sentence), anchor=False)
    if ended:
        explanation(findings.stopped(ended, NOTEBOOK_STEPS))
    problems(asked.problems)
    training_controls.run_button(asked, configs.values(), lanes, "trap")
    races = asked.races
    training_controls.live_frame(
        "memory-trap",
        configs,
        asked.raced,
        lanes,
        lambda now: _pictures(now, races),
        height=260,
        narrow_height=210,
        columns=2,
    )
    st.caption(
        f"{training_controls.outcome(lanes)} Line: mean of eight seeds. Band: lowest to highest. "
        f"Dashed line: guessing. Upright line: where the notebook stops.".strip()
    )


def _pictures(lanes: Mapping[str, Lane], races: int) -> tuple[list[Panel], Playback]:
    last = last_step(lanes)
    panels = [_panel(model, lane.curves, last) for model, lane in lanes.items()]
    return panels, playback(lanes, races, "trap", by=5.0)


@lru_cache(maxsize=16)
def _panel(model: str, curves: Curves | None, last: int) -> Panel:
    row, lines = MODELS[model], []
    for name, (label, words, dash) in _KINDS.items():
        lines.append(Line(label, words, row.colour, dash, *measured(curves, name)))
    return Panel(
        f"trap-{model}",
        own_and_fresh(lines, last, NOTEBOOK_STEPS),
        alt=f"{row.title}: accuracy on its own 256 sequences and on fresh ones, by step.",
        title=row.title,
        colour=row.colour,
        tracks=tracks([(words, row.colour) for _, words, _ in _KINDS.values()]),
    )
