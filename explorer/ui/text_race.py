"""The race of the language models: who predicts held-out text best, by step, by token and by second."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import _lru_cache_wrapper, lru_cache
from typing import TypeVar

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer.catalogue import model_row
from explorer.figures.comparison import Line, comparison
from explorer.figures.text import gradients, two_losses
from explorer.inspection.comparing import over_seeds, thinned
from explorer.tasks.text import TextConfig
from explorer.training.config import RunConfig, key
from explorer.training.record import Curves
from explorer.ui import runs, training_controls
from explorer.ui.components import Panel, Playback, frame, pictured
from explorer.ui.findings import listed, seeds
from explorer.ui.live import offer
from explorer.ui.runs import Lane
from explorer.ui.samples import Written, pictured_samples, samples
from explorer.ui.session import LabSession
from explorer.ui.text_lab import UNITS, Along, TextLab, Unit
from explorer.ui.text_standings import characters_per_token, gradient_norm, in_unit, standing, steps_of
from explorer.ui.visitors import visitor

TITLES: dict[Along, str] = {
    "step": "optimiser steps",
    "tokens": "tokens read by one seed",
    "seconds": "seconds of training, all seeds together",
}
Made = TypeVar("Made")
_CACHED = 64  # drawings that are kept, and the curves that they were made from
WORDS: dict[Along, str] = {"step": "step", "tokens": "token", "seconds": "second"}


def draw(session: LabSession[TextLab]) -> None:
    """All the curves and what the models write; while something trains the browser asks for them by itself."""
    lab, raced, races, me = session.lab, frozenset(session.raced), session.races, visitor().id
    lanes = runs.lanes(lab.configs, raced, me)
    live = any(lane.live for lane in lanes.values())

    def now() -> dict[str, Lane] | None:
        """The lanes, from any thread; None when nothing trains any more."""
        found = runs.lanes(lab.configs, raced, me)
        return found if any(lane.live for lane in found.values()) else None

    def pictures() -> dict[str, object] | None:
        found = now()
        return pictured(*race(lab, found, races)) if found else None

    def details() -> dict[str, object] | None:
        found = now()
        return pictured(each(lab, found), None) if found else None

    def texts() -> dict[str, object] | None:
        found = now()
        return pictured_samples(written(found)) if found else None

    crowd = training_controls.crowd()
    panels, playback = race(lab, lanes, races)
    frame(
        panels,
        key="text-race",
        height=400,
        narrow_height=320,
        columns=1,
        playback=playback,
        live=offer("text-race", pictures, 0.5 * crowd) if live else None,
    )
    st.caption(caption(lab, lanes))
    frame(
        each(lab, lanes),
        key="text-each",
        height=190,
        narrow_height=170,
        columns=3,
        live=offer("text-each", details, 1.5 * crowd) if live else None,
    )
    st.caption(
        "Solid: held-out text. Thin: a part of the training text. Where the two part, the model has begun to learn its "
        "text by heart. Below each: the best step so far, and tokens read in a second."
    )
    st.header("What they write", anchor=False)
    samples(written(lanes), key="text-samples", live=offer("text-samples", texts, 1.5 * crowd) if live else None)


def written(lanes: Mapping[str, Lane]) -> list[Written]:
    return [Written.of(lane.row, lane.curves) for lane in lanes.values()]


def race(lab: TextLab, lanes: Mapping[str, Lane], races: int) -> tuple[list[Panel], Playback]:
    """Every model's loss on held-out text on one axis, and the counts as the line to beat."""
    characters = characters_per_token(lanes, lab.task)
    unit: Unit = "loss" if lab.unit == "bits" and characters is None else lab.unit
    shown = {model: line(lane, lab.along, unit, characters) for model, lane in lanes.items() if model != "ngram"}
    mark = counts_mark(lanes, unit, characters)
    longest = max((steps_of(lane.config) for lane in lanes.values()), default=1)
    reached = max((float(each.x[-1]) for each in shown.values() if len(each.x)), default=0.0)
    end = float(longest) if lab.along == "step" else max(reached, 1.0) * 1.02
    span = _span([each.mean for each in shown.values()], mark[0] if mark else None, unit)
    tracks = [
        {"trace": 3 * i + 2, "low": 3 * i, "high": 3 * i + 1, "title": each.title, "colour": lane.row.colour}
        for i, (each, lane) in enumerate(zip(shown.values(), (lanes[model] for model in shown), strict=True))
    ]
    figure = comparison(list(shown.values()), TITLES[lab.along], span, end=max(end, 1.0), mark=mark, room=104)
    panel = Panel(
        f"held-out-{unit}-{lab.along}",
        figure,
        alt=f"{UNITS[unit]} on held-out text, {TITLES[lab.along]}: {listed([x.title for x in shown.values()])}.",
        tracks=tracks,
    )
    playback = training_controls.playback(
        lanes,
        races,
        f"{'.'.join(key(lane.config) for lane in lanes.values())}/{lab.along}",
        round(end) or 1,
        round(reached),
        unit=WORDS[lab.along],
        step=float(max(round(end) // 50, 1)),
    )
    return [panel], playback


def line(lane: Lane, along: Along, unit: Unit, characters: float | None) -> Line:
    """The loss on a part of the held-out text, always the same part."""
    none, row = np.zeros(0), lane.row
    if lane.curves is None or not len(lane.curves.evaluated):
        return Line(row.title, row.title, row.colour, row.dash, none, none, none, none)
    return _drawn(_line, lane)(lane.curves, lane.config, along, unit, characters)


def _drawn(cached: _lru_cache_wrapper[Made], lane: Lane) -> Callable[..., Made]:
    """What draws a lane: once for all visitors who follow it; of an own text nothing is kept."""
    return cached.__wrapped__ if lane.config.on(TextConfig).corpus == "own" else cached


@lru_cache(maxsize=_CACHED)
def _line(curves: Curves, config: RunConfig, along: Along, unit: Unit, characters: float | None) -> Line:
    values = in_unit(curves.metrics["val_loss_part"], unit, characters)
    values = np.where(np.isfinite(values), values, np.nan)
    x = curves.along(along, curves.evaluated, 0)
    spread = over_seeds(values)
    kept = thinned(spread)
    row = model_row(config.model)
    return Line(
        row.title, row.title, row.colour, row.dash, x[kept] - (x[0] if along == "seconds" else 0), *spread[kept].T
    )


def counts_mark(lanes: Mapping[str, Lane], unit: Unit, characters: float | None) -> tuple[float, str, str] | None:
    """The n-gram's height, what is written on it, and its colour."""
    lane = lanes.get("ngram")
    if lane is None or lane.curves is None or not len(lane.curves.evaluated):
        return None
    value = float(in_unit(lane.curves.last("val_loss_part"), unit, characters)[0])
    order = getattr(lane.config.model, "n", 0)
    return value, f"{order}-gram counts {value:.3f}", lane.row.colour


def _span(lines: Sequence[ndarray], mark: float | None, unit: Unit) -> tuple[float, float]:
    """From a little below the best to where a model stands after its first steps: the start itself would flatten
    everything that matters."""
    ends = [float(np.nanmin(values)) for values in lines if len(values) and not np.isnan(values).all()]
    lowest = min([*ends, *([mark] if mark is not None else [])], default=1.0)
    starts = [float(values[0]) for values in lines if len(values) and np.isfinite(values[0])]
    highest = max(starts, default=lowest * 2.5)
    spread = {"loss": 0.75, "bits": 0.75, "perplexity": 2.0}[unit] * lowest
    top = min(highest, max(lowest + spread, *(min(e, highest) for e in ends))) if ends else highest
    return max(lowest * 0.93, 0.0), max(top * 1.02, lowest * 1.1, 1e-3)


def each(lab: TextLab, lanes: Mapping[str, Lane]) -> list[Panel]:
    """One small figure a model, trained against held out, and one with the gradients of all."""
    trained = {model: lane for model, lane in lanes.items() if model != "ngram"}
    characters = characters_per_token(lanes, lab.task)
    unit: Unit = "loss" if lab.unit == "bits" and characters is None else lab.unit
    both = []
    for lane in trained.values():
        if lane.curves is not None:
            both += [
                over_seeds(in_unit(lane.curves.metrics[name], unit, characters))[:, 0]
                for name in ("val_loss_part", "train_loss")
            ]
    span = _span(both, None, unit)
    last = max((steps_of(lane.config) for lane in trained.values()), default=1)
    found = []
    for lane in trained.values():
        found.append(_drawn(_each, lane)(lane.curves, lane.config, unit, characters, last, span, lane.live))
    norms = {
        lane.row.title: (lane.row.colour, lane.row.dash, _drawn(_smooth, lane)(lane.curves))
        for lane in trained.values()
        if lane.curves is not None and len(gradient_norm(lane.curves))
    }
    if norms:
        ends = [f"{title} {means[0]:.2f} to {means[-1]:.2f}" for title, (_, _, (_, means)) in norms.items()]
        found.append(
            Panel(
                "gradient-norm",
                gradients(norms, last),
                alt=f"Length of the gradient from the first steps to the last: {listed(ends)}.",
                title="Length of the gradient",
                caption="Before it is clipped; mean of the seeds.",
            )
        )
    return found


@lru_cache(maxsize=_CACHED)
def _each(
    curves: Curves | None,
    config: RunConfig,
    unit: Unit,
    characters: float | None,
    last: int,
    span: tuple[float, float],
    live: bool,
) -> Panel:
    row = model_row(config.model)
    none = np.zeros(0)
    steps, held_out, trained, value, best = none, none, none, "–", None
    said = "waiting for its turn" if live else "not trained yet"
    if curves is not None and len(curves.evaluated):
        steps = curves.evaluated.astype(float)
        held_out, trained = (
            over_seeds(in_unit(curves.metrics[name], unit, characters))[:, 0]
            for name in ("val_loss_part", "train_loss")
        )
        value = f"{held_out[-1]:.3f}"
        found = standing(curves, config)
        if found:
            best = float(found.best_step)
            said = f"step {curves.step:,} of {config.steps:,}; best at {found.best_step:,}; {found.pace:,.0f} tokens/s"
    return Panel(
        f"{row.name}-losses",
        two_losses(steps, held_out, trained, row.title, row.colour, last, span, best),
        alt=f"{row.title}: {UNITS[unit]} of held-out and of training text by step, at the end {value}.",
        title=row.title,
        colour=row.colour,
        value=value,
        caption=said,
        track=(0, 0, 0) if len(steps) else None,
    )


@lru_cache(maxsize=_CACHED)
def _smooth(curves: Curves) -> tuple[Float[ndarray, " points"], Float[ndarray, " points"]]:
    """Steps and the mean length of the gradient, a point for each of some hundred stretches."""
    norms = over_seeds(gradient_norm(curves))[:, 0]
    long = max(1, len(norms) // 100)
    kept = norms[: len(norms) // long * long].reshape(-1, long)
    return (np.arange(len(kept)) + 0.5) * long + curves.first, np.nanmean(kept, axis=1)


def caption(lab: TextLab, lanes: Mapping[str, Lane]) -> str:
    """How the curves were measured, and how the trainings ended."""
    many = lab.value("replicas")
    band = f"Line: mean of {seeds(many)}. Band: lowest to highest. " if many > 1 else "Line: one seed. "
    carried = [lane.row.title for lane in lanes.values() if getattr(lane.config.task, "batches", "") == "contiguous"]
    row = {"blocks": f"block of {lab.task.context} tokens", "sentences": "line", "prefixes": "prefix"}[lab.task.rows]
    cold = f"Each {row} is read from a cold start"
    cold += f"; {listed(carried)} read on from block to block, as they were trained. " if carried else ". "
    size = max(lane.config.evaluation_size for lane in lanes.values())
    part = _part(size, [found for lane in lanes.values() if (found := lane.curves or lane.result)]) if size else ""
    instead = (
        "Bits a character come with the first finished run. "
        if lab.unit == "bits" and characters_per_token(lanes, lab.task) is None
        else ""
    )
    return f"{training_controls.outcome(lanes)} {band}{cold}{part}{instead}".strip()


def _part(size: int, every: Sequence[Curves]) -> str:
    """How much of the held-out text the curves were measured on, of which `size` tokens were asked for."""
    every = [each for each in every if len(each.evaluated)]
    if not every:
        return ""
    ends = [(each.last("val_loss_part"), each.last("val_loss")) for each in every]
    ends = [(part, whole) for part, whole in ends if np.isfinite(whole).all()]
    if not ends:  # all of it is asked for at the end only; it may be less than the part could be
        return f"Curves: at most {size:,} tokens of the held-out text. "
    if all(np.allclose(part, whole, rtol=1e-6, atol=0.0) for part, whole in ends):
        return "Curves and the table below: all of the held-out text. "
    return f"Curves: {size:,} tokens of the held-out text; the table below: all of it. "
