"""Likeness over the layers, for the trained encoder and its two controls; and how both learn."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import streamlit as st

from explorer.figures.comparison import Line
from explorer.figures.senses import OTHER, SAME, by_layer
from explorer.figures.translation import by_step
from explorer.training.config import RunConfig, key
from explorer.training.labelling_runs import Contestant
from explorer.training.record import Curves
from explorer.ui import sentences_findings as findings
from explorer.ui import training_controls
from explorer.ui.components import Panel, Playback, frame, tracks
from explorer.ui.findings import listed, seeds
from explorer.ui.page import explanation, plain
from explorer.ui.runs import Lane
from explorer.ui.sentences import Sentences
from explorer.ui.slowly import each_eventually
from explorer.ui.stepwise import last_step, measured, playback
from explorer.ui.training_controls import Asked

if TYPE_CHECKING:
    from explorer.inspection.senses import Alike

HEIGHT = 300
COLOUR = "--m-transformer"
FIRST = {"gloss": "sense", "gist": "synonym"}
NEW = {"gloss": "new_cues", "gist": "new_synonym"}


def curves_section(state: Sentences, lanes: Mapping[str, Lane]) -> None:
    """The sentence at the top, and both cosines over the layers, three times beside each other."""
    encoder, alone = (lanes[name] for name in state.names)
    if encoder.kept is None or alone.kept is None:
        return
    wanted = {
        "After training": (("sentences-alike", *encoder.stamp), partial(_trained, encoder)),
        "Before training": (("sentences-alike", key(encoder.config)), partial(_untrained, encoder.config)),
        "Without attention": (("sentences-alike", *alone.stamp), partial(_trained, alone)),
    }

    def draw(found: Mapping[str, Alike]) -> None:
        if len(found) == len(wanted):
            _drawn(state, found)

    each_eventually("sentences-alike", wanted, draw, "Every seed reads fresh sentences …", HEIGHT + 100)


def _trained(lane: Lane) -> Alike:
    from explorer.inspection.opening import open_model
    from explorer.inspection.senses import alike

    assert lane.kept is not None
    return alike(open_model(lane.kept).stack, lane.config.replicas)


def _untrained(config: RunConfig) -> Alike:
    from explorer.inspection.senses import alike
    from explorer.training.building import build

    return alike(build(config).requires_grad_(False), config.replicas)


def _drawn(state: Sentences, found: Mapping[str, Alike]) -> None:
    trained, untrained, alone = found.values()
    st.subheader(plain(findings.verdict(trained.same, trained.other)), anchor=False)
    lowest = min(0.0, *(float(each.other.min()) for each in found.values())) - 0.04
    frame(
        [_panel(name, each, lowest) for name, each in found.items()],
        key="sentences-layers",
        height=HEIGHT,
        narrow_height=220,
        columns=3,
    )
    explanation(plain(findings.controls((untrained.same, untrained.other), (alone.same, alone.other))))
    explanation(plain(findings.neighbours(trained.neighbour, untrained.neighbour)))
    st.caption(
        "Likeness of one word in two fresh sentences: the cosine of its vectors, over all pairs of the four words with "
        "two senses. Centred: the mean vector of all words of a layer is taken off first. Across: layer 0 is the "
        "embedding with its position. The control without attention has two layers. "
        f"Line: mean of {seeds(len(trained.same))}; band: lowest to highest."
    )


@lru_cache(maxsize=64)
def _panel(name: str, each: Alike, lowest: float) -> Panel:
    ends = f"{SAME} {float(each.same[:, -1].mean()):.2f}, {OTHER} {float(each.other[:, -1].mean()):.2f}"
    return Panel(
        name.lower().replace(" ", "-"),
        by_layer(each.same, each.other, lowest),
        alt=f"{name}: likeness of a word to itself over the layers, at the last one {ends}.",
        title=name,
        tracks=tracks([(SAME, "--sign-5"), (OTHER, "--sign-1")]),
    )


# ---- how well, and how it was learned


def limits_part(state: Sentences, lanes: Mapping[str, Lane]) -> None:
    """What the trained encoder gets right, and where its knowledge ends."""
    encoder, alone = (lanes[name] for name in state.names)
    if not training_controls.finished(encoder) or encoder.result is None:
        return
    right, new = (encoder.result.last(name[state.task]) for name in (FIRST, NEW))
    blind = alone.result if training_controls.finished(alone) else None
    coin = None if blind is None else float(blind.last(FIRST[state.task]).mean())
    told = findings.of_gloss if state.task == "gloss" else findings.of_gist
    explanation(plain(told(right, new, coin)))


def race_part(state: Sentences, lanes: Mapping[str, Lane], asked: Asked) -> None:
    """How both learn; while any trains the browser asks for it by itself."""
    races = asked.races
    training_controls.live_frame(
        "sentences-race",
        state.configs,
        asked.raced,
        lanes,
        lambda now: _race(state, now, races),
        height=280,
        narrow_height=240,
        columns=1,
    )
    what = (
        "How often the right one of its two senses is the likelier"
        if state.task == "gloss"
        else "How often a homograph lies nearer to the synonym of its sense than to that of the other one"
    )
    outcome = training_controls.outcome(lanes)
    st.caption(f"{outcome} {what}, on fresh sentences; by chance half the time. Band: lowest to highest seed.".strip())


def _race(state: Sentences, lanes: Mapping[str, Lane], races: int) -> tuple[list[Panel], Playback]:
    last = last_step(lanes)
    drawn = tuple((state.contestants[name], lane.curves) for name, lane in lanes.items())
    return [_learning(state.task, drawn, last)], playback(lanes, races, f"sentences-{state.task}")


@lru_cache(maxsize=64)
def _learning(task: str, drawn: tuple[tuple[Contestant, Curves | None], ...], last: int) -> Panel:
    """Drawn once for all visitors who look at the same runs."""
    lines = []
    for each, curves in drawn:
        lines.append(Line(each.label, each.words, COLOUR, each.dash, *measured(curves, FIRST[task])))
    return Panel(
        f"learning-{task}",
        by_step(lines, last),
        alt=f"Senses told apart by step: {listed([each.words for each, _ in drawn])}.",
        tracks=tracks([(each.title, COLOUR) for each, _ in drawn]),
    )
