"""The race on recall: who learns to name the first symbol, and at which other lengths they still can."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer.catalogue import MODELS
from explorer.figures.comparison import Line
from explorer.figures.recall import by_length, by_step
from explorer.inspection.comparing import over_seeds
from explorer.tasks.recall import LONGEST_ASKED, RecallConfig, asked_lengths
from explorer.training.config import RunConfig
from explorer.training.estimate import duration
from explorer.training.recall_runs import SOLVED, Contestant
from explorer.training.record import Curves
from explorer.ui import recall_findings as findings
from explorer.ui import training_controls
from explorer.ui.components import Panel, Playback, frame, table, tracks
from explorer.ui.findings import listed, seeds
from explorer.ui.memory import Memory
from explorer.ui.recall_findings import Recalled
from explorer.ui.runs import Lane
from explorer.ui.stepwise import last_step, measured, playback
from explorer.ui.training_controls import Asked

HEIGHT, NARROW = 230, 190


def outcomes(who: Mapping[str, Contestant], lanes: Mapping[str, Lane]) -> dict[str, Recalled]:
    """What became of each that was trained to its end: before it there is no verdict."""
    found = {}
    for name, lane in lanes.items():
        if (
            training_controls.finished(lane)
            and lane.result is not None
            and (made := _outcome(who[name], lane.config, lane.result))
        ):
            found[name] = made
    return found


@lru_cache(maxsize=512)
def _outcome(contestant: Contestant, config: RunConfig, curves: Curves) -> Recalled | None:
    return findings.recalled(contestant, config, curves)


def by_architecture(who: Mapping[str, Contestant]) -> dict[str, list[str]]:
    """The names of those who race, by architecture."""
    groups: dict[str, list[str]] = {}
    for name, each in who.items():
        groups.setdefault(each.model, []).append(name)
    return groups


# ---- at other lengths


def lengths_part(memory: Memory, who: Mapping[str, Contestant], found: Mapping[str, Recalled]) -> None:
    """Accuracy at every other length, a panel an architecture."""
    task = memory.task
    panels = []
    for model, names in by_architecture(who).items():
        lines = [_over_lengths(found[name]) for name in names if name in found]
        panels.append(
            Panel(
                f"lengths-{model}",
                by_length(lines, task.length, max(asked_lengths(task.length)), 1 / task.symbols),
                alt=_said(MODELS[model].title, [found[name] for name in names if name in found]),
                title=MODELS[model].title,
                colour=MODELS[model].colour,
                tracks=_tracks([who[name] for name in names if name in found]),
                rest=float(task.length),
            )
        )
    frame(panels, key="memory-lengths", height=HEIGHT, narrow_height=NARROW)
    st.caption(
        f"The share of 256 fresh sequences whose first symbol is named, by their length. {_line(memory)} "
        f"Dashed line: guessing. Upright line: the trained length, {task.length:,}; nothing was trained at any other."
    )


def _line(memory: Memory) -> str:
    return f"Line: mean of {seeds(memory.seeds)}. Band: lowest to highest." if memory.seeds > 1 else "Line: one seed."


def _over_lengths(each: Recalled) -> Line:
    values = over_seeds(each.by_length.T)
    row = MODELS[each.contestant.model]
    lengths = np.array(each.lengths, float)
    return Line(each.contestant.label, each.contestant.words, row.colour, each.contestant.dash, lengths, *values.T)


def _tracks(drawn: Iterable[Contestant]) -> list[dict[str, object]]:
    return tracks([(each.label, MODELS[each.model].colour) for each in drawn])


def _said(title: str, found: list[Recalled]) -> str:
    """A panel as a sentence."""
    told = []
    for each in found:
        far = min(LONGEST_ASKED, max(each.lengths))
        here, there = (float(np.mean(each.at(length))) for length in (each.config.on(RecallConfig).length, far))
        told.append(f"{each.contestant.words} {here:.2f} at the trained length and {there:.2f} at {far:,}")
    return f"{title}, accuracy by the length asked: {'; '.join(told) or 'no run yet'}."


def results(
    memory: Memory, who: Mapping[str, Contestant], found: Mapping[str, Recalled], lanes: Mapping[str, Lane]
) -> None:
    """Every number, a row a contestant."""
    length = memory.length
    lengths = asked_lengths(length)
    beside = dict.fromkeys((length - 1, length + 1, 2 * length, LONGEST_ASKED))
    others = [n for n in beside if n in lengths and n != length]
    chance = 1 / memory.symbols
    asked = {str(n): f"at {n:,}" for n in others}
    numbers = {"steps": "steps", "first": "solved after", **asked, "seconds": "trained in"}
    columns: list[dict[str, object]] = [
        {"key": "name", "label": "model", "kind": "model", "align": "left"},
        {"key": "solved", "label": f"right at {length:,}", "kind": "strip", "align": "left", "range": [0.0, 1.0]},
    ]
    columns += [{"key": key, "label": label, "kind": "number", "align": "right"} for key, label in numbers.items()]
    rows = []
    for name, each in found.items():
        cells: dict[str, object] = {
            "name": {"text": who[name].title, "colour": MODELS[who[name].model].colour},
            "solved": {
                "text": f"{each.solved} of {len(each.accuracy)} seed{'s' if len(each.accuracy) > 1 else ''}",
                "values": [round(float(v), 4) for v in each.accuracy],
            },
            "steps": {"text": f"{each.config.steps:,}"},
            "first": {"text": _steps(each)},
            "seconds": {"text": duration(lanes[name].seconds or 0.0)},
        }
        cells |= {str(n): {"text": _mean(each.at(n))} for n in others}
        rows.append({"cells": cells})
    if rows:
        table(
            columns,
            rows,
            key="memory-results",
            label="Results on recall, a row a model",
            caption=f"A dot for each seed; solved: right in at least {SOLVED:.0%} of 256 fresh sequences. Elsewhere: "
            f"{'mean of all seeds; ' if memory.seeds > 1 else ''}guessing is right in {chance:.2f}. Trained in: all "
            "seeds together.",
        )


def _steps(each: Recalled) -> str:
    there = each.first[each.first >= 0]
    if not len(there):
        return "–"
    low, high = int(there.min()), int(there.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _mean(values: Float[ndarray, " replicas"]) -> str:
    return "–" if np.isnan(values).all() else f"{float(np.nanmean(values)):.2f}"


# ---- while they learn


def race_part(memory: Memory, who: Mapping[str, Contestant], lanes: Mapping[str, Lane], asked: Asked) -> None:
    """Accuracy by step, a panel an architecture; while any trains the browser asks for them by itself."""
    races = asked.races
    training_controls.live_frame(
        "memory-race",
        memory.configs,
        asked.raced,
        lanes,
        lambda now: _race(memory, who, now, races),
        height=HEIGHT,
        narrow_height=NARROW,
    )
    outcome = training_controls.outcome(lanes)
    st.caption(
        f"{outcome} Accuracy on 256 fresh sequences, asked every 20 steps. Above, at its end, each is asked "
        "about 256 others. Dashed line: guessing.".strip()
    )


def _race(
    memory: Memory, who: Mapping[str, Contestant], lanes: Mapping[str, Lane], races: int
) -> tuple[list[Panel], Playback]:
    last = last_step(lanes)
    panels = [
        _learning(model, tuple((who[n], lanes[n].curves) for n in names), last, 1 / memory.symbols)
        for model, names in by_architecture({name: who[name] for name in lanes}).items()
    ]
    return panels, playback(lanes, races, "recall")


@lru_cache(maxsize=64)
def _learning(model: str, drawn: tuple[tuple[Contestant, Curves | None], ...], last: int, chance: float) -> Panel:
    """Drawn once for all visitors who look at the same runs."""
    row, lines = MODELS[model], []
    for each, curves in drawn:
        lines.append(Line(each.label, each.words, row.colour, each.dash, *measured(curves, "accuracy")))
    return Panel(
        f"learning-{model}",
        by_step(lines, last, chance),
        alt=f"{row.title}: accuracy on fresh sequences by step, {listed([each.words for each, _ in drawn])}.",
        title=row.title,
        colour=row.colour,
        tracks=_tracks([each for each, _ in drawn]),
    )
