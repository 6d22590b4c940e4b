"""What the papers found, measured again: an experiment chosen, its runs followed or trained here, what came of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import streamlit as st

from explorer.catalogue import MODELS
from explorer.errors import LineageError
from explorer.figures.comparison import PER_RUN
from explorer.figures.comparison import Line as Curve
from explorer.figures.experiments import Ends, ends
from explorer.figures.experiments import curves as curves_figure
from explorer.inspection.comparing import over_seeds, thinned
from explorer.training import estimate
from explorer.training.config import key
from explorer.training.experiments import BLIND, EXPERIMENTS, Experiment, Field, Trial
from explorer.training.jobs import service
from explorer.ui import experiment_findings as findings
from explorer.ui import runs, warmup
from explorer.ui.components import Panel, Playback, frame, pictured, table
from explorer.ui.experiment_findings import Outcome
from explorer.ui.findings import duration, listed, seeds
from explorer.ui.live import offer
from explorer.ui.page import explanation, plain, problems
from explorer.ui.runs import Lane
from explorer.ui.training_controls import Same, crowd, outcome, progress, told
from explorer.ui.visitors import visitor

_STATE = "lineage.text-experiments"
_CEILING = BLIND + 0.4  # bits a character: who ends above stands on the edge of the figure
_DASHES = ("6px,4px", "solid")  # without, with
LOOKS = {"bits": "held-out text", "gradient": "length of the gradient"}


@dataclass
class Asked:
    """What a visitor did in this section; the experiment itself is a part of the page's address."""

    raced: set[str] = field(default_factory=set)  # keys of the runs asked for in this window
    races: int = 0
    problems: tuple[str, ...] = ()


def experiments_section(chosen: str, choose: Callable[[str], None]) -> None:
    """The whole section. `chosen` is the name of an experiment, `choose` is told of another one."""
    experiment = EXPERIMENTS.get(chosen) or next(iter(EXPERIMENTS.values()))
    asked: Asked = st.session_state.setdefault(_STATE, Asked())
    st.header("What the papers found, measured again", anchor=False)
    explanation(
        "Sentences that one reads about these models, each asked of small models on characters of Tiny Shakespeare, "
        "with three seeds a run. They stand here as they were measured, whether they hold or not."
    )
    _pills(experiment, choose)
    lanes = runs.lanes(configs(experiment), asked.raced)
    found = outcomes(experiment, lanes)
    st.subheader(experiment.question, anchor=False)
    st.markdown(f"Often said: “{plain(experiment.said)}”")
    st.subheader(plain(findings.finding(experiment, found)), anchor=False)
    _controls(experiment, lanes, asked)
    left, right = st.columns([3, 2], gap="large")
    with left:
        _ends(experiment, found)
    with right:
        st.markdown(experiment.about)
        st.latex(experiment.formula)
        st.markdown(f"[{plain(experiment.paper)}]({experiment.link})")
    _curves(experiment, lanes, asked)
    _table(experiment, found)


def configs(experiment: Experiment) -> dict[str, runs.RunConfig]:
    return {trial.name: trial.config for trial in experiment.trials}


def outcomes(experiment: Experiment, lanes: Mapping[str, Lane]) -> dict[str, Outcome]:
    """What came of every run that is over, by the name of its trial."""
    told = {}
    for trial in experiment.trials:
        lane = lanes[trial.name]
        if lane.result is not None and (made := _outcome(trial.name, Same(lane.result), trial, _diverged(lane))):
            told[trial.name] = made
    return told


@lru_cache(maxsize=256)
def _outcome(name: str, same: Same, trial: Trial, diverged: bool) -> Outcome | None:
    assert same.curves is not None
    return findings.outcome(trial, same.curves, diverged)


def _diverged(lane: Lane) -> bool:
    """Whether what there is of a run ended because its numbers did."""
    if lane.job and lane.job.done:
        return lane.job.state == "diverged"
    return bool(not lane.stored and lane.stopped and lane.stopped.card.state == "diverged")


# ---- what can be pressed


def _pills(experiment: Experiment, choose: Callable[[str], None]) -> None:
    name = "text.experiment"
    st.session_state[name] = experiment.name

    def changed() -> None:
        choose(st.session_state[name] or experiment.name)

    st.pills(
        "Experiment",
        list(EXPERIMENTS),
        format_func=lambda each: EXPERIMENTS[each].title,
        key=name,
        on_change=changed,
        label_visibility="collapsed",
        wrap=True,
    )


def _controls(experiment: Experiment, lanes: Mapping[str, Lane], asked: Asked) -> None:
    """Run it here, or while it runs, Stop, in the same place; what it costs; and its runs on the Compare page."""
    problems(asked.problems)
    live = any(lane.live for lane in lanes.values())
    with st.container(horizontal=True, vertical_alignment="center"):
        if live:
            mine = any(lane.live and lane.job and visitor().owns(lane.job.starter) for lane in lanes.values())
            st.button(
                "Stop" if mine else "Training",
                icon=":material/stop:" if mine else ":material/group:",
                on_click=_stop,
                args=(experiment,),
                key="experiment.stop",
                width=150,
                disabled=not mine,
                help=None if mine else "Somebody else started these trainings; only they can stop them.",
            )
        else:
            again = all(lane.stored for lane in lanes.values())
            st.button(
                "Run it again here" if again else "Run it here",
                icon=":material/play_arrow:",
                on_click=_start,
                args=(experiment, asked),
                key="experiment.run",
            )
        st.caption(_cost(experiment, lanes))
        for part in experiment.fields:
            _compare(part, [trial for trial in experiment.trials if trial.field == part], lanes)


def _start(experiment: Experiment, asked: Asked) -> None:
    """Train every run of an experiment."""
    wanted = set()
    try:
        for config in configs(experiment).values():
            wanted.add(service.submit(config, visitor().id).key)
        asked.problems = ()
    except LineageError as error:  # a limit of this server; what it took trains
        asked.problems = (str(error),)
    asked.raced |= wanted
    asked.races += 1


def _stop(experiment: Experiment) -> None:
    """End those that this visitor started; they keep what they had."""
    me = visitor()
    for config in configs(experiment).values():
        job = service.find(key(config))
        if job and not job.view().done and me.owns(job.starter):
            service.stop(job.key, me.id, me.operator)


def _cost(experiment: Experiment, lanes: Mapping[str, Lane]) -> str:
    """How many trainings these are, and how long they take by what they took before."""
    text = f"{len(lanes)} trainings of {seeds(experiment.trials[0].config.replicas)}"
    taken = 0.0
    for lane in lanes.values():
        kept = lane.stored or lane.stopped
        if kept:
            taken += kept.card.seconds
        elif warmup.ready():
            with suppress(LineageError):  # without the text nobody knows how many tokens it has
                taken += estimate.seconds(lane.config)
    return f"{text}, about {duration(taken)}." if taken >= 0.1 else f"{text}."


def _compare(part: Field, trials: list[Trial], lanes: Mapping[str, Lane]) -> None:
    keys = [key(trial.config) for trial in trials if lanes[trial.name].curves or lanes[trial.name].stored]
    st.page_link(
        "compare.py",
        label=f"Compare: {part.title}" if part.title else "Compare these runs",
        query_params={"runs": ",".join(keys), "y": "val_loss_part"},
        icon=":material/stacked_line_chart:",
        disabled=not keys,
    )


# ---- what is seen


def _ends(experiment: Experiment, found: Mapping[str, Outcome]) -> None:
    """How every run ended, over the values of the setting."""
    frame(end_panels(experiment, found), key="experiment-ends", height=300, columns=len(experiment.fields))
    many = experiment.trials[0].config.replicas
    st.caption(
        f"Bits a character on all held-out text at the end; lower is better. A dot for each of {seeds(many)}, the line "
        "through their means."
    )


def end_panels(experiment: Experiment, found: Mapping[str, Outcome]) -> list[Panel]:
    """A panel a field, all on one axis."""
    row = MODELS[experiment.model]
    every = np.concatenate([each.bits for each in found.values()]) if found else np.zeros(0)
    every = every[np.isfinite(every)]
    low = float(every.min()) if len(every) else 3.0
    high = min(float(every.max()), _CEILING) if len(every) else _CEILING
    if not found or any(not each.numbers for each in found.values()):
        high = max(high, low + 0.5)
    room = 0.06 * max(high - low, 0.1)
    panels = []
    for part in experiment.fields:
        lines = []
        for line, dash in zip(experiment.lines, _dashes(len(experiment.lines)), strict=True):
            known = findings.by_value(experiment, part, line, found)
            nothing = np.full(experiment.trials[0].config.replicas, np.nan)
            # What is not there yet is left out; what ended without numbers is infinitely far up.
            values = [
                nothing if value not in known else np.where(np.isfinite(known[value].bits), known[value].bits, np.inf)
                for value in part.values
            ]
            lines.append(Ends(line.label, line.words, row.colour, dash, np.array(values, float)))
        panels.append(
            Panel(
                f"ends-{part.name or experiment.name}",
                ends(
                    lines,
                    [f"{value:g}" for value in part.values],
                    experiment.axis,
                    (low - room, high + room),
                    (BLIND, "blind guessing"),
                ),
                alt=_alt(experiment, part, found),
                title=part.title or row.title,
                colour=None if part.title else row.colour,
            )
        )
    return panels


def _alt(experiment: Experiment, part: Field, found: Mapping[str, Outcome]) -> str:
    """The same as a sentence."""
    told = [
        f"{line.words} {value:g}: {findings.ended(each)}"
        for line in experiment.lines
        for value, each in findings.by_value(experiment, part, line, found).items()
    ]
    what = f"Bits a character at the end, by {experiment.axis}"
    return f"{what}, {part.title}. {'; '.join(told)}." if part.title else f"{what}. {'; '.join(told)}."


def _dashes(count: int) -> tuple[str, ...]:
    """Runs of one model have one colour: with and without are told apart by their dashes."""
    return ("solid",) if count == 1 else _DASHES[:count]


def _curves(experiment: Experiment, lanes: Mapping[str, Lane], asked: Asked) -> None:
    """Every run by step; while any trains the browser asks for them by itself."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
        st.markdown("##### Step by step")
        look = st.segmented_control(
            "What is drawn",
            list(LOOKS),
            default="bits",
            format_func=LOOKS.__getitem__,
            key="experiment.look",
            label_visibility="collapsed",
        )
    shown, wanted, me = look or "bits", frozenset(asked.raced), visitor().id
    races = asked.races

    def again() -> dict[str, object] | None:
        now = runs.lanes(configs(experiment), wanted, me)
        live = any(lane.live for lane in now.values())
        return pictured(curve_panels(experiment, now, shown), _playback(experiment, now, races)) if live else None

    live = any(lane.live for lane in lanes.values())
    frame(
        curve_panels(experiment, lanes, shown),
        key="experiment-curves",
        height=210 if len(experiment.lines) > 1 else 320,
        narrow_height=170 if len(experiment.lines) > 1 else 260,
        columns=None if len(experiment.fields) == 1 else 3,
        playback=_playback(experiment, lanes, races),
        live=offer("experiment", again, 0.5 * crowd()) if live else None,
    )
    size = experiment.trials[0].config.evaluation_size
    what = (
        f"Bits a character on {size:,} characters of the held-out text."
        if shown == "bits"
        else "Length of the gradient over all weights, before anything is shortened; the scale is logarithmic."
    )
    st.caption(f"{outcome(lanes)} {what} Line: mean of the seeds. Band: lowest to highest.".strip())


def _playback(experiment: Experiment, lanes: Mapping[str, Lane], races: int) -> Playback:
    steps = max(lane.config.steps for lane in lanes.values())
    reached = max((lane.curves.step for lane in lanes.values() if lane.curves), default=0)
    live = any(lane.live for lane in lanes.values())
    took = sum(lane.seconds or 0.0 for lane in lanes.values())
    return Playback(
        run=f"{experiment.name}/{races}",
        end=steps,
        available=reached,
        live=live,
        say=progress(lanes) if live else told(lanes, took) if reached else "not trained yet",
        autoplay=races > 0,
        unit="step",
        step=max(steps // 50, 1),
    )


def curve_panels(experiment: Experiment, lanes: Mapping[str, Lane], look: str) -> list[Panel]:
    """A panel a value of the setting, with and without in each; where only the setting varies, one panel for all."""
    scale = _scale([lanes[trial.name] for trial in experiment.trials], look)
    if len(experiment.lines) == 1:
        groups = [("", MODELS[experiment.model].title, list(experiment.trials))]
    else:
        groups = [
            (
                f"{part.name}-{value:g}",
                f"{part.title}, {value:g}" if part.title else f"Rate {value:g}",
                [trial for trial in experiment.trials if (trial.field, trial.value) == (part, value)],
            )
            for part in experiment.fields
            for value in part.values
        ]
    return [
        _curve_panel(
            f"{experiment.name}-{look}-{name}",
            title,
            tuple((trial, Same(lanes[trial.name].curves)) for trial in trials),
            look,
            scale,
        )
        for name, title, trials in groups
    ]


@dataclass(frozen=True)
class _Scale:
    """One axis for all panels."""

    span: tuple[float, float]
    log: bool


@lru_cache(maxsize=256)
def _curve_panel(name: str, title: str, drawn: tuple[tuple[Trial, Same], ...], look: str, scale: _Scale) -> Panel:
    """Drawn once for all visitors who look at the same runs."""
    curves, tracks = [], []
    for index, (trial, same) in enumerate(drawn):
        row = MODELS[trial.config.model_name]
        alone = not trial.line.label
        label = f"{trial.value:g}" if alone else trial.line.label
        words = f"a window of {trial.value:g}" if alone else trial.line.words
        x, values = _values(same, look)
        kept = thinned(values, most=150)
        curves.append(Curve(label, words, row.colour, "solid" if alone else _DASHES[index], x[kept], *values[kept].T))
        at = PER_RUN * index
        tracks.append({"trace": at + 2, "low": at, "high": at + 1, "title": words, "colour": row.colour, "digits": 2})
    return Panel(
        name,
        curves_figure(curves, "step", scale.span, drawn[0][0].config.steps, scale.log),
        alt=f"{title}: {LOOKS[look]} by step, {listed([str(t['title']) for t in tracks])}.",
        title=title,
        tracks=tracks,
    )


def _values(same: Same, look: str) -> tuple[np.ndarray, np.ndarray]:
    """Steps, and mean, lowest and highest of the seeds there."""
    curves = same.curves
    if curves is None:
        return np.zeros(0), np.zeros((0, 3))
    if look == "gradient":
        values = curves.signals.get("gradient_norm", np.zeros((0, 1)))
        x = np.arange(len(values)) + 1.0
    else:
        values, x = curves.metrics.get("val_loss_part", np.zeros((0, 1))) / math.log(2), curves.evaluated.astype(float)
        values = values[: len(x)]
    return x, over_seeds(np.where(np.isfinite(values), values, np.nan))


def _scale(lanes: list[Lane], look: str) -> _Scale:
    """Low enough for the best and, where one breaks out, logarithmic and high enough for the worst. As high as the
    beginning while something trains; after it the beginning would flatten everything that matters."""
    known = [spread for lane in lanes if len(spread := _values(Same(lane.curves), look)[1])]
    values = np.concatenate(known) if known else np.zeros((0, 3))
    some = values[np.isfinite(values) & (values > 0)]
    if look == "gradient":
        return _Scale((float(some.min()) * 0.8, max(float(some.max()), 1.2) * 1.25) if len(some) else (0.1, 10.0), True)
    low = float(some.min()) if len(some) else 3.0
    if len(some) and some.max() > 2 * BLIND:
        return _Scale((low * 0.9, float(some.max()) * 1.1), True)
    over = len(known) == len(lanes) and not any(lane.live for lane in lanes)
    highest = max((float(spread[-1].max()) for spread in known), default=_CEILING)
    return _Scale((low - 0.1, min(highest + 0.6, _CEILING)) if over else (min(low, 3.0) - 0.1, _CEILING), False)


def _table(experiment: Experiment, found: Mapping[str, Outcome]) -> None:
    """Every number of the experiment."""
    if not found:
        return
    alone = len(experiment.lines) == 1
    every = np.concatenate([each.bits for each in found.values()])
    inside = every[every < _CEILING]
    reach = (
        [math.floor(10 * float(inside.min())) / 10, math.ceil(10 * float(inside.max())) / 10] if len(inside) else [3, 6]
    )
    columns: list[dict[str, object]] = [
        {"key": "value", "label": experiment.axis if alone else "learning rate", "kind": "model", "align": "left"}
    ]
    for line in experiment.lines:
        words = "bits a character" if alone else line.words
        kind = "text" if experiment.diverges else "strip"  # what breaks out is on no strip
        columns.append({"key": line.label or "end", "label": words, "kind": kind, "align": "left", "range": reach})
    against = "against the one before" if alone else "difference"
    columns.append({"key": "against", "label": against, "kind": "text", "align": "left"})
    if experiment.diverges:
        columns.append({"key": "longest", "label": "longest gradient", "kind": "text", "align": "left"})
    rows = []
    for part in experiment.fields:
        steps = (
            findings.against_smaller(experiment, found) if alone else findings.against_without(experiment, part, found)
        )
        compared = {each.value: findings.told(each) for each in steps}
        for value in part.values:
            ends_here = {
                line.label or "end": findings.by_value(experiment, part, line, found).get(value)
                for line in experiment.lines
            }
            named = f"{part.title}, {value:g}" if part.title else f"{value:g}"
            cells: dict[str, object] = {"value": {"text": named, "colour": MODELS[experiment.model].colour}}
            for name, each in ends_here.items():
                dots = [round(float(v), 4) for v in each.bits if v < _CEILING] if each else []
                cells[name] = {"text": findings.ended(each), "values": dots}
            cells["against"] = {"text": compared.get(value, "–")}
            longest = [findings.short(each.longest) for each in ends_here.values() if each]
            cells["longest"] = {"text": listed(longest) if longest else "–"}
            rows.append({"cells": cells})
    table(
        columns,
        rows,
        key="experiment-table",
        label="Every run of the experiment",
        caption="Mean and lowest to highest of the seeds, in bits a character on all held-out text. Difference: the "
        "second against the first, with the interval that 19 of 20 draws of seeds hold (Student's t of the seeds' "
        "pairs); where it holds zero, it could be luck.",
    )
