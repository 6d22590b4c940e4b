"""The Compare page: which runs stand side by side, under which names, and how their curves are drawn."""

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

from explorer.catalogue import task_row
from explorer.errors import LineageError
from explorer.figures.comparison import Line, comparison
from explorer.inspection.comparing import (
    BATCH_LOSS,
    Course,
    course,
    over_seeds,
    smoothed,
    thinned,
)
from explorer.training import store
from explorer.training.config import RunConfig, to_json
from explorer.training.record import Axis, Curves
from explorer.ui import runs
from explorer.ui.components import Panel, frame, tracks
from explorer.ui.findings import listed
from explorer.ui.known import config_of
from explorer.ui.negation_lab import NegationLab
from explorer.ui.runs import Lane

MOST = 8  # runs side by side
MEASURES = {
    "test_accuracy": "accuracy on the test sentences",
    "exact_accuracy": "accuracy, every sentence by its probability",
    "train_accuracy": "accuracy on the training sentences",
    "test_loss": "loss on the test sentences, in nats",
    "accuracy": "accuracy on fresh sequences",
    "exact": "exact match on fresh sources",
    "sense": "senses told apart on fresh sentences",
    "synonym": "homographs nearer to the right synonym",
    "loss": "loss on fresh sequences, in nats",
    "val_loss_part": "loss on held-out text, in nats a token",
    "train_loss": "loss on the training sentences, in nats",
    BATCH_LOSS: "loss of every batch, in nats",
}
OF_TASK = {
    "negation": ("test_accuracy", "exact_accuracy", "train_accuracy", "test_loss", "train_loss", BATCH_LOSS),
    "text": ("val_loss_part", "train_loss", BATCH_LOSS),
    "recall": ("accuracy", "loss", BATCH_LOSS),
    "string": ("accuracy", "loss", BATCH_LOSS),
    **dict.fromkeys(("reverse", "copy", "dates", "echo"), ("exact", "loss", BATCH_LOSS)),
    **dict.fromkeys(("noise", "tale"), ("loss", BATCH_LOSS)),
    "gloss": ("sense", "loss", BATCH_LOSS),
    "gist": ("synonym", "loss", BATCH_LOSS),
    "place": ("accuracy", "loss", BATCH_LOSS),
    "agreement": ("verb", "pronoun", "loss", BATCH_LOSS),
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
    y: Literal[
        "test_accuracy",
        "exact_accuracy",
        "train_accuracy",
        "test_loss",
        "accuracy",
        "exact",
        "sense",
        "synonym",
        "loss",
        "train_loss",
        "val_loss_part",
        "batch_loss",
    ] = "test_accuracy"
    smooth: float = field(default=0.0, metadata={"low": 0.0, "high": 0.99})
    log_x: bool = False
    log_y: bool = False
    target: float | None = field(default=None, metadata={"low": 0.0, "high": 1e6})

    @property
    def rising(self) -> bool:
        """Whether more is better."""
        return self.y.endswith("accuracy") or self.y == "exact"

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
        name = "train_loss" if measure == BATCH_LOSS else measure
        return curves.last(name) if name in curves.metrics else None


def offered(entrants: Sequence[Entrant]) -> tuple[str, ...]:
    """What can be drawn of these runs: the measures of their tasks."""
    tasks = {task_row(e.config.task).name for e in entrants} or {"negation"}
    return tuple(measure for measure in MEASURES if any(measure in OF_TASK[task] for task in tasks))


def fitting(state: Comparison, entrants: Sequence[Entrant]) -> Comparison:
    """The same comparison, of something that these runs have."""
    possible = offered(entrants)
    return state if state.y in possible else replace(state, y=possible[0], target=None)  # type: ignore[arg-type]


def usual_runs() -> tuple[str, ...]:
    """What stands here before anybody chose: the four of the negation lab."""
    found = [store.find_config(config) for config in NegationLab().configs.values()]
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


def draw(state: Comparison, entrants: Sequence[Entrant], target: float) -> float | None:
    """The figure; returns where the visitor has put the target."""
    found = courses(state, entrants)
    lines: list[Line] = []
    dashes = _dashes(entrants)
    for entrant, c in zip(entrants, found, strict=True):
        line = _line(entrant, c, dashes[entrant.key])
        lines.append(line)
    read = tracks([(each.title, each.lane.row.colour) for each in entrants], 3)
    span = _span(state, found)
    panel = Panel(
        f"{state.y}-{state.x}",
        comparison(lines, _TITLES[state.x], span, log_x=state.log_x, log_y=state.log_y),
        alt=f"{MEASURES[state.y]} {AXES[state.x]}: {listed([e.title for e in entrants])}.",
        tracks=read,
        target={
            "value": min(max(target, span[0]), span[1]),
            "low": span[0],
            "high": span[1],
            "label": "target",
            "lines": [{"trace": t["trace"], "title": t["title"], "colour": t["colour"]} for t in read],
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
