"""The pictures of an experiment: where its runs ended, how they went there, and every number in a table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.catalogue import MODELS
from explorer.figures.comparison import Line as Curve
from explorer.figures.experiments import Ends, curves, ends
from explorer.inspection.comparing import over_seeds, thinned
from explorer.training.experiments import BLIND, Experiment, Field, Trial
from explorer.training.record import Curves
from explorer.ui import experiment_findings as findings
from explorer.ui.components import Panel, table, tracks
from explorer.ui.experiment_findings import Outcome
from explorer.ui.findings import listed
from explorer.ui.runs import Lane

_CEILING = BLIND + 0.4  # bits a character: who ends above stands on the edge of the figure
_DASHES = ("6px,4px", "solid")  # without, with
LOOKS = {"bits": "held-out text", "gradient": "length of the gradient"}


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
            tuple((trial, lanes[trial.name].curves) for trial in trials),
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


@lru_cache(maxsize=64)
def _curve_panel(
    name: str, title: str, drawn: tuple[tuple[Trial, Curves | None], ...], look: str, scale: _Scale
) -> Panel:
    """Drawn once for all visitors who look at the same runs."""
    drawn_lines = []
    for index, (trial, found) in enumerate(drawn):
        row = MODELS[trial.config.model_name]
        alone = not trial.line.label
        label = f"{trial.value:g}" if alone else trial.line.label
        words = f"a window of {trial.value:g}" if alone else trial.line.words
        x, values = _values(found, look)
        kept = thinned(values, most=150)
        drawn_lines.append(
            Curve(label, words, row.colour, "solid" if alone else _DASHES[index], x[kept], *values[kept].T)
        )
    return Panel(
        name,
        curves(drawn_lines, "step", scale.span, float(drawn[0][0].config.steps), scale.log),
        alt=f"{title}: {LOOKS[look]} by step, {listed([line.title for line in drawn_lines])}.",
        title=title,
        tracks=tracks([(line.title, line.colour) for line in drawn_lines]),
    )


def _values(known: Curves | None, look: str) -> tuple[Float[ndarray, " points"], Float[ndarray, "points 3"]]:
    """Steps, and mean, lowest and highest of the seeds there."""
    if known is None:
        return np.zeros(0), np.zeros((0, 3))
    if look == "gradient":
        values = known.signals.get("gradient_norm", np.zeros((0, 1)))
        x = np.arange(len(values)) + 1.0
    else:
        values, x = known.metrics.get("val_loss_part", np.zeros((0, 1))) / math.log(2), known.evaluated.astype(float)
        values = values[: len(x)]
    return x, over_seeds(np.where(np.isfinite(values), values, np.nan))


def _scale(lanes: list[Lane], look: str) -> _Scale:
    """Low enough for the best and, where one breaks out, logarithmic and high enough for the worst. As high as the
    beginning while something trains; after it the beginning would flatten everything that matters."""
    known = [spread for lane in lanes if len(spread := _values(lane.curves, look)[1])]
    values = np.concatenate(known) if known else np.zeros((0, 3))
    some = values[np.isfinite(values) & (values > 0)]
    if look == "gradient":
        return _Scale((float(some.min()) * 0.8, max(float(some.max()), 1.2) * 1.25) if len(some) else (0.1, 10.0), True)
    low = float(some.min()) if len(some) else 3.0
    if len(some) and some.max() > 2 * BLIND:
        return _Scale((low * 0.9, float(some.max()) * 1.1), True)
    over = len(known) == len(lanes) and not any(lane.live for lane in lanes)
    last = [end for spread in known if math.isfinite(end := float(spread[-1].max()))]
    highest = max(last, default=_CEILING)
    return _Scale((low - 0.1, min(highest + 0.6, _CEILING)) if over else (min(low, 3.0) - 0.1, _CEILING), False)


def results(experiment: Experiment, found: Mapping[str, Outcome]) -> None:
    """Every number of the experiment."""
    if not found:
        return
    rows = [{"cells": cells} for part in experiment.fields for cells in _cells(experiment, part, found)]
    table(
        _columns(experiment, found),
        rows,
        key="experiment-table",
        label="Every run of the experiment",
        caption="Mean and lowest to highest of the seeds, in bits a character on all held-out text. Difference: the "
        "second against the first, with the interval that 19 of 20 draws of seeds hold (Student's t of the seeds' "
        "pairs); where it holds zero, it could be luck. Three seeds make wide intervals.",
    )


def _columns(experiment: Experiment, found: Mapping[str, Outcome]) -> list[dict[str, object]]:
    alone = len(experiment.lines) == 1
    every = np.concatenate([each.bits for each in found.values()])
    inside = every[every < _CEILING]
    reach = [3.0, 6.0]
    if len(inside):
        reach = [math.floor(10 * float(inside.min())) / 10, math.ceil(10 * float(inside.max())) / 10]
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
    return columns


def _cells(experiment: Experiment, part: Field, found: Mapping[str, Outcome]) -> list[dict[str, object]]:
    """A row a value of the setting."""
    alone = len(experiment.lines) == 1
    steps = findings.against_smaller(experiment, found) if alone else findings.against_without(experiment, part, found)
    compared = {each.value: findings.told(each) for each in steps}
    rows = []
    for value in part.values:
        ended = {
            line.label or "end": findings.by_value(experiment, part, line, found).get(value)
            for line in experiment.lines
        }
        named = f"{part.title}, {value:g}" if part.title else f"{value:g}"
        cells: dict[str, object] = {"value": {"text": named, "colour": MODELS[experiment.model].colour}}
        for name, each in ended.items():
            dots = [round(float(v), 4) for v in each.bits if v < _CEILING] if each else []
            cells[name] = {"text": findings.ended(each), "values": dots}
        cells["against"] = {"text": compared.get(value, "–")}
        longest = [findings.short(each.longest) for each in ended.values() if each]
        cells["longest"] = {"text": listed(longest) if longest else "–"}
        rows.append(cells)
    return rows
