"""`explorer.compare`: several runs side by side, as tables and as a figure."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from explorer.api.arguments import require_metric, require_text
from explorer.api.run import Run, plot_runs
from explorer.api.stored import load
from explorer.errors import InvalidSetting
from explorer.experiments.run_names import flat_settings, names_side_by_side
from explorer.inspection.compare import is_paired
from explorer.inspection.verdicts import mean_difference
from explorer.lazy_libraries import pd
from explorer.training.comparability import BITS_PER_BYTE, comparability, comparability_sentence, lower_is_better

if TYPE_CHECKING:
    import plotly.graph_objects as go


def compare(runs: Iterable[Run | str | Path]) -> Comparison:
    """Return a comparison of runs, each a `Run`, a key, the name of an included run, or a folder.

    Raises UnknownRun or DamagedRun, and InvalidSetting without any run.

    >>> explorer.compare(["negation-single-rnn", "negation-single-lstm"]).table().model.tolist()
    ['rnn', 'lstm']
    """
    if isinstance(runs, Run | str | Path):
        runs = [runs]
    if not isinstance(runs, Iterable):
        raise InvalidSetting(f"Runs are given as a list, not as a value of the type {type(runs).__name__}.")
    return Comparison([run if isinstance(run, Run) else load(run) for run in runs])


class Comparison:
    """Several runs, in the order in which they were given. The others are compared with the first one."""

    def __init__(self, runs: list[Run]) -> None:
        if not runs:
            raise InvalidSetting("There is no run to compare. Give at least one.")
        self.runs = runs
        names = names_side_by_side([run.config for run in runs])
        self.names = [
            f"{name} ({run.key})" if names.count(name) > 1 else name for name, run in zip(names, runs, strict=True)
        ]

    def table(self, metric: str | None = None) -> pd.DataFrame:
        """Return a row for each run: name, key, task, model, seeds, steps, parameters, seconds and the final metrics.

        metric: by default all metrics, each as its mean over the seeds. For one metric instead its mean, lowest and
            highest value over the seeds, its difference from the first run with a 95 % confidence interval (`low`,
            `high`) and the p value of the test that the means are equal: Student's t test of pairs where the runs
            share their seeds and data, otherwise Welch's. These are NaN with fewer than two seeds.

        The best run is first where all can be compared by this metric, or without one by bits per byte. Otherwise the
        runs are in their order, the column `note` says why they cannot be compared with the first one, and there is no
        difference from it.

        Raises InvalidSetting for a metric that no run has.
        """
        rows = [
            {
                "name": name,
                "key": run.key,
                "task": run.task,
                "model": run.model_name,
                "seeds": len(run.seeds),
                "steps": run.step,
                "parameters": run.parameters,
                "seconds": run.seconds,
            }
            for name, run in zip(self.names, self.runs, strict=True)
        ]
        if metric is not None:
            require_metric(metric, dict.fromkeys(name for run in self.runs for name in run.metric_names))
            more = [self._measure(run, metric) for run in self.runs]
        else:
            more = [run.metrics().groupby("metric", sort=False).value.mean().to_dict() for run in self.runs]
        table = pd.DataFrame([{**row, **values} for row, values in zip(rows, more, strict=True)])
        measure, column = metric or BITS_PER_BYTE, "mean" if metric else BITS_PER_BYTE
        notes = [_note(self.runs[0], run, measure) for run in self.runs]
        if any(notes):
            return table.assign(note=notes)
        if column not in table:
            return table
        return table.sort_values(column, ascending=lower_is_better(measure), kind="stable", ignore_index=True)

    def curves(self, metric: str | None = None) -> pd.DataFrame:
        """Return the curves of all runs with the columns run, step, seed, metric and value; see `Run.curves`.

        Raises InvalidSetting for a metric that no run has.
        """
        found = []
        for name, run in zip(self.names, self.runs, strict=True):
            table = run.curves()
            table.insert(0, "run", name)
            found.append(table)
        curves = pd.concat(found, ignore_index=True)
        if metric is None:
            return curves
        require_metric(metric, curves.metric.unique().tolist())
        return curves[curves.metric == metric].reset_index(drop=True)

    def settings(self) -> pd.DataFrame:
        """Return the settings in which the runs differ: a row for each setting, a column for each run."""
        each = [flat_settings(run.config) for run in self.runs]
        names = list(dict.fromkeys(name for settings in each for name in settings))
        different = [name for name in names if len({settings.get(name) for settings in each}) > 1]
        columns = {
            name: [settings.get(key) for key in different] for name, settings in zip(self.names, each, strict=True)
        }
        return pd.DataFrame(columns, index=pd.Index(different, name="setting"), dtype=object)

    def notes(self, metric: str = "val_loss") -> list[str]:
        """Return a sentence for each reason why the losses of these runs cannot be compared; empty if they can."""
        require_text(metric, "The name of a metric")
        return [difference.sentence for difference in comparability([run.config for run in self.runs], metric)]

    def plot(self, metric: str | None = None) -> go.Figure:
        """Return a plotly figure of one metric by step: the mean over the seeds, and their range as a band.

        metric: by default the first one that all runs have. A run without it has no line.

        Raises InvalidSetting for a metric that no run has, and without a metric that all runs have.
        """
        return plot_runs(self.runs, self.names, metric)

    def _measure(self, run: Run, metric: str) -> dict[str, float]:
        def final(each: Run) -> np.ndarray:
            found = each.curves_of_run.metrics.get(metric)
            return np.full(len(each.seeds), np.nan) if found is None or not len(found) else found[-1].astype(float)

        values, first = final(run), self.runs[0]
        known = values[~np.isnan(values)]
        edges = (known.mean(), known.min(), known.max()) if len(known) else (np.nan,) * 3
        difference = None
        if run is not first and not _note(first, run, metric):
            difference = mean_difference(final(first), values, is_paired(first.config, run.config))
        parts = [getattr(difference, name, np.nan) for name in ("mean", "low", "high", "p")]
        names = ("mean", "lowest", "highest", "difference", "low", "high", "p")
        return dict(zip(names, map(float, (*edges, *parts)), strict=True))

    def __len__(self) -> int:
        return len(self.runs)

    def __repr__(self) -> str:
        return f"Comparison of {len(self.runs)} runs\n{self.table()}"

    def _repr_html_(self) -> str:
        html: str = self.table().round(4).to_html(index=False, na_rep="", border=0)
        return html


def _note(first: Run, run: Run, metric: str) -> str:
    return comparability_sentence(comparability([first.config, run.config], metric))
