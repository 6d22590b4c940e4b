"""Step by step: what else could be written, greedily or by beam search, and what it costs to read one's own writing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from explorer.errors import InvalidSetting
from explorer.figures.translation_steps import both, by_place
from explorer.tasks.dates import WAYS
from explorer.tasks.translation import (
    BOS,
    EOS,
    TranslationConfig,
    read_back,
    right_answer,
    said,
    spelled,
    target_tokens,
)
from explorer.training.translation_runs import Contestant
from explorer.ui import packed
from explorer.ui import translation_answers_findings as findings
from explorer.ui.components import Panel, ears, frame, heard, register, tracks
from explorer.ui.findings import seeds
from explorer.ui.page import empty_panel, explanation, plain
from explorer.ui.runs import Lane
from explorer.ui.session import PageSession, bound, write_address
from explorer.ui.slowly import eventually, latest
from explorer.ui.translation import Translation
from explorer.ui.translation_answers import opened
from explorer.ui.translation_choices import model_choice, replica_of, with_runs, without_runs

if TYPE_CHECKING:
    from explorer.inspection.translating import Exposed

COUNT, PER_WAY = 200, 20  # fresh sources of a length, or in each way of writing a date
HEIGHT = 320
_KEY = "translation-beams"
_FED = ("after the right tokens", "after its own")
_MARKS = {BOS: "begin", EOS: "end"}
_beams = register("beams")


@dataclass(frozen=True)
class Searched:
    """The beam searches of one seed on one source, for the browser."""

    task: TranslationConfig
    source: tuple[int, ...]
    starts: tuple[int, ...]
    best: tuple[tuple[int, ...], ...]
    content: bytes


def steps_section(session: PageSession[Translation], lanes: Mapping[str, Lane]) -> None:
    """The whole section. `lanes` are those of the page, by the name of their contestant."""
    st.header("Step by step", anchor=False)
    explanation(
        "Greedy decoding takes the likeliest token at each step and never looks back. Beam search keeps several "
        "sequences and goes on from all of them: what began badly may still end well."
    )
    state = session.state
    known = with_runs(lanes, state.contestants)
    without_runs(lanes, state.contestants)
    if not known:
        empty_panel("No model with a run to look into: choose one above and train it.", HEIGHT)
        return
    name = model_choice(session, known, "translation.steps")
    _search_part(session, known[name], state.contestants[name])
    _exposure_part(session, known[name], state.contestants[name])


# ---- beam search


def _search_part(session: PageSession[Translation], lane: Lane, contestant: Contestant) -> None:
    state = session.state
    try:
        source = spelled(state.settings, state.source)
    except InvalidSetting:  # said where it is typed
        empty_panel("There is no source to read: correct it above.", HEIGHT)
        return
    replica = replica_of(state, lane)
    key = ("translation-beams", *lane.stamp, replica, source)
    mine = f"{state.task} {contestant.name}"  # of these alone something old may stay meanwhile
    wanted = {mine: (key, partial(searched, lane, state.settings, source, replica))}

    def draw(found: Mapping[str, Searched], old: frozenset[str]) -> None:
        if mine in found:
            _hear_width(session, len(found[mine].best))
            _show_search(session.state, contestant, found[mine])

    latest(_KEY, lambda: wanted, draw, "The model writes with every width …", 640)


def searched(lane: Lane, task: TranslationConfig, source: tuple[int, ...], replica: int) -> Searched:
    """Search with every width. Raises DamagedRun."""
    from explorer.inspection.translating import translator, trees

    found = trees(translator(opened(lane).alone(replica)), task, source)
    content = packed.pack({"nodes": found.nodes, "logs": found.logs})
    return Searched(task, source, found.starts, found.best, content)


def _hear_width(session: PageSession[Translation], widest: int) -> None:
    """The width that the visitor chose in the browser is a part of the address."""
    told = heard(_KEY, "width")
    if type(told) is int and 1 <= told <= widest and told != session.state.width:
        session.state = replace(session.state, width=told)
        write_address(session)


def _show_search(state: Translation, contestant: Contestant, found: Searched) -> None:
    task, right = found.task, right_answer(found.task, found.source)
    _beams(
        data={
            "title": contestant.title,
            "colour": contestant.colour,
            "source": read_back(task, found.source),
            "right": None if right is None else said(task, right),
            "tokens": [_MARKS.get(token, token) for token in target_tokens(task)],
            "width": state.width,
            "starts": list(found.starts),
            "best": [list(places) for places in found.best],
            "address": packed.offer(found.content),
            "file": f"{state.task}-beams-{contestant.name}",
        },
        key=_KEY,
        **ears(_KEY, "width"),
    )


# ---- exposure bias


def _exposure_part(session: PageSession[Translation], lane: Lane, contestant: Contestant) -> None:
    state = session.state
    st.subheader("Teacher forcing and free running", anchor=False)
    explanation(
        "In training the right tokens stand before every question, whatever the model would have written (teacher "
        "forcing). In use it reads its own writing, mistakes and all (free running). What lies between the two is "
        "exposure bias."
    )
    length = asked_length(state)
    if state.task != "dates":
        ties = bound(session, "translation.fed", length, lambda s, new: replace(s, fed=0 if new == s.longest else new))
        told = {n: f"{n} digits" + (", beyond training" if n > state.longest else "") for n in lengths(state)}
        st.selectbox("Length of the sources", list(told), format_func=lambda n: told[n], width=280, **ties)
    key = ("translation-exposure", *lane.stamp, length)
    make = partial(exposed, lane, state.settings, length)
    show = partial(_show_exposure, state, contestant, length)
    eventually("translation-exposure", key, make, show, "Every seed writes beside the right target …", HEIGHT + 120)


def lengths(state: Translation) -> list[int]:
    """The lengths of sources that may be asked for: a few of the trained ones, and two beyond."""
    n = state.longest
    return sorted({max(1, n // 4), max(1, n // 2), max(1, 3 * n // 4), n, n + 1, n + 5})


def asked_length(state: Translation) -> int:
    """The length that is asked for; 0 of dates."""
    if state.task == "dates":
        return 0
    return state.fed if state.fed in lengths(state) else state.longest


def exposed(lane: Lane, task: TranslationConfig, length: int) -> Exposed:
    """Ask every seed on fresh sources. Raises DamagedRun."""
    from explorer.inspection.translating import exposed as asked
    from explorer.inspection.translating import translator

    return asked(translator(opened(lane).stack), task, length, COUNT if length else PER_WAY)


def _show_exposure(state: Translation, contestant: Contestant, length: int, found: Exposed) -> None:
    losses = (found.given_loss, found.own_loss)
    finding = findings.exposed(contestant.words, found.given_accuracy, found.own_accuracy, losses)
    st.subheader(plain(finding), anchor=False)
    accuracy = both(found.given_accuracy, found.own_accuracy, contestant.words, contestant.colour)
    loss = both(*losses, contestant.words, contestant.colour)
    panels = [
        Panel(
            f"{state.task}-exposure-{name}",
            by_place(lines, loss=name == "loss"),
            alt=f"{title}, by place in the target. {finding}",
            title=title,
            tracks=tracks([(words, contestant.colour) for words in _FED], 3 if name == "loss" else 2),
        )
        for name, title, lines in (("accuracy", "Accuracy", accuracy), ("loss", "Loss, nats", loss))
    ]
    frame(panels, key="translation-exposure-curves", height=HEIGHT, narrow_height=260, columns=2)
    asked = f"{COUNT} fresh sources of {length} digits" if length else f"{PER_WAY * len(WAYS)} fresh dates in all ways"
    band = "; band: lowest to highest" if len(found.own_loss) > 1 else ""
    st.caption(
        f"{contestant.title} on {asked}; the last place is the end. Solid: after the right tokens, dotted: after its "
        f"own. Mean of {seeds(len(found.own_loss))}{band}."
    )
