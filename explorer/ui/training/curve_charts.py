"""Charts of training curves: one for each metric, with a line for each variant. They are drawn once for all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.byte_cache import cached
from explorer.charts import ACCURACY, Axis, Line, LineChart, Rule, span_of
from explorer.experiments.model_variant import ModelVariant
from explorer.inspection.compare import median_and_range, metric_over_seeds
from explorer.training.record import Curves
from explorer.ui.frame import Panel
from explorer.ui.training.run_view import RunView

LinesByMetric: TypeAlias = Mapping[str, Sequence[Line]]
VariantCurves: TypeAlias = tuple[tuple[ModelVariant, Curves | None], ...]  # can be a cache key


@dataclass(frozen=True, eq=False)
class Metric:
    """A metric of runs and its chart. Metrics are equal only if they are the same object, so make each once.

    name: of the metric
    title: of the panel, and the beginning of its text alternative
    y: the axis; with `headroom` it grows to the largest value times this
    rules, margin, digits: of the chart (`LineChart`)
    finish: changes the chart, given the lines of all metrics; for what depends on them
    """

    name: str
    title: str
    y: Axis = ACCURACY
    rules: Sequence[Rule] = ()
    headroom: float = 0.0
    margin: int = 104
    digits: int | None = 2
    finish: Callable[[LineChart, LinesByMetric], LineChart] = lambda chart, _: chart


def variant_line(
    variant: ModelVariant,
    x: Float[ndarray, " points"],
    values: Float[ndarray, "points 3"],
) -> Line:
    """Return the line of a variant through middle, lowest and highest values, as `median_and_range` returns them."""
    return Line(variant.label, variant.words, variant.colour, variant.dash, x, values)


def metric_lines(curves_by_variant: VariantCurves, metric: str) -> list[Line]:
    """Return a metric by training step, a line for each variant: median, lowest and highest value over the seeds."""
    lines = []
    for variant, curves in curves_by_variant:
        x, *values = metric_over_seeds(curves, metric, median_and_range)
        lines.append(variant_line(variant, x, np.stack(values, axis=1)))
    return lines


def curve_panels(
    metrics: Sequence[Metric], variants: Mapping[str, ModelVariant]
) -> Callable[[Mapping[str, RunView]], list[Panel]]:
    """Return what `draw_learning_chart` calls while the runs train: a chart of each metric by training step."""
    return partial(_curve_panels, tuple(metrics), variants)


def _curve_panels(
    metrics: tuple[Metric, ...], variants: Mapping[str, ModelVariant], views: Mapping[str, RunView]
) -> list[Panel]:
    runs = tuple((variants[name], view.curves) for name, view in views.items())
    last = max(view.config.steps for view in views.values())
    private = any(view.job and view.job.private for view in views.values())  # a cache would outlive the visit
    return list((_draw if private else _drawn)(metrics, runs, last))


def _draw(metrics: tuple[Metric, ...], runs: VariantCurves, last: int) -> tuple[Panel, ...]:
    lines = {metric.name: metric_lines(runs, metric.name) for metric in metrics}
    charts = {metric: metric.finish(_chart(metric, lines[metric.name], last), lines) for metric in metrics}
    return tuple(Panel(f"learning-{metric.name}", chart, title=metric.title) for metric, chart in charts.items())


_drawn = cached()(_draw)


def _chart(metric: Metric, lines: Sequence[Line], last: int) -> LineChart:
    y = metric.y
    if metric.headroom and y.span:
        _, highest = span_of([line.values for line in lines], 0.0, least=0.0)
        y = replace(y, span=(y.span[0], max(y.span[1], metric.headroom * highest)))
    x = Axis("step", (0.0, float(last)))
    subject = f"{metric.title}, by step"
    return LineChart(subject, lines, x, y, metric.rules, margin=metric.margin, digits=metric.digits)
