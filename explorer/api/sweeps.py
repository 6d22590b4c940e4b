"""`explorer.sweep`: many trainings of one model with other settings, and which settings work best."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from explorer import charts
from explorer.api.arguments import require_settings, require_text, require_whole_number
from explorer.api.progress import progress_bar
from explorer.api.run import Run
from explorer.api.trainer import base_config, data_settings
from explorer.environment import check_executor
from explorer.errors import InvalidSetting, UnknownRun, shorten
from explorer.experiments.own_tables import corpus_settings, held_out_settings
from explorer.run_store import store
from explorer.sweeps import picture
from explorer.sweeps.controller import Plan
from explorer.sweeps.driver import carry_out
from explorer.sweeps.findings import result_details, result_finding, rule_sentences
from explorer.sweeps.results import best_trial, results_table, winner
from explorer.sweeps.space import Range as Range
from explorer.sweeps.space import Sweep, make_sweep
from explorer.sweeps.space import trials as trials_of
from explorer.tasks.text import corpora
from explorer.training.config import with_settings

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from pandas import DataFrame


@corpora.personal_process()
def sweep(
    task: str,
    model: str,
    space: Mapping[str, object],
    *,
    seeds: int = 3,
    search: Literal["grid", "random"] = "grid",
    trials: int | None = None,
    search_seed: int = 0,
    halving: bool | int = True,
    finalists: int = 2,
    metric: str = "",
    executor: str | None = None,
    data: str | Path | DataFrame | None = None,
    progress: bool | None = None,
    **settings: Any,
) -> SweepResults:
    """Train a model with many settings, store the runs, and return which settings work best.

    task, model: names, as `list_tasks` and `list_models` give them
    space: for each searched setting its values as a list, or for a random search a range: `explorer.Range(1e-4, 1e-1,
        log=True)`, or as text "1e-4:1e-1:log"
    seeds: trained side by side in each trial; compared is their mean
    search: "grid" tries every combination, "random" draws `trials` of them
    trials: the number of trials of a random search
    search_seed: of the random numbers of a random search
    halving: whether hopeless trials are given up early (successive halving): at a ninth and at a third of the steps
        only the best third goes on, depending on the number of trials. A number is used in place of 3.
    finalists: the best of the search are trained again with eight new seeds, and only these decide whether there is a
        winner; 0 leaves that out
    metric: what is compared; by default the loss on data that were not trained on
    executor: where trainings run: "here" (in this process), "processes", "ray" or the address of a Ray cluster; by
        default what LINEAGE_EXECUTOR says, and without it in processes on Linux if the sweep is long
    data: your own data as a CSV file or a table, as for `train`
    progress: whether a progress bar is shown; by default in a terminal and in a notebook
    settings: any other setting, the same for all trials: `epochs=10`, or `corpus="mine.txt"`

    The table depends on the curves only, not on the order in which runs end. Runs that are stored already are not
    trained again. An interruption (Ctrl-C, or the stop button of a notebook) stores what there is and raises
    KeyboardInterrupt; the same call continues.

    Raises InvalidSetting for what is not possible, before anything is trained, and NotAllowed while another process,
    such as the server, carries out the same sweep.

    >>> found = explorer.sweep("negation", "rnn", {"learning_rate": [1e-3, 1e-2]}, seeds=2, epochs=2, finalists=0)
    >>> found.table().learning_rate.tolist()
    [0.01, 0.001]
    """
    base = base_config(task, model, "")
    if isinstance(corpus := settings.get("corpus"), str | Path):
        del settings["corpus"]
        settings |= corpus_settings(with_settings(base, held_out_settings(settings)), str(corpus), "`corpus`")
    if data is not None:
        settings |= data_settings(base, data, settings)
    base = with_settings(base, require_settings(base, settings))
    tried = {name: values for name, values in space.items() if isinstance(values, list | tuple)}
    if not isinstance(halving, bool):
        halving = require_whole_number("halving", halving, 2)
    definition = make_sweep(
        base,
        {**space, **require_settings(base, tried)},
        seeds=require_whole_number("seeds", seeds, 1),
        search=require_text(search, "The kind of search"),
        number=None if trials is None else require_whole_number("trials", trials, 1),
        search_seed=require_whole_number("search_seed", search_seed, 0),
        halving=halving,
        finalists=require_whole_number("finalists", finalists, 0),
        metric=metric,
    )
    if executor is not None:
        try:
            check_executor(require_text(executor, "The name of an executor"))
        except ValueError as error:
            raise InvalidSetting(f"executor = {shorten(executor)} is not possible: {error}.") from error
    runs = len(trials_of(definition)) + definition.finalists
    with progress_bar(progress, f"{definition.base.title} sweep", "run", runs) as bar:

        def show(plan: Plan) -> None:
            bar.n = sum(status.state not in ("waiting", "running") for status in (*plan.trials, *plan.finalists))
            bar.refresh()

        plan = carry_out(definition, executor or "", show)
    return SweepResults(definition, plan)


class SweepResults:
    """The results of a sweep."""

    def __init__(self, definition: Sweep, plan: Plan) -> None:
        self.definition, self._plan = definition, plan

    @property
    def key(self) -> str:
        """The key of the sweep, by which the page Compare shows it."""
        return self.definition.key

    @property
    def finding(self) -> str:
        """Which settings are best, or that one cannot tell, in words and numbers."""
        return f"{result_finding(self.definition, self._plan)} {result_details(self.definition, self._plan)}".strip()

    @property
    def winner(self) -> dict[str, Any] | None:
        """The settings that are significantly better than those of every other finalist; None if one cannot tell."""
        found = winner(self.definition, self._plan)
        return dict(found.settings) if found else None

    def table(self) -> DataFrame:
        """Return a row for each trial, the best first.

        The columns are trial, the searched settings, state ("finished", "given up", "diverged" or "failed"), step (at
        which the metric was measured), the metric (its mean over the seeds; a loss is in nats), lowest, highest and sd
        (over the seeds, in the unit of the metric), parameters, seconds (of training, for all seeds), confirmed (for a
        finalist: the mean over the new seeds), run (a key for `explorer.load`) and confirmation (the key of the run
        with the new seeds).
        """
        return results_table(self.definition, self._plan)

    def best(self) -> Run:
        """Return the run that is best on average: by the new seeds if there are any, otherwise by those of the search.

        `winner` says whether it is more than noise. Raises UnknownRun if every trial diverged or failed.
        """
        trial = best_trial(self.definition, self._plan)
        if trial is None:
            raise UnknownRun("No trial has a result: all of them diverged or failed. Try smaller learning rates.")
        return Run(store.find(trial.key))

    def plot(self) -> go.Figure:
        """Return a plotly figure: lines for one searched setting, a map for two, otherwise parallel coordinates."""
        return charts.notebook_figure(picture.sweep_chart(self.definition, self._plan))

    def __len__(self) -> int:
        return len(trials_of(self.definition))

    def __repr__(self) -> str:
        return f"{self.finding}\n{rule_sentences(self.definition)}\n{self.table()}"

    def _repr_html_(self) -> str:
        table: str = self.table().round(4).to_html(index=False, na_rep="", border=0)
        return f"<p>{self.finding}</p>{table}"
