"""The picture of a sweep as a plotly figure: a map, lines or parallel coordinates, whichever fits its settings."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from explorer.figures.runs.sweeps import Colours, Level, trial_lines, trial_map, trial_parallel
from explorer.sweeps.controller import Plan, TrialStatus, values_at
from explorer.sweeps.findings import format_measured
from explorer.sweeps.results import ranked
from explorer.sweeps.space import Sweep, Value, format_value

_TICK_GAP = 0.1  # between two labels of the parallel coordinates, as a share of the height
_LARGEST_RATIO = 30  # of two positive values of the metric that a linear axis can show


def sweep_figure(sweep: Sweep, plan: Plan, colours: Colours) -> go.Figure:
    """Return the picture of a sweep: lines for one setting, a map for a grid of two, otherwise parallel coordinates."""
    if len(sweep.names) == 1:
        return _lines(sweep, plan, colours)
    if len(sweep.names) == 2 and sweep.search == "grid":
        return _map(sweep, plan, colours)
    return _parallel(sweep, plan, colours)


def describe_figure(sweep: Sweep) -> str:
    """Return how to read the picture of a sweep on a page, where a click opens a run."""
    if len(sweep.names) == 1:
        lines = "A line for each step at which trials were compared. " * bool(sweep.rungs)
        return f"{lines}Points: means over the seeds; band: lowest to highest seed. Click a point to open its run."
    ranks = "trials that were given up early rank below those that went further" if sweep.rungs else ""
    if len(sweep.names) == 2 and sweep.search == "grid":
        return f"The stronger the colour, the better the rank{ranks and f': {ranks}'}. Click a cell to open its run."
    return (
        f"A line for each trial; the stronger, the better its rank{ranks and f': {ranks}'}. Click its point on the "
        "axis “rank” to open its run."
    )


def picked_trial(sweep: Sweep, plan: Plan, x: float, y: float) -> TrialStatus | None:
    """Return the trial at a point of the picture; None if there is none, or several."""
    columns = _axis_values(plan, 0)
    if len(sweep.names) == 1:
        found = [status for status in plan.trials if columns.index(status.trial.settings[0][1]) == round(x)]
    elif len(sweep.names) == 2 and sweep.search == "grid":
        rows, place = _axis_values(plan, 1), (round(x), round(y))
        found = [
            status
            for status in plan.trials
            if (columns.index(status.trial.settings[0][1]), rows.index(status.trial.settings[1][1])) == place
        ]
    else:  # only on the last axis does each point belong to one trial
        order = ranked(sweep, plan)
        rank = round((1 - y) * max(len(order) - 1, 1)) if round(x) == len(sweep.names) else -1
        found = order[rank : rank + 1] if rank >= 0 else []
    return found[0] if len(found) == 1 else None


def _map(sweep: Sweep, plan: Plan, colours: Colours) -> go.Figure:
    columns, rows = _axis_values(plan, 0), _axis_values(plan, 1)
    shares = _rank_shares(sweep, plan)
    ranks = np.full((len(rows), len(columns)), np.nan)
    texts = [[""] * len(columns) for _ in rows]
    for status in plan.trials:
        (_, first), (_, second) = status.trial.settings
        at = rows.index(second), columns.index(first)
        ranks[at] = shares[status.trial.number]
        texts[at[0]][at[1]] = _cell_text(status)
    titles = sweep.names[1].replace("_", " "), sweep.names[0].replace("_", " ")
    return trial_map(ranks, texts, _labels(rows), _labels(columns), titles, colours)


def _cell_text(status: TrialStatus) -> str:
    if not math.isfinite(status.mean):
        return "" if math.isnan(status.mean) else "diverged"
    value = format_measured(status.mean)
    return f"{value}\nstep {status.step:,}" if status.state == "given up" else value


def _lines(sweep: Sweep, plan: Plan, colours: Colours) -> go.Figure:
    values = _axis_values(plan, 0)
    levels = []
    for step in (*sweep.rungs, 0):
        points = []
        for status in sorted(plan.trials, key=lambda status: values.index(status.trial.settings[0][1])):
            measured = status.values if not step and status.state == "finished" else None
            if step and status.run.curves is not None:
                measured = values_at(status.run.curves, sweep.metric, step)
            if measured is not None and np.isfinite(measured).all():
                points.append((values.index(status.trial.settings[0][1]), measured))
        if points:
            table = np.array([(measured.mean(), measured.min(), measured.max()) for _, measured in points])
            title = f"after {step:,} steps" if step else "at the end"
            levels.append(Level(title, [at for at, _ in points], *table.T))
    shown = np.concatenate([level.mean for level in levels]) if levels else np.zeros(0)
    log_y = bool(len(shown) and shown.min() > 0 and shown.max() > _LARGEST_RATIO * shown.min())
    titles = sweep.metric.replace("_", " "), sweep.names[0].replace("_", " ")
    return trial_lines(levels, _labels(values), titles, log_y, colours)


def _parallel(sweep: Sweep, plan: Plan, colours: Colours) -> go.Figure:
    order = ranked(sweep, plan)
    heights, ticks = np.zeros((len(order), len(sweep.names) + 1)), []
    for axis in range(len(sweep.names)):
        values = _axis_values(plan, axis)
        places = _heights(values)
        heights[:, axis] = [places[values.index(status.trial.settings[axis][1])] for status in order]
        ticks.append([(places[i], format_value(values[i])) for i in _choose_labels(places)])
    shares = _rank_shares(sweep, plan)
    places = [1 - place / max(len(order) - 1, 1) for place in range(len(order))]
    heights[:, -1] = places
    ticks.append([(1.0, "best"), (0.0, "worst")])
    strengths = np.array([0.0 if math.isnan(shares[s.trial.number]) else shares[s.trial.number] ** 3 for s in order])
    names = [*(name.replace("_", " ") for name in sweep.names), "rank"]
    return trial_parallel(heights, names, ticks, strengths, [status.trial.label for status in order], colours)


def _axis_values(plan: Plan, axis: int) -> list[Value]:
    """Return the values of a searched setting: numbers in their order, others as they are given."""
    found = list(dict.fromkeys(status.trial.settings[axis][1] for status in plan.trials))
    numbers = [value for value in found if isinstance(value, int | float) and not isinstance(value, bool)]
    return sorted(numbers) if len(numbers) == len(found) else found


def _heights(values: Sequence[Value]) -> list[float]:
    """Return the height of each value on its axis: numbers that span a factor of 30 on a logarithmic scale."""
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(numbers) < len(values) or len(values) < 2:
        return [i / max(len(values) - 1, 1) for i in range(len(values))]
    if numbers[0] > 0 and numbers[-1] > _LARGEST_RATIO * numbers[0]:
        numbers = [math.log(number) for number in numbers]
    return [(number - numbers[0]) / (numbers[-1] - numbers[0]) for number in numbers]


def _choose_labels(heights: Sequence[float]) -> list[int]:
    """Return which of these ascending heights have a label: the highest, and from below on all that leave a gap."""
    found: list[int] = []
    for i, height in enumerate(heights[:-1]):
        if heights[-1] - height >= _TICK_GAP and (not found or height - heights[found[-1]] >= _TICK_GAP):
            found.append(i)
    return [*found, len(heights) - 1]


def _labels(values: Sequence[Value]) -> list[str]:
    return [format_value(value) for value in values]


def _rank_shares(sweep: Sweep, plan: Plan) -> dict[int, float]:
    """Return for each trial its rank from 0 (worst) to 1 (best); NaN without a result."""
    order = ranked(sweep, plan)
    known = [status for status in order if math.isfinite(status.mean)]
    shares = {status.trial.number: 1 - place / max(len(known), 1) for place, status in enumerate(known)}
    return {status.trial.number: shares.get(status.trial.number, math.nan) for status in order}
