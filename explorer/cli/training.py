"""Commands that train runs: `train`, and `pretrain` for the included runs."""

from __future__ import annotations

import difflib
import shlex
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from explorer.cli import completion, interruption
from explorer.cli.common import (
    Json,
    TrainedModel,
    TrainedTask,
    argument,
    check_same_text,
    flag,
    option,
    print_metrics,
    split_settings,
    stored_run,
)
from explorer.cli.program import SIGNAL_EXIT, print_json, print_result, program_name
from explorer.cli.progress import show_progress
from explorer.cores import idle_cores
from explorer.errors import InvalidSetting, LineageError, StoreError, shorten
from explorer.experiments import pretraining, trimming
from explorer.experiments.own_tables import corpus_settings, held_out_settings
from explorer.experiments.presets import preset_config
from explorer.inspection import evaluate
from explorer.jobs import disk_space, limits
from explorer.jobs.limits import fit_to_seconds
from explorer.run_store import operations, storage, store
from explorer.tasks.text.config import TextConfig
from explorer.tokenization import text as tokenizers
from explorer.training import events, objective, recorder
from explorer.training import record as records
from explorer.training.comparability import describe_tokens, loss_context
from explorer.training.config import RunConfig, default_config, with_settings
from explorer.visible_text import escape_invisible


def train(
    task: TrainedTask = "",
    model: TrainedModel = "",
    preset: Annotated[
        str, option("PRESET", "Start from a named configuration, instead of a task and a model.", completion.presets)
    ] = "",
    corpus: Annotated[
        str | None,
        option(
            "CORPUS",
            "Training text: a name, or a file (UTF-8). For negation and sentiment: a CSV file with the columns "
            "text and label. For pairs: a CSV file with the columns source and target.",
            completion.corpora,
        ),
    ] = None,
    tokenizer: Annotated[
        str | None, option("NAME", "Tokenizer: char, word, bpe or bytes.", completion.tokenizers)
    ] = None,
    stop_at: Annotated[str, option("val_loss=LOSS", "Stop when the validation loss reaches this value.")] = "",
    keep: Annotated[str | None, option("WEIGHTS", "Weights to end with: last, or best by the validation loss.")] = None,
    max_seconds: Annotated[
        float | None,
        option("SECONDS", "Train for as many steps as are estimated to fit into this time.", min=1, max=1_000_000),
    ] = None,
    seed: Annotated[str | None, option("NUMBER", "Seed of the first replica.")] = None,
    replicas: Annotated[str | None, option("COUNT", "Number of seeds to train together.")] = None,
    settings: Annotated[
        list[str] | None,
        option(
            "KEY=VALUE",
            "Change a setting, for example p_not=0.5. The command `settings` lists them.",
            completion.settings,
            name="--set",
        ),
    ] = None,
    resume: Annotated[
        str | None, option("RUN", "Continue a run that was stopped: its key or its folder.", completion.own_runs)
    ] = None,
    yes: Annotated[bool, flag("--yes", "Train although it exceeds a limit of this machine.")] = False,
    out: Annotated[Path | None, option("FOLDER", "Folder of the run. Default: LINEAGE_HOME/runs/KEY.")] = None,
    force: Annotated[bool, flag("--force", "Train again although the run exists, and replace it.")] = False,
    as_json: Json = False,
) -> None:
    """Train a model and store the run.

    Ctrl-C stores what has been trained so far; --resume continues it, also after a crash: a long training is stored
    every twenty seconds. On the same kind of machine the result is the
    same, bit for bit. A run that exists is shown and not trained again.
    """
    if resume is not None:
        others = (task, model, preset, tokenizer, stop_at, keep, max_seconds, seed, replicas, settings, out)
        if any(other is not None and other != "" for other in others):
            raise InvalidSetting("--resume continues a run with its own settings. Leave all other settings out.")
        _resume(resume, corpus, as_json)
        return
    given = dict(split_settings(settings or (), "KEY=VALUE, e.g. --set p_not=0.5"))
    base = _base_config(task, model, preset)
    changes: dict[str, object] = {"seed": seed, "replicas": replicas, "tokenizer": tokenizer, "keep": keep}
    if corpus is not None:
        changes |= corpus_settings(with_settings(base, held_out_settings(given)), corpus, "--corpus")
    if stop_at:
        changes["stop_at"] = _parse_stop_at(stop_at)
    changes = {name: value for name, value in changes.items() if value is not None}
    config = with_settings(base, changes | given)
    try:
        limits.check(config)
    except InvalidSetting as error:
        if not yes:
            raise InvalidSetting(f"{error} Or give --yes to train it all the same.") from error
        typer.echo(str(error), err=True)
    _check_early_end(config, max_seconds)
    if max_seconds is not None:
        config = fit_to_seconds(config, max_seconds, on_cores=idle_cores())
    existing = _run_in_folder(out) if out else store.find_by_config(config, unfinished=True)
    if existing and not force:
        _show_existing(existing, config, out, as_json, corpus)
        return
    _train_and_save(config, out or store.run_folder(config), as_json, corpus=corpus)


def _run_in_folder(out: Path) -> store.StoredRun | None:
    try:
        if out.exists() and not (out / "config.json").is_file() and not (out.is_dir() and not any(out.iterdir())):
            raise InvalidSetting(f"{out} exists and is not a run folder. Give --out a new folder.")
        return store.load(out) if (out / "config.json").is_file() else None
    except OSError as error:
        raise InvalidSetting(f"--out {out} cannot be used: {error.strerror}. Give another folder.") from error
    except ValueError as error:
        raise InvalidSetting(f"--out {escape_invisible(str(out))} is no folder name. Give another one.") from error


def _show_existing(
    run: store.StoredRun, config: RunConfig, out: Path | None, as_json: bool, corpus: str | None
) -> None:
    """Show a finished run of a configuration. Raises InvalidSetting if the run is another one or is not finished."""
    if run.config != config:
        raise InvalidSetting(f"{out} contains another run, {run.key}. Give another folder, or --force to replace it.")
    if run.card.state == "diverged":
        raise InvalidSetting(f"This run exists already: {run.card.problem} --force trains it again all the same.")
    if not run.card.finished:
        raise InvalidSetting(
            f"This run exists already and was stopped at step {run.card.step:,} of {config.steps:,}. "
            f"To continue: {_resume_command(run, corpus)}; --force trains it again from its start."
        )
    if not as_json:
        where = f"included as {run.folder.name}" if run.shipped else f"stored in {run.folder}"
        print(f"This run exists already: {where}. With --force it is trained again.")
    _print_result(run, as_json, existing=True)


def _resume_command(run: store.StoredRun, corpus: str | None) -> str:
    """Return the command that continues a run; `corpus`: the file, as it was given, that a run on an own text reads."""
    elsewhere = isinstance(run.folder, Path) and run.folder != store.run_folder(run.config)
    name = shlex.quote(str(run.folder)) if elsewhere else run.key
    text = f" --corpus {shlex.quote(corpus)}" if corpus and run.config.own_text else ""
    return f"{program_name()} train --resume {name}{text}"


def _resume(name: str, corpus: str | None, as_json: bool) -> None:
    """Continue a stopped run to its end; `corpus` is the file of a text of one's own."""
    run = stored_run(name)
    if corpus is not None:
        check_same_text(run.config, corpus)
    if run.card.finished:
        if not as_json:
            print("This run has been trained to its end already.")
        _print_result(run, as_json, existing=True)
        return
    if run.card.state == "diverged":
        raise InvalidSetting(f"Run {run.key} diverged and cannot be continued. Train it with another learning rate.")
    if run.card.step not in run.checkpoint_steps():
        raise InvalidSetting(f"Run {run.key} has no optimizer state to continue from. Train it again with --force.")
    folder = run.folder if isinstance(run.folder, Path) else store.run_folder(run.config)
    _train_and_save(run.config, folder, as_json, before=run.record(), corpus=corpus)


def pretrain(
    names: Annotated[
        list[str] | None, argument("NAME", "Names of included runs; see `list --included`.", completion.included_runs)
    ] = None,
    everything: Annotated[bool, flag("--all", "Train all included runs.")] = False,
    missing: Annotated[bool, flag("--missing", "Train the included runs that are missing.")] = False,
    no_training: Annotated[
        bool, flag("--no-training", "Keep the stored runs, and trim and compress them again.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Train included runs.

    The runs are written into the folder pretrained/ of the program, trimmed to what the pages show, and compressed.
    """
    known = pretraining.shipped_configs()
    if sum((bool(names), everything, missing)) != 1:
        raise InvalidSetting(
            "Name the runs to train, or give --all or --missing. "
            f"{program_name()} list --included shows the names, e.g. {', '.join(list(known)[:3])}."
        )
    for name in names or ():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
            hint = f"Nearest: {', '.join(near)}." if near else f"See {program_name()} list --included."
            raise InvalidSetting(f"There is no included run “{shorten(name)}”. {hint}")
    chosen = list(names or known)
    if missing:
        chosen = [name for name, config in known.items() if not _is_included(name, config)]
        if not chosen and not as_json:
            print("No included run is missing.")
    for name in chosen:
        folder = store.PRETRAINED / name
        if no_training:
            _compress(name, store.load(folder))
            continue
        # The first steps of a process are slower and must not count in the seconds on the card.
        recorder.record_run(
            with_settings(known[name], {"epochs": 1} if known[name].steps_per_epoch else {"iterations": 1})
        )
        _train_and_save(known[name], folder, as_json, partial(_compress, name))
        store.update_card(store.load(folder), tags=pretraining.tags_of(name))


def _is_included(name: str, config: RunConfig) -> bool:
    """Return whether the folder of an included run has a run of its configuration."""
    try:
        return store.load(store.PRETRAINED / name).config == config
    except LineageError:
        return False


def _compress(name: str, run: store.StoredRun) -> store.StoredRun:
    return store.pack_run(run, trimming.trim_for_release(name, run, evaluate.evaluate))


def _base_config(task: str, model: str, name: str) -> RunConfig:
    if name:
        return preset_config(name, task, model)
    if not task or not model:
        raise InvalidSetting(
            f"Give --task and --model, or a --preset. {program_name()} settings lists the tasks and models."
        )
    return default_config(task, model)


def _check_early_end(config: RunConfig, max_seconds: float | None) -> None:
    if config.model_name == "ngram" and (config.stop_at or max_seconds is not None):
        raise InvalidSetting(
            "An n-gram is fitted in one step: --stop-at and --max-seconds have no effect. Leave them out."
        )
    if max_seconds is not None and not config.iterations:
        raise InvalidSetting("--max-seconds is for tasks that count in steps. Give --set epochs=COUNT for this one.")
    if config.stop_at and not isinstance(config.task, TextConfig):
        raise InvalidSetting("--stop-at needs the validation loss of a text. Leave it out.")


def _parse_stop_at(given: str) -> str:
    name, equals, loss = given.partition("=")
    if not equals or name.strip() != "val_loss":
        raise InvalidSetting(f"--stop-at {given} is not possible. Write it as val_loss=LOSS, e.g. val_loss=1.8.")
    return loss.strip()


def _train_and_save(
    config: RunConfig,
    folder: Path,
    as_json: bool,
    compress: Callable[[store.StoredRun], store.StoredRun] | None = None,
    before: records.Record | None = None,
    corpus: str | None = None,
) -> None:
    """Train a run, store it and print its result.

    A signal ends the training and the program (typer.Exit). The training so far is then stored, but not with
    `compress`, which writes an included run again. `before` is the record of a stopped run; `corpus` is the file that
    the user has given, for the command that continues the run.
    """
    last, first = 0.0, before.curves.step if before else config.first_step
    progress = nullcontext(lambda step: None) if as_json else show_progress(config, first)
    with _reserved_space(folder, config), interruption.stop_requests() as stop_signal, progress as advance:

        def listen(event: events.Event) -> None:
            nonlocal last
            if isinstance(event, events.Step):
                advance(event)
                # Converting losses to numbers takes time, so this happens at most ten times a second.
                if as_json and (time.monotonic() - last > 0.1 or event.step == config.steps):
                    last = time.monotonic()
                    losses = [round(float(loss), 6) for loss in event.losses]
                    print_json({"kind": "step", "step": event.step, "of": config.steps, "loss": losses})
            elif as_json and config.iterations and isinstance(event, events.Evaluation):
                print_json(
                    {"kind": "evaluation", "step": event.step, "metrics": _summarize_answers(config, event.answers)}
                )

        save = None if compress else _checkpoint_writer(config, folder, before is not None)
        record = recorder.record_run(config, listen, before, stop_signal, save)
        received = stop_signal()
    if record.finished:
        run = _save(record, folder)
        if compress:
            run = compress(run)
        _print_result(run, as_json)
        if not received:
            return
    elif compress:
        typer.echo(f"{folder.name} is not stored. To continue: {program_name()} pretrain --missing", err=True)
    elif record.curves.step == config.first_step:
        typer.echo("The training ended before its first checkpoint: nothing is stored.", err=True)
    elif store.find_by_config(config) and folder == store.run_folder(config):
        typer.echo(f"The training was stopped; the finished run that was there stays in {folder}.", err=True)
    else:
        _report_stopped(_save(record, folder), as_json, corpus)
    raise typer.Exit(SIGNAL_EXIT + received)


def _checkpoint_writer(config: RunConfig, folder: Path, resumes: bool) -> Callable[[records.Record], None] | None:
    """Return the function that stores a record on the way; None if a finished run would be replaced by it.

    resumes: whether the folder contains the beginning of this training
    """
    with suppress(LineageError):  # there is no run, or a damaged one
        if not resumes and store.load(folder).card.finished:
            return None
    write = store.write_run if resumes else store.save_run  # what another attempt has left is replaced as a whole

    def save(record: records.Record) -> None:
        nonlocal write
        try:
            write(record, folder)
            write = store.write_run
        except OSError as error:  # the training itself needs no disk
            typer.echo(f"No checkpoint is stored: {store.describe_disk_error(error)}", err=True)

    return save


def _save(record: records.Record, folder: Path) -> store.StoredRun:
    try:
        saved = store.save_run(record, folder)
    except OSError as error:
        raise _unwritable(folder, error) from error
    stored = storage.current().folder(saved.key)
    if folder == store.run_folder(record.config) != stored:  # LINEAGE_RUNS is object storage
        try:
            return operations.add_run(folder)
        except StoreError as error:  # a result of an hour is not lost because a server is down
            message = (
                f"{error} The run is stored on this machine. To move it into LINEAGE_RUNS: {program_name()} reindex"
            )
            typer.echo(message, err=True)
    return saved


def _unwritable(folder: Path, error: OSError) -> LineageError:
    return InvalidSetting(
        f"The run cannot be written to {escape_invisible(str(folder))}: {error.strerror}. "
        "Give another folder with --out, or set LINEAGE_HOME to a folder that can be written."
    )


@contextmanager
def _reserved_space(folder: Path, config: RunConfig) -> Iterator[None]:
    """Reserve space beside a run folder, so that a training whose result cannot be stored is not started.

    Raises InvalidSetting if the folder cannot be written, and StoreError if the disk is full.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        place = tempfile.TemporaryDirectory(dir=folder.parent, prefix=".writing-", ignore_cleanup_errors=True)
    except OSError as error:
        raise _unwritable(folder, error) from error
    with place:
        disk_space.reserve(Path(place.name), config)
        yield


def _report_stopped(run: store.StoredRun, as_json: bool, corpus: str | None) -> None:
    text = f"stopped at step {run.card.step:,} of {run.config.steps:,}, stored as {run.folder}"
    text += f"\nTo continue: {_resume_command(run, corpus)}"
    print_result(as_json, text, kind="stopped", run=run.key, step=run.card.step, of=run.config.steps)


def _print_result(run: store.StoredRun, as_json: bool, existing: bool = False) -> None:
    config, notes = run.config, _notes(run)
    if as_json:
        metrics = {name: metric.model_dump() for name, metric in run.card.metrics.items()}
        more: dict[str, Any] = {"notes": notes} if notes else {}
        if context := loss_context(config):
            more = {"loss_tokens": describe_tokens(config), "loss_context": context, **more}
        if existing:
            more["existing"] = True
        print_json({"kind": "finished", "run": run.key, "seconds": run.card.seconds, "metrics": metrics, **more})
        return
    print(f"{config.title}: {run.card.parameters:,} parameters, {config.replicas} seed(s), {run.card.seconds:.2f} s")
    print_metrics(run.card, config)
    for note in notes:
        print(note)
    if not existing:
        print(f"stored as {run.folder}")


def _notes(run: store.StoredRun) -> list[str]:
    """Return a sentence if an earlier step was better, and for each setting that could not be fulfilled."""
    config, notes = run.config, list(filter(None, [records.describe_lowest_loss(run.config, run.curves)]))
    if not isinstance(config.task, TextConfig):
        return notes
    loss = run.card.metrics["val_loss"].mean
    if config.stop_at and (loss is None or loss > config.stop_at):
        found = "unknown" if loss is None else f"{loss:.3f}"
        notes.append(
            f"A validation loss of {config.stop_at:g} was not reached: after {run.card.step:,} steps it is {found}."
        )
    if config.task.tokenizer != "char":  # the characters of the text determine its size
        requested, given = config.task.vocabulary, len(tokenizers.from_json(run.tokenizer).tokens)
        if given < requested:
            notes.append(f"{requested:,} tokens were requested; this text gives {given:,}.")
    return notes


def _summarize_answers(config: RunConfig, answers: Mapping[str, Any]) -> dict[str, Any]:
    found = objective.objective_class(config.task).compute_metrics(
        {name: value[None] for name, value in answers.items()}, config
    )
    return {
        name: m.model_dump()
        for name, m in store.summarize_metrics({n: v[-1] for n, v in found.metrics.items()}).items()
    }
