"""`explorer.Run`: one training and its result, in memory or stored, and everything that can be done with it."""

from __future__ import annotations

import html
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from explorer import charts
from explorer.api import arguments, attention, outputs, patching, temperature_component, traces
from explorer.api.arguments import (
    as_whole_number,
    require_file,
    require_flag,
    require_metric,
    require_sampling,
    require_text,
    require_texts,
    require_whole_number,
)
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
from explorer.tasks.text.config import TextConfig
from explorer.training.config import RunConfig, changed_settings
from explorer.training.record import Curves, Record

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from numpy import ndarray
    from torch import nn

    from explorer.api.attention import Attention
    from explorer.api.components import NotebookComponent
    from explorer.api.patching import AnswerParts, PatchedAnswers

_T = TypeVar("_T")
_COLOURS = (
    "transformer",
    "rnn",
    "gru",
    "additive",
    "feedforward",
    "counts-hidden",
    "lstm",
    "ngram",
)  # of compared runs


class Run:
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
    def name(self) -> str:
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

    # ---- Predictions and internals of the model ----

    def predict(
        self, text: str | Iterable[str], *, step: int | None = None, seed: int | str | None = None
    ) -> pd.DataFrame:
        """Return the prediction of the model for a text.

        text: the input of the task: a sentence (negation), a sequence of symbols (recall), a source (reverse, copy,
            dates, pairs), a row (sequence labelling), or text to continue (text, string). For several texts the table
            has their rows one after the other and a column `text`.
        step: of the training, one of `steps`; by default the last.
        seed: one of `seeds`; by default the mean over the seeds, with the lowest and the highest probability of a
            seed. "all": every seed by itself, with a column `seed`.

        The columns are, by task:
            negation                   label, probability
            text, string               token, probability: the distribution of the next token
            recall                     symbol, probability: of being the first symbol
            reverse, copy, dates       seed, output, probability, correct: the greedy output of every seed
            pairs                      as for dates; `correct` is None for a source that the pairs do not have
            sequence labelling         position, token, label, probability, expected, correct, in_loss (whether the
                                       training asks for a label at this position)

        Raises SentenceError or InvalidSetting for a text that the model cannot read, InvalidSetting for a step, a seed
        or a task without prediction, DamagedRun for a run without these weights.

        >>> run.predict("human not preserve nature").columns.tolist()[:2]
        ['label', 'probability']
        """
        at, every = self._check_step(step), list(range(len(self.seeds)))
        groups = [every] if seed is None else [[each] for each in every] if seed == "all" else [[self._index(seed)]]
        tables = []
        for one in outputs.require_texts_to_predict(text):
            for replicas in groups:
                table = outputs.prediction_table(self._model, one, at, replicas)
                if seed == "all" and "seed" not in table:
                    table.insert(0, "seed", self.seeds[replicas[0]])
                if not isinstance(text, str):
                    table.insert(0, "text", one)
                tables.append(table)
                arguments.warn(table.attrs.get("unread", ""))
        return tables[0] if len(tables) == 1 else pd.concat(tables, ignore_index=True)

    def attention(self, text: str, *, step: int | None = None, seed: int | None = None) -> Attention:
        """Return the attention weights of every head on a text: arrays, tokens, tables and figures.

        text: as `predict` takes it. seed: one of `seeds`; by default the first, because the heads of two seeds have
        nothing in common. In `weights`, keys that a mask hides are NaN; numpy.nan_to_num(weights) makes them 0.

        Raises InvalidSetting for a model without attention, and the errors of `predict`.

        >>> run.attention("human not preserve nature").weights.shape
        (1, 1, 6, 6)
        """
        seed, step = self.seeds[self._index(seed)], self._check_step(step)
        return attention.attention(self._model, require_text(text), seed, step)

    def patching(
        self,
        clean: str,
        changed: str,
        *,
        position: int | None = None,
        answer: str | None = None,
        contrast: str | None = None,
        step: int | None = None,
        seed: int | None = None,
    ) -> PatchedAnswers:
        """Return which states of a Transformer carry the answer from one text to another (activation patching).

        The model reads the changed text, and one state at a time is replaced by the state that it has on the clean
        text: the residual stream at one position, the output of one head, what a layer adds. The share of the clean
        answer that this restores is measured by the difference of two logits (Heimersheim & Nanda 2024).

        clean, changed: two texts with the same number of tokens, at most 64.
        position: where the answer is read; by default the last token, of a classifier the first.
        answer, contrast: the two outcomes, as texts; by default the most probable outcomes of both texts. If these are
            the same, the contrast is the second most probable outcome of the changed text.
        step, seed: by default the last step and the first seed.

        Raises InvalidSetting for a model without attention, texts of different lengths, and texts with the same answer.

        >>> explorer.load("text-transformer").patching("O thou ha", "O they ha").residual.shape  # depths, positions
        (5, 5)
        """
        at = (self.seeds[self._index(seed)], self._check_step(step))
        first, other = (attention.read_text(self._model, text, *at) for text in (clean, changed))
        return patching.patch(self._model, first, other, position, answer, contrast)

    def logit_attribution(
        self,
        text: str,
        *,
        position: int | None = None,
        outcome: str | None = None,
        contrast: str | None = None,
        step: int | None = None,
        seed: int | None = None,
    ) -> AnswerParts:
        """Return what each head and each feedforward layer of a Transformer adds to a logit.

        The last state is the sum of what all parts add, if a norm comes before each part or there is none. With the
        scale of the final norm held at its value, the logit is a sum of one number for each part.

        outcome: by default the most probable one. contrast: an outcome whose logit is subtracted. Both are texts. The
        other arguments are those of `patching`.

        Raises InvalidSetting for a model without attention, and for one in which a norm follows each part.

        >>> explorer.load("text-transformer").logit_attribution("O thou ha").table().columns.tolist()
        ['part', 'added']
        """
        read = attention.read_text(self._model, text, self.seeds[self._index(seed)], self._check_step(step))
        return patching.attribute(self._model, read, position, outcome, contrast)

    def generate(
        self,
        prompt: str = "",
        *,
        tokens: int = 200,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        sampling_seed: int = 0,
        step: int | None = None,
        seed: int | None = None,
    ) -> str:
        """Return the prompt and its continuation by a language model (tasks text and string).

        tokens: how many are generated.
        temperature: 0 always takes the most probable token, 1 samples as learned, above 1 more randomly.
        top_k: sample from this many most probable tokens. 0: all.
        top_p: sample from the most probable tokens that together reach this probability (Holtzman et al. 2020).
        min_p: sample from tokens with at least this share of the highest probability (Nguyen et al. 2024).
        sampling_seed: seed of the random numbers; the same seed gives the same text.
        step, seed: of the training; by default the last step and the first seed.

        Raises InvalidSetting for a run of another task or an impossible value.

        >>> explorer.load("text-toy-rnn").generate("abca", tokens=4, temperature=0)
        'abca abc'
        """
        self._model.check_generates_text()  # the error of a run of another task comes first
        sampling = require_sampling(temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p, seed=sampling_seed)
        at = (self._check_step(step), self._index(seed))
        return outputs.generate_text(self._model, require_text(prompt), tokens, sampling, *at)

    def temperature(
        self,
        prompt: str = "",
        *,
        tokens: int = 120,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        sampling_seed: int = 0,
        step: int | None = None,
        seed: int | None = None,
        live: bool = False,
    ) -> NotebookComponent:
        """Return the temperature slider of the app for a notebook: a text generated at each of 41 temperatures.

        tokens: at most 400.
        temperature: the first position of the slider, from 0 to 2. The other settings are those of `generate`.
        live: the component shows the distribution of every token at the exact temperature, because the model in the
            kernel computes its logits. Otherwise only that of the first token is exact, and those of the other tokens
            are shown at the nearest of the 41 temperatures.

        See `NotebookComponent`. Raises InvalidSetting for a run of another task than text, or an impossible value.
        """
        sampling = require_sampling(temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p, seed=sampling_seed)
        at = (self._index(seed), self._check_step(step))
        if not isinstance(self.config.task, TextConfig):
            raise InvalidSetting(
                f"This run learned the task {self.task}. The temperature slider needs a run of the task text, such as "
                'explorer.load("text-transformer").'
            )
        generator, live = self._model.text_generator(*at), require_flag("live", live)
        return temperature_component.temperature_component(
            self._model, generator, self.key, require_text(prompt), tokens, sampling, live
        )

    def surprisal(self, text: str, *, step: int | None = None, seed: int | None = None) -> pd.DataFrame:
        """Return -log p of each token of a text given those before it, in nats (task text).

        The columns are position, token and surprisal: the mean over the seeds, with the lowest and highest value of a
        seed. The first token is missing, because nothing is read before it. The mean of the column is the loss of the
        text, and its exponential the perplexity. The text is read in windows of the training context, each beginning
        half a window after the one before it.

        Raises InvalidSetting for a run of another task, and a text of fewer than two tokens.

        >>> explorer.load("text-toy-rnn").surprisal("abca abca").token.tolist()[:3]
        ['b', 'c', 'a']
        """
        at, task = self._check_step(step), self.config.task
        replicas = range(len(self.seeds)) if seed is None else [self._index(seed)]
        self._model.check_generates_text()  # the error of a run of another task comes first
        if not isinstance(task, TextConfig) or task.rows == "prefixes":
            raise InvalidSetting(
                "The loss of a text needs a language model that predicts at every position: a run of the task text "
                "whose rows are blocks or sentences."
            )
        return outputs.surprisal_table(self._model, require_text(text), at, replicas, task.context)

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

    def trace(
        self,
        text: str,
        *,
        replace: Mapping[str, traces.Replacement] | None = None,
        step: int | None = None,
        seed: int | None = None,
    ) -> traces.Trace:
        """Return every named intermediate value of one forward pass, and the logits.

        replace: values to replace, by name: an array of the shape that the value has in a trace (an intervention as in
            activation patching), or a function of the tensor (with a batch axis) that returns another one. Inside a
            loop over time, as in a recurrent network, the function is called with the tensor of each step.
        step, seed: by default the last step and the first seed.

        The trace is a mapping from names, as `blocks.0.attention.weights`, to arrays without the batch axis. Raises
        InvalidSetting for an unknown name or another shape, and the errors of `predict`.

        >>> trace = run.trace("human not preserve nature")
        >>> trace["blocks.0.attention.weights"].shape
        (1, 6, 6)
        """
        at = (self._index(seed), self._check_step(step))
        return traces.trace(self._model.module(*at), *traces.run_inputs(self._model, require_text(text), *at), replace)

    def model(self, *, step: int | None = None, seed: int | None = None) -> nn.Module:
        """Return the model of one seed as a torch module in evaluation mode, without gradients.

        step, seed: by default the last step and the first seed. The module is a copy: changing it changes nothing else.
        """
        return self._model.load_replicas(self._check_step(step)).single_replica(self._index(seed))

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
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th><td style='text-align:left'>"
            f"{html.escape(value)}</td></tr>"
            for name, value in facts.items()
        )
        return f"<strong>{html.escape(self.name)}</strong> <code>{self.key}</code><table>{rows}</table>"

    def _progress(self) -> str:
        return f"{self.state} at step {self.step:,}" + (
            "" if self.state == "finished" else f" of {self.config.steps:,}"
        )

    def _summary(self) -> dict[str, str]:
        """Return each metric at the end as its mean, with its range over the seeds."""
        found = {}
        for name, values in self.metrics().groupby("metric", sort=False).value:
            known = values.dropna()
            text = "none" if known.empty else f"{known.mean():.3f}"
            found[str(name)] = text + (f" ({known.min():.3f} to {known.max():.3f})" if len(known) > 1 else "")
        return found

    # ---- Helpers ----

    @property
    def _model(self) -> RunModel:
        """What the pages and the command line use, too."""
        if self._latest is None or self._latest.run is not self.source:
            self._latest = RunModel(self.source, self.name, self.config.title)
        return self._latest

    def _check_step(self, step: int | None) -> int:
        return self.step if step is None else _one_of("weights of step", step, self.steps)

    def _index(self, seed: int | str | None) -> int:
        """Return the position of a seed among those of the run; None is the first."""
        return 0 if seed is None else self.seeds.index(_one_of("seed", seed, self.seeds))

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
        """Return the content of each file of an export."""
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
