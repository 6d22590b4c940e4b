"""What the models with and without the mask write by themselves: one after the visitor's beginning, one of symbols."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from explorer.tasks.noise import NoiseConfig
from explorer.tasks.tale import LETTERS
from explorer.ui import masks_findings as findings
from explorer.ui import slowly
from explorer.ui.findings import number, seeds
from explorer.ui.masks import BEGINNING, Masks
from explorer.ui.page import plain, problems
from explorer.ui.runs import Lane
from explorer.ui.session import PageSession, bound

if TYPE_CHECKING:
    from explorer.inspection.leaking import Written

HEIGHT = 330
LENGTH = 120  # letters of a tale, with its beginning
TALES = 6  # that every seed writes
SEEDS = 3  # of which one text stands on the screen
ROWS, SHOWN, GIVEN = 64, 10, 2  # rows of noise for every seed, those on the screen, and symbols that are given


def written_section(session: PageSession[Masks], lanes: Mapping[str, Lane]) -> None:
    """What they write, as soon as it is there."""
    kept = {name: lane for name, lane in lanes.items() if lane.kept}
    if not kept:
        return
    state = session.state
    st.header("What they write", anchor=False)
    if state.reads == "tale":
        ties = bound(session, "masks.begin", state.begin, lambda s, v: replace(s, begin=v))
        st.text_input("They go on from", max_chars=BEGINNING, width=400, **ties)
        problems(state.beginning[1])
    begin = state.beginning[0] if state.reads == "tale" else ""
    key = ("masks-written", *(part for lane in kept.values() for part in lane.stamp), begin)

    def texts() -> Mapping[str, Written]:
        return {name: _written(lane, begin) for name, lane in kept.items()}

    slowly.latest(  # both at once: they are there to be compared
        f"masks-written-{state.reads}",
        lambda: {"texts": (key, texts)},
        lambda found, old: _show(state, found["texts"], bool(old)),
        "The models write …",
        HEIGHT,
    )


def _written(lane: Lane, begin: str) -> Written:
    """What every seed of a run writes: after this beginning, or of noise after random symbols. Raises DamagedRun."""
    from explorer.inspection.leaking import beginnings, spelled, written
    from explorer.inspection.opening import open_model

    assert lane.kept is not None
    opened = open_model(lane.kept)
    if begin:
        return written(opened, spelled(begin, TALES), LENGTH)
    task = opened.config.on(NoiseConfig)
    return written(opened, beginnings(task, ROWS, GIVEN), task.length)


def _show(state: Masks, found: Mapping[str, Written], old: bool) -> None:
    for (name, made), column in zip(found.items(), st.columns(len(found)), strict=True):
        with column:
            if state.reads == "tale":
                _tale(state.contestants[name].title, made)
            else:
                _noise(state, state.contestants[name].title, made)
    st.caption(f"{'The models are still writing; these are their last texts. ' if old else ''}{_told(state)}")


def _tale(title: str, made: Written) -> None:
    st.markdown(plain(findings.spelling(title, made.ids, made.first)))
    few = range(min(SEEDS, len(made.ids)))
    chosen = made.ids[few, few]  # each by other dice
    st.code("\n\n".join(findings.texts(chosen, LETTERS)), language=None, wrap_lines=True)


def _noise(state: Masks, title: str, made: Written) -> None:
    letters = NoiseConfig(symbols=state.symbols).labels
    st.markdown(plain(findings.writing(state.symbols, title, made.ids, made.first, made.surest)))
    st.code(findings.rows(made.ids[0, :SHOWN], made.first, letters), language=None)


def _told(state: Masks) -> str:
    if state.reads == "tale":
        return (
            "Letters are drawn one by one as the model says, by the same dice for both, each after the last "
            f"{BEGINNING} letters. Shown: one text of each seed, of the first {number(SEEDS)} at most. The shares "
            f"count {TALES} texts of every seed ({seeds(state.seeds)})."
        )
    return (
        "Two symbols are given, the others drawn one by one as the model says, each read anew with all before it. "
        f"Shown: {SHOWN} rows of the first seed; the sentences count {ROWS} rows of every seed."
    )
