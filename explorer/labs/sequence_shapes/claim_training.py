"""The training runs behind one claim: a button, and live training curves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from explorer.byte_cache import cached
from explorer.figures.comparison import TRACES_PER_RUN, Line
from explorer.figures.seq2seq.translation import exact_match_by_step
from explorer.inspection.compare import median_and_range, metric_over_seeds
from explorer.training.config import RunConfig
from explorer.training.record import Curves
from explorer.ui.components.plot_frame import Panel, value_tracks
from explorer.ui.page_sections import show_problems
from explorer.ui.training.learning_chart import draw_learning_chart, last_step
from explorer.ui.training.run_view import RunView
from explorer.ui.training.train_controls import TrainRequest, draw_train_controls

HEIGHT = 220


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

    def run_views(self) -> dict[str, RunView]:
        """Return the views of the runs."""
        return TrainRequest.for_section(self.name).views(self.configs)


def training_section(training: ClaimTraining) -> None:
    """Draw the button and the training curves."""
    request = TrainRequest.for_section(training.name)
    show_problems(request.problems)
    draw_train_controls(request, training.configs, keys=(f"shapes.{training.name}.run", f"shapes.{training.name}.stop"))
    draw_learning_chart(
        f"shapes-{training.name}-race",
        request,
        training.configs,
        partial(_panels, training),
        training.caption,
        height=HEIGHT,
        narrow_height=180,
        columns=len(training.panels),
    )


def _panels(training: ClaimTraining, views: Mapping[str, RunView]) -> list[Panel]:
    last = last_step(views)
    return [
        _panel(training.name, title, tuple((spec, views[spec.run].curves) for spec in specs), last)
        for title, specs in training.panels.items()
    ]


@cached()
def _panel(name: str, title: str, curves_by_spec: tuple[tuple[CurveSpec, Curves | None], ...], last: int) -> Panel:
    """Draw one chart; cached for all visitors who look at the same runs."""
    lines, summary = [], []
    for spec, curves in curves_by_spec:
        line = Line(
            spec.label,
            spec.words,
            spec.colour,
            spec.dash,
            *metric_over_seeds(curves, spec.metric, median_and_range),
            statistic="median",
        )
        lines.append(line)
        summary.append(f"{spec.words} {line.mean[-1]:.2f}" if len(line.mean) else f"{spec.words} not yet")
    return Panel(
        f"shapes-{name}-{title}",
        exact_match_by_step(lines, last),
        alt=f"{title}: share of right answers by step, at the end {'; '.join(summary)}.",
        title=title,
        tracks=value_tracks([(line.label, line.colour) for line in lines], per_line=TRACES_PER_RUN),
    )
