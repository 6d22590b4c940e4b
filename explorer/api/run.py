"""`explorer.Run`: one training and its result, in memory or stored, and everything that can be done with it."""

from __future__ import annotations

import html
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from explorer import charts
from explorer.api.arguments import (
    as_whole_number,
    require_file,
    require_flag,
    require_metric,
    require_text,
    require_texts,
    require_whole_number,
)
from explorer.api.inspected_model import InspectedModel, format_facts
from explorer.api.progress import train_config
from explorer.atomic_files import write_new_file
from explorer.catalogue import task_row
from explorer.csv_files import to_csv_file
from explorer.environment import environment
from explorer.errors import DamagedRun, InvalidSetting, StoreError, shorten
from explorer.experiments.run_names import describe_seeds, names_side_by_side, run_name
from explorer.export import notebook as exported_notebook
from explorer.inspection.words.word_vectors import analogy, load_table, neighbours
from explorer.lazy_libraries import pd
from explorer.model.run_model import RunModel
from explorer.run_store import operations, store
from explorer.run_store.archive.write import pack
from explorer.run_store.store import StoredRun
from explorer.run_store.tables import curves_table, metrics_table
from explorer.training.comparability import baseline_name
from explorer.training.config import RunConfig, changed_settings
from explorer.training.record import Curves, Record

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from numpy import ndarray
    from torch import nn

# Of compared runs:
_COLOURS = ("transformer", "rnn", "gru", "additive", "feedforward", "counts-hidden", "lstm", "ngram")


class Run(InspectedModel):
    """One training and its result: configuration, curves, and weights at several steps of the training.

    `explorer.train` and `explorer.load` return it. A run of `train` is in memory until `save` stores it.

    Several methods take a `step`, one of `steps` (by default the last), and a `seed`, one of `seeds`.
    """

    def __init__(self, source: StoredRun | Record) -> None:
        self.source = source  # the stored run, or the record of a training
        self._latest: RunModel | None = None

    # ---- Description ----

    @property
    def key(self) -> str:
        """The key of the run: twelve letters and digits that follow from its configuration."""
        return self.source.key

    @property
    def name(self) -> str:  # type: ignore[override]  # read only
        """The name that its user gave it; otherwise one made of the task, the model and the settings."""
        given = self.source.card.name if isinstance(self.source, StoredRun) else ""
        return given or run_name(self.config)

    @property
    def config(self) -> RunConfig:
        """The whole configuration."""
        return self.source.config

    @property
    def task(self) -> str:
        """The name of the task, as `train` takes it."""
        return task_row(self.config.task).name

    @property
    def model_name(self) -> str:
        """The name of the model, as `train` takes it."""
        return self.config.model_name

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that differ from the defaults of the model on the task."""
        return changed_settings(self.config)

    @property
    def state(self) -> str:
        """The state of the training: "finished", "stopped" or "diverged"."""
        return self.source.card.state if isinstance(self.source, StoredRun) else self.source.state

    @property
    def seeds(self) -> list[int]:
        """The seeds that were trained side by side."""
        return list(self.config.seeds)

    @property
    def step(self) -> int:
        """The last step of the run."""
        return self.curves_of_run.step

    @property
    def steps(self) -> list[int]:
        """The steps whose weights are available; 0 is the initialization."""
        run = self.source
        return run.snapshot_steps() if isinstance(run, StoredRun) else sorted(run.snapshots)

    @property
    def parameters(self) -> int:
        """The number of parameters of one seed."""
        run = self.source
        return run.card.parameters if isinstance(run, StoredRun) else run.parameters

    @property
    def seconds(self) -> float:
        """The time of the training in seconds, all seeds together."""
        run = self.source
        return run.card.seconds if isinstance(run, StoredRun) else run.seconds

    @property
    def folder(self) -> Path | None:
        """The folder in which the run is stored; None for a run in memory or in object storage."""
        folder = self.source.folder if isinstance(self.source, StoredRun) else None
        return folder if isinstance(folder, Path) else None

    # ---- Measurements ----

    @property
    def curves_of_run(self) -> Curves:
        """The measurements of the training, as arrays."""
        return self.source.curves

    @property
    def metric_names(self) -> list[str]:
        """The metrics of the task of this run."""
        return list(self.curves_of_run.metrics)

    @property
    def baselines(self) -> dict[str, float]:
        """By metric, what a model gets that always answers with the most frequent class, or on text a unigram."""
        source = self.source
        return dict(source.card.baselines if isinstance(source, StoredRun) else source.baselines)

    def curves(self, metric: str | None = None) -> pd.DataFrame:
        """Return the measurements of the training as a table with the columns step, seed, metric and value.

        metric: one of `metric_names`, or "batch_loss", the loss (nats) of each batch before its step. By default all,
            with every other quantity that is measured at each step, such as the gradient norm.

        Raises InvalidSetting for a metric that this run does not have.

        >>> run.curves("test_loss").columns.tolist()
        ['step', 'seed', 'metric', 'value']
        """
        table = curves_table(self.curves_of_run, self.config)
        if metric is None:
            return table
        known = table.metric.unique().tolist()
        if require_text(metric, "The name of a metric") not in known:
            raise InvalidSetting(f"This run has no metric “{shorten(metric)}”. There is {', '.join(known)}.")
        return table[table.metric == metric].reset_index(drop=True)

    def metrics(self) -> pd.DataFrame:
        """Return the metrics at the end of the training, with the columns metric, seed and value."""
        table = self.curves()
        table = table[table.metric.isin(self.metric_names)]
        last = table[table.step == table.step.max()]
        return last[["metric", "seed", "value"]].reset_index(drop=True)

    def plot(self, metric: str | None = None) -> go.Figure:
        """Return a plotly figure of one metric (by default the first one) by step, with the range over the seeds."""
        return plot_runs([self], names_side_by_side([self.config]), metric)

    # ---- Predictions and internals of the model, besides those of every model ----

    def neighbours(self, word: str, count: int = 6) -> pd.DataFrame:
        """Return the words whose vectors have the highest cosine similarity with that of a word (task word_vectors).

        The columns are word and cosine: the mean over the seeds, with the lowest and highest value of a seed. Raises
        InvalidSetting for a run of another task or an unknown word.
        """
        table, count = self._word_table(), require_whole_number("count", count, 1)
        return self._candidates(neighbours(table, require_text(word, "A word"), count))

    def analogy(self, a: str, b: str, c: str, count: int = 6) -> pd.DataFrame:
        """Return the answers to "a is to b as c is to ?" (Mikolov et al. 2013), most similar first.

        The columns are word, cosine (with b - a + c), its lowest and highest value of a seed, and in_question: whether
        it is a word of the question, which does not count as an answer. Raises InvalidSetting as `neighbours`.
        """
        table, count = self._word_table(), require_whole_number("count", count, 1)
        for word in (a, b, c):
            require_text(word, "A word")
        found = analogy(table, a, b, c, count).candidates
        return self._candidates(found).assign(in_question=[each.excluded for each in found])

    def model(self, *, step: int | None = None, seed: int | None = None) -> nn.Module:
        """Return the model of one seed as a torch module in evaluation mode, without gradients.

        step, seed: by default the last step and the first seed. The module is a copy: changing it changes nothing else.
        """
        replica, step = self._find_replica_and_step(seed, step)
        return self._model.load_replicas(step).single_replica(replica)

    def weights(self, step: int | None = None) -> dict[str, ndarray]:
        """Return the weights after a step (by default the last), by name, each with the seeds as its first axis."""
        return dict(self.source.weights(self._check_step(step)))

    # ---- Training, storing and exporting ----

    def resume(self, *, progress: bool | None = None) -> Run:
        """Train the rest of a run that was stopped, and return the whole run, equal to one without an interruption.

        Raises InvalidSetting for a run that is finished or diverged, DamagedRun for one whose optimizer state is not
        stored.
        """
        if self.state != "stopped":
            raise InvalidSetting(f"This run is {self.state} at step {self.step:,}, so there is nothing left to train.")
        run = self.source
        if isinstance(run, StoredRun) and self.step not in run.checkpoint_steps():
            raise DamagedRun(f"Run {self.key} has no optimizer state to continue from. Train it again.")
        return Run(train_config(self.config, progress, run.record() if isinstance(run, StoredRun) else run))

    def save(self, name: str | None = None, *, tags: Iterable[str] | None = None, note: str | None = None) -> Run:
        """Store the run in LINEAGE_HOME, where the app, the command line and `explorer.runs` find it; return it.

        name, tags, note: shown on the page Runs; None keeps the present value. A stored run with the same key is
        replaced.

        Raises StoreError if there is no space or the folder cannot be written, NotAllowed for an included run.
        """
        given: dict[str, Any] = {
            "name": None if name is None else require_text(name, "The name of a run"),
            "tags": None if tags is None else require_texts(tags, "Tags"),
            "note": None if note is None else require_text(note, "The text of a note"),
        }
        if isinstance(self.source, Record):
            home = environment().home
            try:
                home.mkdir(parents=True, exist_ok=True)
                with tempfile.TemporaryDirectory(dir=home, prefix=".importing-") as work:
                    store.write_run(self.source, Path(work) / "run")
                    self.source = operations.add_run(Path(work) / "run")
            except OSError as error:
                raise StoreError(f"The run could not be stored: {store.describe_disk_error(error)}") from error
        if any(value is not None for value in given.values()):
            self.source = operations.edit_card(self.key, "", operator=True, **given)
        return self

    def export(self, file: str | Path, *, force: bool = False) -> Path:
        """Write the run to a file and return its path.

        file: ending in `.py`, a Python file that trains, predicts or generates without this program; `.ipynb`, the same
            as a notebook; `.zip`, configuration, metrics as CSV, weights as safetensors and a model card, which
            `python -m explorer import` reads; `.csv`, the metrics. Beside a `.py` or `.ipynb` its weights and training
            examples are written, into a file of the same name that ends in `.safetensors`.
        force: whether an existing file may be replaced.

        Raises InvalidSetting for another ending, an existing file without `force`, and one that cannot be written.
        """
        file, force = require_file(file), require_flag("force", force)
        contents = self._exported_files(file)
        beside = file.with_suffix(".safetensors")
        if beside in contents and not (beside.is_file() and beside.read_bytes() == contents[beside]):
            write_new_file(beside, contents[beside], force, "force=True")
        write_new_file(file, contents[file], force, "force=True")
        return file

    def url(self, server: str = "http://localhost:8501") -> str:
        """Return the address of the stored run in the app, which runs at `server`. Raises InvalidSetting in memory."""
        require_text(server, "The address of the server")
        if isinstance(self.source, Record):
            raise InvalidSetting("This run is in memory, so the app does not have it. Store it with run.save() first.")
        return f"{server.rstrip('/')}/runs?run={self.key}"

    # ---- Display ----

    def __repr__(self) -> str:
        where = "in memory" if isinstance(self.source, Record) else str(self.source.folder)
        lines = [f"{self.name} ({self.key}), {self._progress()}, {where}"]
        return "\n".join([*lines, *(f"  {name:24} {value}" for name, value in self._summary().items())])

    def _repr_html_(self) -> str:
        facts = {
            "task": self.task,
            "model": f"{self.model_name} ({self.parameters:,} parameters)",
            "seeds": describe_seeds(self.config),
            "training": f"{self._progress()}, {self.seconds:.1f} s",
            **self._summary(),
        }
        return format_facts(f"<strong>{html.escape(self.name)}</strong> <code>{self.key}</code>", facts)

    def _progress(self) -> str:
        return f"{self.state} at step {self.step:,}" + (
            "" if self.state == "finished" else f" of {self.config.steps:,}"
        )

    def _summary(self) -> dict[str, str]:
        found, baselines = {}, self.baselines
        for name, values in self.metrics().groupby("metric", sort=False).value:
            known = values.dropna()
            text = "none" if known.empty else f"{known.mean():.3f}"
            text += f" ({known.min():.3f} to {known.max():.3f})" if len(known) > 1 else ""
            beside = f"; {baseline_name(self.task)}: {baselines[name]:.3f}" if name in baselines else ""
            found[str(name)] = text + beside
        return found

    # ---- Helpers ----

    @property
    def _model(self) -> RunModel:
        if self._latest is None or self._latest.run is not self.source:
            self._latest = RunModel(self.source, self.name, self.config.title)
        return self._latest

    def _check_step(self, step: int | None) -> int:
        return self.step if step is None else _one_of("weights of step", step, self.steps)

    def _find_replica_and_step(self, seed: int | str | None, step: int | None) -> tuple[int, int]:
        replica = 0 if seed is None else self.seeds.index(_one_of("seed", seed, self.seeds))
        return replica, self._check_step(step)

    def _word_table(self) -> Any:
        if self.task != "word_vectors":
            raise InvalidSetting(
                f"This run learned the task {self.task}. Use a run of the task word_vectors, such as "
                'explorer.load("words-grammar-skip_gram").'
            )
        return load_table(self.source)

    def _candidates(self, found: Any) -> pd.DataFrame:
        rows = [(each.word, each.cosines.mean(), each.cosines.min(), each.cosines.max()) for each in found]
        return pd.DataFrame(rows, columns=["word", "cosine", "lowest", "highest"]).astype(
            dict.fromkeys(("cosine", "lowest", "highest"), float)
        )

    def _exported_files(self, file: Path) -> dict[Path, bytes]:
        suffix = file.suffix.lower()
        if found := exported_notebook.export_files(self.config, self.source, file):
            return found
        if suffix == ".csv":
            return {file: to_csv_file(metrics_table(self.curves_of_run, self.config))}
        if suffix != ".zip":
            raise InvalidSetting(
                f"A run cannot be written as “{shorten(suffix) or 'a file without an ending'}”. Give a name that ends "
                "in .py, .ipynb, .zip or .csv."
            )
        if isinstance(self.source, StoredRun):
            return {file: pack(self.source)}
        with tempfile.TemporaryDirectory() as work:
            store.write_run(self.source, Path(work) / "run")
            return {file: pack(store.load(Path(work) / "run"))}


def _one_of(what: str, given: object, possible: Sequence[int]) -> int:
    number = as_whole_number(given)
    if number is None or number not in possible:
        listed = ", ".join(map(str, possible))
        raise InvalidSetting(f"This run has no {what} {shorten(given)}. Give one of {listed}.")
    return number


def plot_runs(runs: Sequence[Run], names: Sequence[str], metric: str | None) -> go.Figure:
    """Return a figure of one metric of several runs with these names; see `Comparison.plot`. Raises InvalidSetting."""
    shared = [name for name in runs[0].metric_names if all(name in run.metric_names for run in runs)]
    if metric is None and not shared:
        raise InvalidSetting("These runs have no metric in common. Give the name of one.")
    chosen = shared[0] if metric is None else metric
    require_metric(chosen, dict.fromkeys(name for run in runs for name in run.metric_names))
    lines: list[charts.Line] = []
    for name, run in zip(names, runs, strict=True):
        if chosen in run.metric_names:
            values = run.curves(chosen).groupby("step").value.agg(["mean", "min", "max"])
            colour = f"--m-{_COLOURS[len(lines) % len(_COLOURS)]}"
            lines.append(
                charts.Line(name, name, colour, "", values.index.to_numpy(), values.to_numpy(float), statistic="mean")
            )
    metric_words = chosen.replace("_", " ")
    chart = charts.LineChart(metric_words, lines, charts.Axis("step"), charts.Axis(metric_words), labels="none")
    return charts.notebook_figure(chart)
