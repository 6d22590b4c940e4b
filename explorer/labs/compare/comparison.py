"""The compared runs: their names, settings and curves."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.byte_cache import cached
from explorer.catalogue import task_row
from explorer.errors import LineageError
from explorer.experiments.run_names import flat_settings, names_side_by_side
from explorer.inspection.compare import BATCH_LOSS, MetricCurve, metric_curve, smooth
from explorer.labs.compare.state import MEASURES, TASK_MEASURES, Comparison
from explorer.run_store import store
from explorer.tasks.text.config import TextConfig
from explorer.training.comparability import can_compare_bits, comparability
from explorer.training.config import RunConfig
from explorer.training.record import Axis, Curves
from explorer.ui.state.run_lookup import find_config
from explorer.ui.training import run_view
from explorer.ui.training.run_view import RunView


@dataclass(frozen=True)
class ComparedRun:
    """One of the compared runs: its number on the page, key, name and status."""

    label: str
    key: str
    name: str
    view: RunView

    @property
    def config(self) -> RunConfig:
        return self.view.config

    @property
    def curves(self) -> Curves | None:
        return self.view.curves or self.view.result

    @property
    def may_continue(self) -> bool:
        """Whether the training may change these curves: it waits, runs, or was stopped before its end."""
        job, stopped = self.view.job, self.view.stopped
        if job:
            return job.state in ("waiting", "running", "stopped")
        return not self.view.stored and stopped is not None and stopped.card.state != "diverged"

    @property
    def title(self) -> str:
        return f"{self.label} {self.name}"

    def last(self, measure: str) -> Float[ndarray, " replicas"] | None:
        """Return the final value of a measure for each seed; None if it was not recorded."""
        curves = self.curves
        if curves is None or not len(curves.evaluated):
            return None
        name = "train_loss" if measure == BATCH_LOSS else measure
        return curves.last(name) if name in curves.metrics else None


def available_measures(runs: Sequence[ComparedRun]) -> tuple[str, ...]:
    """Return the measures that the tasks of these runs record."""
    tasks = {task_row(run.config.task).name for run in runs} or {"negation"}
    return tuple(measure for measure in MEASURES if any(measure in TASK_MEASURES[task] for task in tasks))


def with_available_measure(state: Comparison, runs: Sequence[ComparedRun]) -> Comparison:
    """Return the comparison with a measure that these runs have."""
    possible = available_measures(runs)
    return state if state.y in possible else replace(state, y=possible[0], target=None)


def load_runs(keys: Sequence[str], visitor_id: str) -> tuple[list[ComparedRun], list[str]]:
    """Return the runs of these keys, and a sentence for each run that is not on this machine."""
    configs: dict[str, RunConfig] = {}
    problems = []
    for name in dict.fromkeys(keys):
        try:
            configs[name] = find_config(name, visitor_id)
        except LineageError as error:
            problems.append(str(error))
    views = {
        run: _with_imported_run(run, view) for run, view in run_view.run_views(configs, visitor_id=visitor_id).items()
    }
    names = _display_names(views)
    return [ComparedRun(str(i), k, names[k], view) for i, (k, view) in enumerate(views.items(), start=1)], problems


def _with_imported_run(run: str, view: RunView) -> RunView:
    """Return the view with a run that another visitor imported, if it has no curves of its own."""
    if view.curves is None:
        with contextlib.suppress(LineageError):
            stored = store.find(run)
            return replace(view, stored=stored if stored.card.finished else None, stopped=stored)
    return view


def _display_names(views: Mapping[str, RunView]) -> dict[str, str]:
    """Return the display name of each run: its own, or else its model and what differs between that model's runs."""
    names = names_side_by_side([view.config for view in views.values()])
    cards = [view.stored or view.stopped for view in views.values()]
    return {run: (card.card.name if card else "") or name for run, card, name in zip(views, cards, names, strict=True)}


def differing_settings(runs: Sequence[ComparedRun]) -> dict[str, list[str]]:
    """Return the settings in which the runs differ, by name, each with its value in every run."""
    every = [flat_settings(run.config) for run in runs]
    names = dict.fromkeys(name for each in every for name in each if not name.endswith("version"))
    rows = {name: [str(each.get(name, "–")) for each in every] for name in names}
    for part in ("parent", "step"):
        rows[f"branch {part}"] = [str(getattr(run.config.branch, part, "–")) for run in runs]
    return {name: values for name, values in rows.items() if len(set(values)) > 1}


@cached()
def _final_curve(curves: Curves, config: RunConfig, measure: str, axis: Axis, smoothing: float) -> MetricCurve:
    """Return the curve of a finished run; the curves of a stored run are the same object as long as it is loaded."""
    return smooth(metric_curve(curves, config, measure, axis), smoothing)


def displayed_curves(
    state: Comparison, runs: Sequence[ComparedRun], axis: Axis | None = None
) -> list[MetricCurve | None]:
    """Return the curve of every run, smoothed as the page draws it; None where there is none yet."""
    x: Axis = axis or state.x
    curves: list[MetricCurve | None] = []
    for run in runs:
        if run.curves is None:
            curves.append(None)
        elif run.view.stored and run.curves is run.view.stored.curves:  # it is final, so its curve is cached
            curves.append(_final_curve(run.curves, run.config, state.y, x, state.smooth))
        else:
            curves.append(smooth(metric_curve(run.curves, run.config, state.y, x), state.smooth))
    return curves


def default_target(state: Comparison, runs: Sequence[ComparedRun]) -> float:
    """Return a target that most runs reach.

    An accuracy of 0.95, or 1.2 times the worst final loss (of three or more runs: the second worst).
    """
    if state.rising:
        return 0.95
    recorded = [last for e in runs if (last := e.last(state.y)) is not None and np.isfinite(last).any()]
    ends = sorted(float(np.median(last[np.isfinite(last)])) for last in recorded)
    if not ends:
        return 0.1
    return float(f"{max(ends[-2 if len(ends) > 2 else -1] * 1.2, 1e-6):.2g}")


@dataclass(frozen=True)
class BitsPerByte:
    """The bits per byte of each run, as text, and what they mean."""

    texts: tuple[str, ...]
    note: str  # empty if the losses per token can be compared as well


def runs_bits_per_byte(runs: Sequence[ComparedRun]) -> BitsPerByte | None:
    """Return the bits per byte of language models; None if theirs cannot be compared, or for other runs."""
    configs = [run.config for run in runs]
    if not runs or not all(isinstance(config.task, TextConfig) for config in configs):
        return None
    differences = comparability(configs, "val_loss")
    if not can_compare_bits(differences):
        return None
    reasons = {each.reason for each in differences}
    note = ""
    if "token" in reasons:
        note = "Bits per byte, in the table, are those of the text as it is, so they can be compared between tokenizers"
        note += ", but not between contexts." if "context" in reasons else "."
    return BitsPerByte(tuple(map(_bits_text, runs)), note)


def _bits_text(run: ComparedRun) -> str:
    """Return the mean over the seeds at the end; “–” for a run of an earlier version, which did not record it."""
    last = run.last("bits_per_byte")
    return f"{last.mean():.3f}" if last is not None and np.isfinite(last).all() else "–"
