"""The Compare page: which runs stand side by side, how they are drawn, and the words made from their numbers."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer.errors import LineageError
from explorer.figures.comparison import PER_RUN, Line, comparison
from explorer.inspection.comparing import (
    BATCH_LOSS,
    Course,
    Difference,
    course,
    difference,
    over_seeds,
    paired,
    reached,
    same_start,
    smoothed,
    thinned,
)
from explorer.training import store
from explorer.training.config import RunConfig, to_json
from explorer.training.record import Axis, Curves
from explorer.ui import runs
from explorer.ui.components import Panel, frame, table
from explorer.ui.findings import duration, listed
from explorer.ui.known import config_of
from explorer.ui.lab import Lab
from explorer.ui.runs import Lane
from explorer.ui.session import PageSession

MOST = 8  # runs side by side
MEASURES = {
    "test_accuracy": "accuracy on the test sentences",
    "exact_accuracy": "accuracy, every sentence by its probability",
    "train_accuracy": "accuracy on the training sentences",
    "test_loss": "loss on the test sentences, in nats",
    "train_loss": "loss on the training sentences, in nats",
    BATCH_LOSS: "loss of every batch, in nats",
}
AXES: dict[Axis, str] = {"step": "by step", "tokens": "by tokens read", "seconds": "by seconds"}
UNITS: dict[Axis, str] = {"step": "steps", "tokens": "tokens", "seconds": "s"}
_TITLES: dict[Axis, str] = {
    "step": "optimiser steps",
    "tokens": "tokens read by one seed",
    "seconds": "seconds of training, all seeds together",
}


@dataclass(frozen=True)
class Comparison:
    """What is on the screen. Each field is a part of the address."""

    runs: tuple[str, ...] = ()
    run: str = ""  # one run, as any page's address may name it
    x: Literal["step", "tokens", "seconds"] = "step"
    y: Literal["test_accuracy", "exact_accuracy", "train_accuracy", "test_loss", "train_loss", "batch_loss"] = (
        "test_accuracy"
    )
    smooth: float = field(default=0.0, metadata={"low": 0.0, "high": 0.99})
    log_x: bool = False
    log_y: bool = False
    target: float | None = field(default=None, metadata={"low": 0.0, "high": 1e6})

    @property
    def rising(self) -> bool:
        """Whether more is better."""
        return self.y.endswith("accuracy")

    @property
    def shown(self) -> tuple[str, ...]:
        """The runs side by side; before anybody chose, the four of the negation lab."""
        return self.runs or usual_runs()

    def with_runs(self, runs: Iterable[str]) -> Comparison:
        """Other runs; the usual ones need no mention in the address."""
        chosen = tuple(dict.fromkeys(runs))[-MOST:]
        return replace(self, runs=() if chosen == usual_runs() else chosen)


@dataclass(frozen=True)
class Entrant:
    """One run on the page: its number, its name, its lane."""

    label: str
    key: str
    name: str
    lane: Lane

    @property
    def config(self) -> RunConfig:
        return self.lane.config

    @property
    def curves(self) -> Curves | None:
        return self.lane.curves or self.lane.result

    @property
    def title(self) -> str:
        return f"{self.label} {self.name}"

    def last(self, measure: str) -> Float[ndarray, " replicas"] | None:
        """A measure at the end, one value a seed."""
        curves = self.curves
        if curves is None or not len(curves.evaluated):
            return None
        return curves.last("train_loss" if measure == BATCH_LOSS else measure)


def usual_runs() -> tuple[str, ...]:
    """What stands here before anybody chose: the four of the negation lab."""
    found = [store.find_config(config) for config in Lab().configs.values()]
    return tuple(run.key for run in found if run)


def entrants(keys: Sequence[str]) -> tuple[list[Entrant], list[str]]:
    """The runs of these keys, and a sentence for each that is not here."""
    configs: dict[str, RunConfig] = {}
    problems = []
    for name in dict.fromkeys(keys):
        try:
            configs[name] = config_of(name)
        except LineageError as error:
            problems.append(str(error))
    lanes = {run: _as_asked(run, lane) for run, lane in runs.lanes(configs).items()}
    names = _names(lanes)
    return [Entrant(str(i), k, names[k], lane) for i, (k, lane) in enumerate(lanes.items(), start=1)], problems


def _as_asked(run: str, lane: Lane) -> Lane:
    """Whoever asks for a run by its key also gets one that somebody else imported."""
    if lane.curves is None:
        with contextlib.suppress(LineageError):
            kept = store.find(run)
            return replace(lane, stored=kept if kept.card.finished else None, stopped=kept)
    return lane


def _names(lanes: Mapping[str, Lane]) -> dict[str, str]:
    """What people called a run; else its model, and whatever sets it apart from others of the same model."""
    named = {}
    for run, lane in lanes.items():
        same = [other.config for other in lanes.values() if other.config.model_name == lane.config.model_name]
        apart = [f"{name} = {value}" for name, value in settings(lane.config).items() if _differs(name, same)]
        apart = [part for part in apart if not part.startswith("branch ")]
        if lane.config.branch:
            apart.insert(0, f"branch at step {lane.config.branch.step:,}")
        card = lane.stored or lane.stopped
        named[run] = (card.card.name if card else "") or ", ".join([lane.row.title, *apart[:3]])
    return named


@lru_cache(maxsize=512)
def settings(config: RunConfig) -> Mapping[str, object]:
    """Every setting of a run under its own name, the model's and the task's names among them."""
    flat: dict[str, object] = {}
    for name, value in to_json(config).items():
        if isinstance(value, dict):
            flat |= {name if k == "name" else f"branch {k}" if name == "branch" else k: v for k, v in value.items()}
        else:
            flat[name] = value
    flat.pop("version", None)
    return flat


def _differs(name: str, configs: Sequence[RunConfig]) -> bool:
    return len({str(settings(config).get(name)) for config in configs}) > 1


def differences(entrants: Sequence[Entrant]) -> dict[str, list[str]]:
    """The settings in which the runs differ, each with its value in every run."""
    every = [settings(entrant.config) for entrant in entrants]
    names = list(dict.fromkeys(name for each in every for name in each))
    rows = {name: [str(each.get(name, "–")) for each in every] for name in names}
    return {name: values for name, values in rows.items() if len(set(values)) > 1}


@st.cache_resource(max_entries=64, show_spinner=False)
def _course(stamp: tuple[str, str], measure: str, axis: Axis, smooth: float, _run: store.StoredRun) -> Course:
    return smoothed(course(_run.curves, _run.config, measure, axis), smooth)


def courses(state: Comparison, entrants: Sequence[Entrant], axis: Axis | None = None) -> list[Course | None]:
    """The curve of every run as it is drawn."""
    x: Axis = axis or state.x
    found: list[Course | None] = []
    for e in entrants:
        if e.curves is None:
            found.append(None)
        elif e.lane.stored and e.curves is e.lane.stored.curves:  # it does not change any more
            found.append(_course(e.lane.stored.stamp, state.y, x, state.smooth, e.lane.stored))
        else:
            found.append(smoothed(course(e.curves, e.config, state.y, x), state.smooth))
    return found


def usual_target(state: Comparison, entrants: Sequence[Entrant]) -> float:
    """A height that most runs reach: 0.95, or a loss a little above the worst end, of many runs the second worst."""
    if state.rising:
        return 0.95
    known = [last for e in entrants if (last := e.last(state.y)) is not None and np.isfinite(last).any()]
    ends = sorted(float(np.mean(last[np.isfinite(last)])) for last in known)
    if not ends:
        return 0.1
    return float(f"{max(ends[-2 if len(ends) > 2 else -1] * 1.2, 1e-6):.2g}")


def draw(session: PageSession[Comparison], entrants: Sequence[Entrant], target: float) -> float | None:
    """The figure; returns where the visitor has put the target."""
    state, found = session.state, courses(session.state, entrants)
    lines: list[Line] = []
    tracks: list[dict[str, object]] = []
    dashes = _dashes(entrants)
    for entrant, c in zip(entrants, found, strict=True):
        line = _line(entrant, c, dashes[entrant.key])
        at = PER_RUN * len(lines)
        shown = {"trace": at + 2, "title": entrant.title, "colour": entrant.lane.row.colour}
        tracks.append({**shown, "low": at, "high": at + 1})
        lines.append(line)
    span = _span(state, found)
    panel = Panel(
        f"{state.y}-{state.x}",
        comparison(lines, _TITLES[state.x], span, log_x=state.log_x, log_y=state.log_y),
        alt=f"{MEASURES[state.y]} {AXES[state.x]}: {listed([e.title for e in entrants])}.",
        tracks=tracks,
        target={
            "value": min(max(target, span[0]), span[1]),
            "low": span[0],
            "high": span[1],
            "label": "target",
            "lines": [{"trace": t["trace"], "title": t["title"], "colour": t["colour"]} for t in tracks],
            "rising": state.rising,
            "unit": UNITS[state.x],
            "digits": 2 if state.x == "seconds" else 0,
        },
    )
    return frame([panel], key="comparison", height=420, narrow_height=320, columns=1)


def _line(entrant: Entrant, found: Course | None, dash: str) -> Line:
    none = np.zeros(0)
    if found is None or not len(found.x):
        return Line(entrant.label, entrant.name, entrant.lane.row.colour, dash, none, none, none, none)
    spread = over_seeds(found.values)
    kept = thinned(spread)
    mean, low, high = spread[kept].T
    return Line(entrant.label, entrant.name, entrant.lane.row.colour, dash, found.x[kept], mean, low, high)


def _dashes(entrants: Sequence[Entrant]) -> dict[str, str]:
    """Runs of one model have one colour: the second and the third of them are told apart by their dashes."""
    found: dict[str, str] = {}
    seen: Counter[str] = Counter()
    for entrant in entrants:
        usual, model = entrant.lane.row.dash, entrant.config.model_name
        others = [dash for dash in ("solid", "10px,4px", "2px,4px", "10px,3px,2px,3px") if dash != usual]
        found[entrant.key] = [usual, *others][seen[model] % (len(others) + 1)]
        seen[model] += 1
    return found


def _span(state: Comparison, found: Sequence[Course | None]) -> tuple[float, float]:
    values = [c.values[~np.isnan(c.values)] for c in found if c is not None and c.values.size]
    values = [v for v in values if len(v)]
    lowest, highest = min((v.min() for v in values), default=0.5), max((v.max() for v in values), default=1.0)
    if state.rising:
        low = float(min(0.42, lowest - 0.02) if lowest < 0.5 else 0.45)
        return (max(low, 0.01), 1.03) if state.log_y else (low, 1.03)
    return (max(float(lowest) * 0.8, 1e-6), float(highest) * 1.2) if state.log_y else (0.0, float(highest) * 1.05)


# ---- what came out ----


@dataclass(frozen=True)
class Arrival:
    """When a run is at the target: where its mean curve is, as the figure shows it, and how many seeds ever are."""

    entrant: Entrant
    at: float | None
    seeds: int


def arrivals(state: Comparison, entrants: Sequence[Entrant], target: float, axis: Axis) -> list[Arrival]:
    """When every run is at the target, on one axis."""
    found = []
    for entrant, c in zip(entrants, courses(state, entrants, axis), strict=True):
        if c is None or not len(c.x):
            found.append(Arrival(entrant, None, 0))
            continue
        mean = Course(c.x, over_seeds(c.values)[:, :1])
        at = float(reached(mean, target, state.rising)[0])
        there = int((~np.isnan(reached(c, target, state.rising))).sum())
        found.append(Arrival(entrant, None if np.isnan(at) else at, there))
    return found


def winners_finding(state: Comparison, entrants: Sequence[Entrant], target: float) -> str:
    """Who is at the target first: by step, by token, by second."""
    firsts: dict[Axis, Arrival] = {}
    for axis in AXES:
        there = [a for a in arrivals(state, entrants, target, axis) if a.at is not None]
        if there:
            firsts[axis] = min(there, key=lambda a: a.at or 0.0)
    if not firsts:
        return f"No run's mean is ever at {shown(target, state.rising)}. Drag the target to where they are."
    names = {first.entrant.key: first.entrant.name for first in firsts.values()}
    if len(names) == 1:
        one, found = next(iter(names.values())), listed([amount(first.at, axis) for axis, first in firsts.items()])
        if len(entrants) == 1:
            return f"{one} is at {shown(target, state.rising)} after {found}."
        return f"{one} is at {shown(target, state.rising)} first, whatever one counts: after {found}."
    parts = [f"{first.entrant.name} {AXES[axis]} ({amount(first.at, axis)})" for axis, first in firsts.items()]
    return f"First at {shown(target, state.rising)}: {listed(parts)}."


def amount(value: float | None, axis: Axis) -> str:
    """A place on an axis with its unit."""
    if value is None or not np.isfinite(value):
        return "never"
    if axis != "seconds":
        return f"{value:,.0f} {UNITS[axis]}"
    return duration(value) if value >= 0.1 else f"{1000 * value:.0f} ms"


def price(entrant: Entrant) -> tuple[float, float] | None:
    """Milliseconds and tokens of a step."""
    curves = entrant.curves
    if curves is None or not len(curves.losses):
        return None
    steps = len(curves.losses)
    seconds, tokens = curves.seconds[-1] - curves.seconds[0], curves.tokens[-1] - curves.tokens[0]
    return 1000 * float(seconds) / steps, float(tokens) / steps


def price_formulas(entrants: Sequence[Entrant]) -> list[str]:
    """Seconds are steps times the price of a step: in words, then with the numbers of the cheapest and the dearest."""
    lines = [r"\text{seconds} = \text{steps} \times \text{seconds a step}"]
    priced = sorted(((p[0], e) for e in entrants if (p := price(e))), key=lambda pair: pair[0])
    for cost, entrant in priced[:: max(len(priced) - 1, 1)][:2]:
        curves = entrant.curves
        if curves is not None:
            steps = len(curves.losses)
            total = f"{cost * steps / 1000:.2f}"
            lines.append(
                rf"{total}\,\text{{s}} = {steps} \times {cost:.2f}\,\text{{ms}}\quad(\text{{run {entrant.label}}})"
            )
    return lines


def why_finding(entrants: Sequence[Entrant]) -> str:
    """Why the three axes may have three winners: what a step costs in each run."""
    prices = [(*p, e.name) for e in entrants if (p := price(e))]
    if len(prices) < 2:
        return ""
    quick, _, cheap = min(prices, key=lambda each: each[0])
    slow, _, dear = max(prices, key=lambda each: each[0])
    ratio = slow / max(quick, 1e-9)
    first = f"A step of {dear} takes {slow:.2f} ms, one of {cheap} {quick:.2f} ms: {ratio:.1f} times as long."
    tokens = [each[1] for each in prices]
    if max(tokens) - min(tokens) < 0.02 * max(tokens):
        return f"{first} Every step reads about {np.mean(tokens):,.0f} tokens a seed, so steps and tokens agree."
    return f"{first} Their steps read from {min(tokens):,.0f} to {max(tokens):,.0f} tokens a seed."


def verdict(first: Entrant, second: Entrant, state: Comparison) -> Difference | None:
    """How far the second run ends above the first, over the seeds."""
    one, other = first.last(state.y), second.last(state.y)
    if one is None or other is None:
        return None
    return difference(np.asarray(one, float), np.asarray(other, float), paired(first.config, second.config))


def verdict_words(found: Difference | None, rising: bool) -> str:
    """A difference with its interval, and whether it is more than luck."""
    if found is None:
        return "one seed tells nothing of luck"
    text = f"{_signed(found.mean, rising)} ({_signed(found.low, rising)} to {_signed(found.high, rising)})"
    return f"{text}, within the noise of the seeds" if found.noise else text


def shown(value: float, rising: bool) -> str:
    """An accuracy with three digits after the point, a loss with three that count."""
    if rising:
        return f"{value:.3f}"
    return f"{value:.3f}" if abs(value) >= 0.1 or not value else f"{float(f'{value:.2g}'):.8f}".rstrip("0").rstrip(".")


def _signed(value: float, rising: bool) -> str:
    text = shown(abs(value), rising)
    return text if not float(text) else f"{'−' if value < 0 else '+'}{text}"


def results(state: Comparison, entrants: Sequence[Entrant], target: float) -> None:
    """A row a run: how it ended, against the first one, what it cost, and when it was at the target."""
    by_axis = {axis: arrivals(state, entrants, target, axis) for axis in AXES}
    ends = [last for e in entrants if (last := e.last(state.y)) is not None]
    known = np.concatenate(ends) if ends else np.zeros(1)
    axis_range = [0.5, 1.0] if state.rising and np.nanmin(known) >= 0.5 else [0.0, 1.0]
    if not state.rising:
        axis_range = [0.0, float(f"{max(np.nanmax(known), 1e-6):.2g}")]
    rows = []
    for i, e in enumerate(entrants):
        last, cost = e.last(state.y), price(e)
        values = [] if last is None else [float(f"{v:.5g}") for v in last if np.isfinite(v)]
        arrived, count = by_axis["step"][i], e.config.replicas
        seeds = "" if arrived.seeds in (0, count) else f" ({arrived.seeds} of {count} seeds)"
        cells: dict[str, object] = {
            "name": {"text": e.title, "colour": e.lane.row.colour},
            "end": {"text": shown(float(np.mean(values)), state.rising) if values else "–", "values": values},
            "against": {"text": verdict_words(verdict(entrants[0], e, state), state.rising) if i else "–"},
            "parameters": {"text": f"{e.lane.parameters:,}" if e.lane.parameters else "–"},
            "price": {"text": f"{cost[0]:.2f} ms" if cost else "–"},
        }
        for axis in AXES:
            cells[axis] = {"text": amount(by_axis[axis][i].at, axis) + (seeds if axis == "step" else "")}
        rows.append({"cells": cells})
    first = entrants[0].name if entrants else ""
    table(
        [
            {"key": "name", "label": "", "kind": "model", "align": "left"},
            {"key": "end", "label": "at the end", "kind": "strip", "align": "left", "range": axis_range},
            {"key": "against", "label": f"against 1, {first}", "kind": "text", "align": "left"},
            {"key": "step", "label": f"steps to {shown(target, state.rising)}", "kind": "number", "align": "right"},
            {"key": "tokens", "label": "tokens", "kind": "number", "align": "right"},
            {"key": "seconds", "label": "time", "kind": "number", "align": "right"},
            {"key": "price", "label": "a step", "kind": "number", "align": "right"},
            {"key": "parameters", "label": "parameters", "kind": "number", "align": "right"},
        ],
        rows,
        key="comparison-results",
        label="Results, a row a run",
        caption="At the end: the mean and a dot for each seed. In brackets: the interval that 19 of 20 draws of seeds "
        "hold (Student's t; of pairs where seeds and data are the same). "
        "To the target: where the mean curve crosses it, and how many seeds ever do.",
    )


def differences_table(entrants: Sequence[Entrant]) -> None:
    """What differs in the runs' configurations, and nothing else."""
    rows = differences(entrants)
    columns = [{"key": "name", "label": "setting", "kind": "text", "align": "left"}]
    columns += [
        {"key": e.key, "label": e.title, "kind": "mono", "align": "left", "colour": e.lane.row.colour} for e in entrants
    ]
    table(
        columns,
        [
            {"cells": {"name": {"text": name}} | {e.key: {"text": v} for e, v in zip(entrants, values, strict=True)}}
            for name, values in rows.items()
        ],
        key="comparison-differences",
        label="Settings in which the runs differ",
        caption="Every setting that is not named here is the same in all of them.",
    )


@st.cache_resource(max_entries=256, show_spinner=False)
def _start(stamp: tuple[str, str], _run: store.StoredRun) -> dict[str, ndarray]:
    return _run.weights(0)


def start_finding(entrants: Sequence[Entrant]) -> list[str]:
    """Which of the runs' weights were the same before the first step, each pair of neighbours."""
    told = []
    for i, one in enumerate(entrants):
        for other in entrants[i + 1 :]:
            runs_of = [e.lane.stored for e in (one, other)]
            if one.config.seeds != other.config.seeds or not all(run and 0 in run.snapshot_steps() for run in runs_of):
                continue
            try:
                starts = [_start(run.stamp, run) for run in runs_of if run]
            except LineageError:
                continue
            shared, of = same_start(*starts)
            if shared:
                what = "all their weights" if len(shared) == of else listed([f"`{name}`" for name in shared])
                told.append(f"{one.title} and {other.title} start from the same numbers in {what}.")
    return told
