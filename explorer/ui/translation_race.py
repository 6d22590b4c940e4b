"""The race on reverse, copy and dates: exact match by length, while they learn, and every number in a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer.figures.comparison import Line
from explorer.figures.translation import by_length, by_step, by_way
from explorer.inspection.comparing import over_seeds
from explorer.tasks.dates import WAYS
from explorer.tasks.translation import TranslationConfig
from explorer.training.estimate import duration
from explorer.training.record import Curves
from explorer.training.translation_runs import Contestant
from explorer.ui import training_controls
from explorer.ui import translation_findings as findings
from explorer.ui.components import Panel, Playback, frame, table, tracks
from explorer.ui.findings import listed, seeds
from explorer.ui.runs import Lane
from explorer.ui.stepwise import last_step, measured, playback
from explorer.ui.training_controls import Asked
from explorer.ui.translation import Translation
from explorer.ui.translation_findings import Translated

_NUMBERS = {"parameters": "parameters", "steps": "steps", "seconds": "trained in"}


def outcomes(state: Translation, lanes: Mapping[str, Lane]) -> dict[str, Translated]:
    """What became of each that was trained to its end: before it there is no verdict."""
    found = {}
    for name, lane in lanes.items():
        if (
            training_controls.finished(lane)
            and lane.result
            and (made := _outcome(state.contestants[name], state.settings, lane.result))
        ):
            found[name] = made
    return found


@lru_cache(maxsize=256)
def _outcome(contestant: Contestant, task: TranslationConfig, curves: Curves) -> Translated | None:
    return findings.translated(contestant, task, curves)


def exact_part(state: Translation, found: Mapping[str, Translated]) -> None:
    """Exact match by length, or by the way of writing a date."""
    known = [each for each in found.values() if each.asked]
    if not known:
        return
    if state.task == "dates":
        shares = np.stack([each.parts.mean(axis=0) for each in known], axis=-1)
        panel = Panel(
            "dates-ways",
            by_way(shares, tuple(WAYS), [each.contestant.label for each in known]),
            alt=f"Exact match by the way of writing, lowest {shares.min():.2f}, of {_named(known)}.",
        )
        frame([panel], key="translation-exact", height=40 + 26 * len(WAYS), columns=1)
        said = "25 fresh dates in each way of writing"
    else:
        lengths = [int(name) for name in known[0].names]
        lines = [_line(each, np.array(lengths, float), over_seeds(each.parts.T)) for each in known]
        told = [f"{e.contestant.words} {float(e.at(state.longest).mean()):.2f} at {state.longest}" for e in known]
        panel = Panel(
            f"{state.task}-lengths",
            by_length(lines, state.longest, max(lengths)),
            alt=f"Exact match by the length of the source: {listed(told)}.",
            tracks=_tracks([each.contestant for each in known]),
            rest=float(state.longest),
        )
        frame([panel], key="translation-exact", height=400, narrow_height=320, columns=1)
        said = "100 fresh sources of each length"
    st.caption(
        f"Exact match: the share of {said} that come out without one wrong token, written greedily to the end. "
        f"Mean of {seeds(state.seeds)}{'' if state.task == 'dates' else '; band: lowest to highest'}."
    )


def _named(known: list[Translated]) -> str:
    return listed([each.contestant.words for each in known])


def _line(each: Translated, x: Float[ndarray, " points"], values: Float[ndarray, "points 3"]) -> Line:
    contestant = each.contestant
    return Line(contestant.label, contestant.words, contestant.colour, contestant.dash, x, *values.T)


def _tracks(drawn: Iterable[Contestant]) -> list[dict[str, object]]:
    return tracks([(each.title, each.colour) for each in drawn])


def results(state: Translation, found: Mapping[str, Translated], lanes: Mapping[str, Lane]) -> None:
    """Every number, a row a contestant."""
    if not found:
        return
    n = state.longest
    lengths = [] if state.task == "dates" else [k for k in dict.fromkeys((5, 8, 11, 14, n, n + 2, n + 5)) if k]
    numbers = {**{str(k): f"at {k}" for k in lengths}, **_NUMBERS}
    columns: list[dict[str, object]] = [
        {"key": "name", "label": "model", "kind": "model", "align": "left"},
        {"key": "exact", "label": "exact match", "kind": "strip", "align": "left", "range": [0.0, 1.0]},
    ]
    columns += [{"key": key, "label": label, "kind": "number", "align": "right"} for key, label in numbers.items()]
    rows = []
    for name, each in found.items():
        lane, mean = lanes[name], float(each.exact.mean())
        cells: dict[str, object] = {
            "name": {"text": each.contestant.title, "colour": each.contestant.colour},
            "exact": {"text": f"{mean:.3f}", "values": [round(float(v), 4) for v in each.exact]},
            "parameters": {"text": f"{lane.parameters:,}" if lane.parameters else "–"},
            "steps": {"text": f"{lane.curves.step:,}" if lane.curves else "–"},
            "seconds": {"text": duration(lane.seconds or 0.0)},
        }
        known = set(each.names)
        cells |= {
            str(k): {"text": f"{float(each.at(k).mean()):.2f}" if each.asked and str(k) in known else "–"}
            for k in lengths
        }
        rows.append({"cells": cells})
    table(
        columns,
        rows,
        key="translation-results",
        label="Results, a row a model",
        caption="Exact match over all that was trained, a dot for each seed. "
        + ("At single lengths: mean of the seeds. " if lengths else "")
        + "Trained in: all seeds together.",
    )


# ---- while they learn


def race_part(state: Translation, lanes: Mapping[str, Lane], asked: Asked) -> None:
    """Exact match by step; while any trains the browser asks for it by itself."""
    races = asked.races
    training_controls.live_frame(
        "translation-race",
        state.configs,
        asked.raced,
        lanes,
        lambda now: _race(state, now, races),
        height=320,
        narrow_height=260,
        columns=1,
    )
    outcome = training_controls.outcome(lanes)
    what = "sources of every trained length" if state.task != "dates" else "dates in every way of writing"
    st.caption(f"{outcome} Exact match on a few fresh {what}, asked every 50 steps.".strip())


def _race(state: Translation, lanes: Mapping[str, Lane], races: int) -> tuple[list[Panel], Playback]:
    last = last_step(lanes)
    drawn = tuple((state.contestants[name], lane.curves) for name, lane in lanes.items())
    return [_learning(state.task, drawn, last)], playback(lanes, races, f"translation-{state.task}")


@lru_cache(maxsize=64)
def _learning(task: str, drawn: tuple[tuple[Contestant, Curves | None], ...], last: int) -> Panel:
    """Drawn once for all visitors who look at the same runs."""
    lines = []
    for each, curves in drawn:
        lines.append(Line(each.label, each.words, each.colour, each.dash, *measured(curves, "exact")))
    contestants = [each for each, _ in drawn]
    return Panel(
        f"learning-{task}",
        by_step(lines, last),
        alt=f"Exact match on fresh sources by step: {listed([each.words for each in contestants])}.",
        tracks=_tracks(contestants),
    )
