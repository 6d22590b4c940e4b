"""The picture of a sweep as a chart: a map, lines or parallel coordinates, whichever fits its settings.

Trials that were given up were measured earlier than the others, so colours show ranks and not values: a trial that went
further is ranked before one that was given up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from explorer import charts
from explorer.catalogue import model_row
from explorer.charts.style import VEIL, annotation, css_colour, escape_markup, labelled_ticks, round_significant
from explorer.sweeps.controller import Plan, TrialStatus, values_at
from explorer.sweeps.findings import format_measured, result_finding
from explorer.sweeps.results import ranked
from explorer.sweeps.space import Sweep, Value, format_value

_TICK_GAP = 0.1  # between two labels of the parallel coordinates, as a share of the height
_LARGEST_RATIO = 30  # of two positive values of the metric that a linear axis can show


def sweep_chart(sweep: Sweep, plan: Plan) -> charts.Chart:
    """Return the picture of a sweep: lines for one setting, a map for a grid of two, otherwise parallel coordinates."""
    words = f"{sweep.base.title}: {result_finding(sweep, plan)}"
    if len(sweep.names) == 1:
        return _lines(sweep, plan, words)
    if len(sweep.names) == 2 and sweep.search == "grid":
        return _map(sweep, plan, words)
    return _parallel(sweep, plan, words)


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


def _map(sweep: Sweep, plan: Plan, words: str) -> charts.HeatMap:
    columns, rows = _axis_values(plan, 0), _axis_values(plan, 1)
    shares = _rank_shares(sweep, plan)
    ranks = np.full((len(rows), len(columns)), np.nan)
    texts = [[""] * len(columns) for _ in rows]
    for status in plan.trials:
        (_, first), (_, second) = status.trial.settings
        at = rows.index(second), columns.index(first)
        ranks[at] = shares[status.trial.number]
        texts[at[0]][at[1]] = _cell_text(status)
    column, row = (name.replace("_", " ") for name in sweep.names)
    return charts.HeatMap(
        words,
        "rank",
        _labels(rows),
        _labels(columns),
        ranks,
        texts,
        columns_title=column,
        rows_title=row,
        upward=True,
        columns_on_top=False,
        words=words,
    )


def _cell_text(status: TrialStatus) -> str:
    if not math.isfinite(status.mean):
        return "" if math.isnan(status.mean) else "diverged"
    value = format_measured(status.mean)
    return f"{value}\nstep {status.step:,}" if status.state == "given up" else value


def _lines(sweep: Sweep, plan: Plan, words: str) -> charts.Drawing:
    """Return a line with a band over the seeds for each step at which trials were compared; the last is strongest."""
    values, colour = _axis_values(plan, 0), model_row(sweep.base.model).colour
    levels = []
    for step in (*sweep.rungs, 0):
        points = []
        for status in sorted(plan.trials, key=lambda status: values.index(status.trial.settings[0][1])):
            measured = status.values if not step and status.state == "finished" else None
            if step and status.run.curves is not None:
                measured = values_at(status.run.curves, status.trial.config, sweep.metric, step)
            if measured is not None and np.isfinite(measured).all():
                points.append((values.index(status.trial.settings[0][1]), measured))
        if points:
            levels.append((f"after {step:,} steps" if step else "at the end", points))
    traces: list[dict[str, Any]] = []
    for strength, (title, points) in zip(np.linspace(0, 1, len(levels) + 1)[1:], levels, strict=True):
        low, mean, high = (
            [round_significant(statistic(measured)) for _, measured in points]
            for statistic in (np.min, np.mean, np.max)
        )
        common = {"type": "scatter", "x": [at for at, _ in points], "legendgroup": title}
        common |= {"hoverinfo": "none"}  # with "skip" plotly reports no clicks
        edge = common | {"mode": "lines", "showlegend": False}
        edge |= {"line": {"width": 0, "color": css_colour(colour, 0.0)}}
        fill = {"fill": "tonexty", "fillcolor": css_colour(colour, 0.05 + 0.15 * strength)}
        line = {"width": 1.5 + strength, "color": css_colour(colour, 0.25 + 0.75 * strength)}
        traces += [
            edge | {"y": low, "name": f"{title}, lowest seed"},
            edge | {"y": high, "name": f"{title}, highest seed"} | fill,
            common | {"y": mean, "mode": "lines+markers", "line": line, "marker": {"size": 8}, "name": title},
        ]
    means = [float(measured.mean()) for _, points in levels for _, measured in points]
    log_y = bool(means) and min(means) > 0 and max(means) > _LARGEST_RATIO * min(means)
    y_axis = charts.Axis(sweep.metric.replace("_", " "), log=log_y).layout()
    y_axis |= {"showticklabels": bool(levels)}  # without values, the ticks of plotly mean nothing
    layout = {
        "xaxis": _values_axis(_labels(values), sweep.names[0].replace("_", " ")),
        "yaxis": y_axis,
        "showlegend": len(levels) > 1,
        "legend": {"orientation": "h", "y": 1.12},
    }
    return charts.Drawing(words, traces, layout)


def _parallel(sweep: Sweep, plan: Plan, words: str) -> charts.Drawing:
    """Return a line for each trial through its values, and its rank on the last axis; the best are drawn last."""
    order, colour = ranked(sweep, plan), model_row(sweep.base.model).colour
    names = [*(name.replace("_", " ") for name in sweep.names), "rank"]
    heights, labels = np.zeros((len(order), len(names))), []
    for axis in range(len(sweep.names)):
        values = _axis_values(plan, axis)
        places = _heights(values)
        heights[:, axis] = [places[values.index(status.trial.settings[axis][1])] for status in order]
        labels += [(axis, places[i], format_value(values[i])) for i in _choose_labels(places)]
    heights[:, -1] = [1 - place / max(len(order) - 1, 1) for place in range(len(order))]
    labels += [(len(sweep.names), 1.0, "best"), (len(sweep.names), 0.0, "worst")]
    shares = _rank_shares(sweep, plan)
    strengths = np.nan_to_num(np.array([shares[status.trial.number] for status in order])) ** 3
    traces = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "x": list(range(len(names))),
            "y": [round_significant(height) for height in heights[i]],
            "line": {"width": 1 + 2 * strengths[i], "color": css_colour(colour, 0.12 + 0.88 * strengths[i])},
            "marker": {"size": 6},
            "name": escape_markup(order[i].trial.label),
            "hoverinfo": "none",
        }
        for i in strengths.argsort(kind="stable")
    ]
    style = {"xanchor": "left", "xshift": 6, "font": {"size": 13}, "bgcolor": VEIL}
    line = {"type": "line", "y0": 0, "y1": 1, "line": {"width": 1, "color": css_colour(colour, 0.4)}}
    layout = {
        "xaxis": {**_values_axis(names, ""), "range": [-0.15, len(names) - 0.5], "showgrid": False},
        "yaxis": {"range": [-0.05, 1.05], "visible": False},
        "showlegend": False,
        "annotations": [annotation(escape_markup(text), axis, height, **style) for axis, height, text in labels],
        "shapes": [line | {"x0": axis, "x1": axis} for axis in range(len(names))],
    }
    return charts.Drawing(words, traces, layout)


def _values_axis(values: Sequence[str], title: str) -> dict[str, Any]:
    return labelled_ticks(values) | {"range": [-0.5, len(values) - 0.5], "title": {"text": escape_markup(title)}}


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
