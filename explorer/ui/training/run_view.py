"""The runs that a page shows: stored, stopped or being trained, and the loss curves of those that are finished."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.catalogue import ModelRow, model_row
from explorer.inspection.steps_to_solve import LossCurves
from explorer.jobs.job import JobView
from explorer.jobs.service import service
from explorer.run_store import store
from explorer.run_store.store import StoredRun
from explorer.training.config import RunConfig, key
from explorer.training.record import Curves, Record
from explorer.ui.page_sections import empty_panel
from explorer.ui.state.visitor import current_visitor

Run: TypeAlias = StoredRun | Record  # the record of a private run is in memory only


@dataclass(frozen=True)
class RunView:
    """The state of one run in a comparison: its configuration, its stored run and its job."""

    config: RunConfig
    stored: StoredRun | None  # the finished run with its weights
    job: JobView | None  # the job of this process that trains or trained it
    stopped: StoredRun | None = None  # the run stopped before its end, if there is neither run nor job
    private: Record | None = None  # the record of a job on the visitor's own text, in memory only

    @property
    def row(self) -> ModelRow:
        return model_row(self.config.model)

    @property
    def loaded_run(self) -> Run | None:
        """The finished run or record with its weights, or None: nothing is concluded from an unfinished training."""
        return self.stored or (self.private if self.private and self.private.finished else None)

    @property
    def cache_key(self) -> tuple[Hashable, ...]:
        """A key of these weights; contains the SHA-256 of an own text, for `background.drop_results`."""
        run = self.loaded_run
        if isinstance(run, StoredRun):
            return run.cache_key
        return (getattr(self.config.task, "text", ""), key(self.config), self.job.number if self.job else 0)

    @property
    def live(self) -> bool:
        return self.job is not None and not self.job.done

    @property
    def curves(self) -> Curves | None:
        """The curves of the job if there is one, otherwise of the stored run."""
        if self.job and self.job.state != "failed":
            return self.job.curves
        run = self.stored or self.stopped
        return run.curves if run else None

    @property
    def result(self) -> Curves | None:
        """The curves of the finished run, or of a newer job once it has finished; None before."""
        if self.job and self.job.state == "finished":
            return self.job.curves
        return self.stored.curves if self.stored else None

    @property
    def epochs(self) -> Float[ndarray, " evaluations"]:
        """The epochs at which the model was evaluated."""
        if self.curves is None:
            return np.zeros(0)
        return self.curves.axis_values("epoch", self.curves.evaluated, self.config.steps_per_epoch)

    @property
    def seconds(self) -> float | None:
        run = self.stored or self.stopped
        return self.job.seconds if self.job else run.card.seconds if run else None

    @property
    def parameters(self) -> int | None:
        run = self.stored or self.stopped
        if run:
            return run.card.parameters
        return self.job.parameters if self.job and self.job.parameters else None


def run_views(
    configs: Mapping[str, RunConfig], requested: Iterable[str] = (), visitor_id: str | None = None
) -> dict[str, RunView]:
    """Return the run view of each configuration.

    A view shows a job if this visitor requested it (`requested`: run keys, in this tab; or in another tab, unless
    the job has ended otherwise than by being stopped) or if there is no stored run. `visitor_id` is required outside a
    page script.
    """
    requested, visitor_id = set(requested), current_visitor().id if visitor_id is None else visitor_id
    views = {}
    for model, config in configs.items():
        run_key = key(config)
        stored = store.find_by_config(config, excluded=store.damaged, visitor=visitor_id)
        view = stopped = None
        if job := service.find(run_key, visitor_id):
            view = job.view()
            may_go_on = not view.done or view.state == "stopped"
            mine = run_key in requested or (may_go_on and visitor_id in service.requesters(run_key))
            if not mine and stored:
                view = None
            elif not view.done:
                service.add_watcher(run_key, visitor_id)
        if stored is None and view is None:
            stopped = store.find_by_config(config, excluded=store.damaged, unfinished=True, visitor=visitor_id)
        private = job.record if job and view and view.private else None
        views[model] = RunView(config, stored, view, stopped, private)
    return views


def untrained_panel(views: Mapping[str, RunView], sentence: str, height: int) -> None:
    """Draw `sentence` in an empty panel, or that the models are training, where that is why nothing can be shown."""
    live = any(view.live for view in views.values())
    empty_panel("The models are training; their results follow here." if live else sentence, height)


def finished_loss_curves(views: Mapping[str, RunView]) -> dict[str, LossCurves]:
    """Return the loss curves of the runs that were trained to the end, from which the steps to solve a task follow."""
    results = {name: view.result for name, view in views.items() if view.loaded_run}
    return {
        name: LossCurves(curves.evaluated[: len(curves.metrics["loss"])].astype(float), curves.metrics["loss"])
        for name, curves in results.items()
        if curves is not None and len(curves.evaluated)
    }


def loaded_runs(views: Mapping[str, RunView], sentence: str = "", height: int = 0) -> dict[str, Run]:
    """Return the finished runs by name; if there is none, draw `sentence` as `untrained_panel` does."""
    runs = {name: run for name, view in views.items() if (run := view.loaded_run)}
    if sentence and not runs:
        untrained_panel(views, sentence, height)
    return runs
