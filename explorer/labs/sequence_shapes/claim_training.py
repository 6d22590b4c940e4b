"""The training runs behind one claim: a button, and live training curves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from explorer import charts, ui
from explorer.byte_cache import cached
from explorer.inspection.compare import median_and_range, metric_over_seeds
from explorer.training.config import RunConfig
from explorer.training.record import Curves


@dataclass(frozen=True)
class CurveSpec:
    """One line of a chart: a run, one of its metrics, and how it is drawn."""

    run: str
    metric: str
    label: str  # at the end of the line
    words: str
    colour: str
    dash: str


@dataclass(frozen=True)
class ClaimTraining:
    """The runs of one claim. `panels`: the lines of each chart, by its title."""

    name: str
    configs: Mapping[str, RunConfig]
    panels: Mapping[str, tuple[CurveSpec, ...]]
    caption: str

    def run_views(self) -> dict[str, ui.RunView]:
        """Return the views of the runs."""
        return ui.TrainRequest.for_section(self.name).views(self.configs)


def training_section(training: ClaimTraining) -> None:
    """Draw the button and the training curves."""
    request = ui.TrainRequest.for_section(training.name)
    ui.show_problems(request.problems)
    ui.draw_train_controls(
        request, training.configs, keys=(f"shapes.{training.name}.run", f"shapes.{training.name}.stop")
    )
    ui.draw_learning_chart(
        f"shapes-{training.name}-race",
        request,
        training.configs,
        partial(_panels, training),
        training.caption,
        height=220,
        narrow_height=180,
        columns=len(training.panels),
    )


def _panels(training: ClaimTraining, views: Mapping[str, ui.RunView]) -> list[ui.Panel]:
    last = ui.last_step(views)
    return [
        _panel(training.name, title, tuple((spec, views[spec.run].curves) for spec in specs), last)
        for title, specs in training.panels.items()
    ]


@cached()
def _panel(name: str, title: str, curves_by_spec: tuple[tuple[CurveSpec, Curves | None], ...], last: int) -> ui.Panel:
    """Draw one chart; cached for all visitors who look at the same runs."""
    lines = []
    for spec, curves in curves_by_spec:
        x, *values = metric_over_seeds(curves, spec.metric, median_and_range)
        lines.append(charts.Line(spec.label, spec.words, spec.colour, spec.dash, x, np.stack(values, axis=1)))
    x_axis, subject = charts.Axis("step", (0.0, float(last))), f"{title}, share of right answers by step"
    return ui.Panel(f"shapes-{name}-{title}", charts.LineChart(subject, lines, x_axis, charts.ACCURACY), title=title)
