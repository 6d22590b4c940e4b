"""The panels of a learning chart that compares the variants of a page: a line for each variant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import plotly.graph_objects as go

from explorer.experiments.model_variant import ModelVariant
from explorer.figures.comparison import Line, variant_line
from explorer.inspection.compare import median_and_range, metric_over_seeds
from explorer.training.record import Curves
from explorer.ui.components.plot_frame import Panel, value_tracks
from explorer.ui.training.run_view import RunView
from explorer.ui.wording import join_words

VariantCurves: TypeAlias = tuple[tuple[ModelVariant, Curves | None], ...]  # can be a cache key


def curves_of_variants(variants: Mapping[str, ModelVariant], views: Mapping[str, RunView]) -> VariantCurves:
    """Return each variant that has a view, with its curves; None before there are any."""
    return tuple((variants[name], view.curves) for name, view in views.items())


def metric_lines(curves_by_variant: VariantCurves, metric: str, statistic: str = "mean") -> list[Line]:
    """Return a metric by step, a line for each variant: the median over the seeds, the lowest and the highest seed.

    statistic: the name of the line in a saved table
    """
    return [
        variant_line(variant, *metric_over_seeds(curves, metric, median_and_range), statistic=statistic)
        for variant, curves in curves_by_variant
    ]


def highest_value(lines: Iterable[Line]) -> float:
    """Return the highest value of any seed; 0 without values."""
    return max((float(np.nanmax(line.high, initial=0.0)) for line in lines), default=0.0)


def line_panel(
    name: str, title: str, lines: Sequence[Line], figure: go.Figure, measured: str = "", digits: int = 2
) -> Panel:
    """Return a panel of lines by step, described by where each of them ends.

    measured: what is measured by what, for the description; by default the title, by step
    digits: decimals of the values that are read off the lines
    """
    ends = join_words([f"{line.title} {line.mean[-1]:.2f}" for line in lines if len(line.mean)])
    return Panel(
        name,
        figure,
        alt=f"{measured or f'{title}, by step'}; at the end {ends or 'nothing yet'}.",
        title=title,
        tracks=value_tracks([(line.label, line.colour) for line in lines], digits),
    )
