"""Commands that train runs: `train`, and `pretrain` for the shipped runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer

from explorer import catalogue
from explorer.cli.common import Json, keep_text_file, print_json, print_metrics
from explorer.errors import InvalidSetting
from explorer.experiments.presets import PRESETS
from explorer.experiments.presets import preset as named_preset
from explorer.experiments.pretraining import shipped_configs, tags_of, trim_for_release
from explorer.jobs import limits
from explorer.run_store import store
from explorer.tasks.text.config import TextConfig
from explorer.training.comparability import describe_tokens, loss_context
from explorer.training.config import RunConfig, default_config, with_settings
from explorer.training.record import Record


def train(
    task: Annotated[str, typer.Option(help=f"Task to train on: {', '.join(catalogue.TASKS)}.")] = "",
    model: Annotated[str, typer.Option(help=f"Model to train: {', '.join(catalogue.MODELS)}.")] = "",
    preset: Annotated[str, typer.Option(help=f"A named configuration: {', '.join(PRESETS)}.")] = "",
    corpus: Annotated[str, typer.Option(help="Training text: a name, or a file (UTF-8).")] = "",
    tokenizer: Annotated[str | None, typer.Option(help="Tokenizer: char, word, bpe or bytes.")] = None,
    stop_at: Annotated[
        str, typer.Option(metavar="val_loss=LOSS", help="Stop when the validation loss reaches this value.")
    ] = "",
    max_seconds: Annotated[
        float | None, typer.Option(min=1, help="Time one step, then train for the number of steps that fit.")
    ] = None,
    seed: Annotated[str | None, typer.Option(help="Seed of the first replica.")] = None,
    replicas: Annotated[str | None, typer.Option(help="Number of seeds to train together.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a setting, for example p_not=0.5.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Train although it exceeds a limit of this machine.")] = False,
    out: Annotated[Path | None, typer.Option(help="Folder of the run. Default: LINEAGE_HOME/runs/KEY.")] = None,
    as_json: Json = False,
) -> None:
    """Train a model and store the run."""
    changes: dict[str, object] = {"seed": seed, "replicas": replicas, "tokenizer": tokenizer}
    if corpus:
        changes |= _corpus_settings(corpus)
    if stop_at:
        changes["stop_at"] = _parse_stop_at(stop_at)
    changes = {name: value for name, value in changes.items() if value is not None}
    for text in settings or ():
        name, equals, value = text.partition("=")
        if not equals:
            raise InvalidSetting(f"--set {text} has no “=”. Write it as KEY=VALUE, e.g. --set p_not=0.5.")
        changes[name.strip()] = value.strip()
    config = with_settings(_base_config(task, model, preset), changes)
    try:
        limits.check(config)
    except InvalidSetting as error:
        if not yes:
            raise InvalidSetting(f"{error} Or give --yes to train it all the same.") from error
        typer.echo(str(error), err=True)
    _check_early_end(config, max_seconds)
    if max_seconds is not None:
        from explorer.jobs.time_budget import fit_to_seconds

        config = fit_to_seconds(config, max_seconds)
    if out and out.exists() and not (out / "config.json").is_file():
        raise InvalidSetting(f"{out} exists and is not a run folder. Give --out a new folder.")
    _train_and_save(config, out or store.run_folder(config), as_json)


def pretrain(
    names: Annotated[list[str] | None, typer.Argument(help="Names of shipped runs; see `list`.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Train all shipped runs.")] = False,
    as_json: Json = False,
) -> None:
    """Train shipped runs into pretrained/ and write their model cards."""
    from explorer.run_store.archive.write import model_card
    from explorer.training.recorder import record_run

    known = shipped_configs()
    if not names and not everything:
        raise InvalidSetting(f"Name the runs to train, or give --all. The shipped runs are {', '.join(known)}.")
    for name in known if everything else names or ():
        if name not in known:
            raise InvalidSetting(f"There is no shipped run “{name}”. The shipped runs are {', '.join(known)}.")
        # The first steps of a process are slower and must not count in the seconds on the card.
        record_run(with_settings(known[name], {"epochs": 1} if known[name].steps_per_epoch else {"iterations": 1}))
        _train_and_save(known[name], store.PRETRAINED / name, as_json, partial(trim_for_release, name))
        run = store.update_card(store.load(store.PRETRAINED / name), tags=tags_of(name))
        (store.PRETRAINED / name / "MODEL_CARD.md").write_text(model_card(run))


def _base_config(task: str, model: str, name: str) -> RunConfig:
    """Return the configuration that the settings change: a preset, or the defaults of a task and a model."""
    if name:
        chosen = named_preset(name)
        if task not in ("", chosen.task) or model not in ("", chosen.model):
            raise InvalidSetting(f"Preset {name} is for --task {chosen.task} --model {chosen.model}. Leave these out.")
        return chosen.config()
    if not task or not model:
        raise InvalidSetting("Give --task and --model, or a --preset.")
    return default_config(task, model)


def _corpus_settings(given: str) -> dict[str, object]:
    """Return the settings of a corpus given by name or as a file. Raises InvalidSetting if there is neither."""
    known = [name for name in get_args(get_type_hints(TextConfig)["corpus"]) if name != "own"]
    if given in known:
        return {"corpus": given}
    sha = keep_text_file(given)
    if not sha:
        raise InvalidSetting(f"There is no corpus and no file “{given}”. The corpora are {', '.join(known)}.")
    return {"corpus": "own", "text": sha}


def _check_early_end(config: RunConfig, max_seconds: float | None) -> None:
    """Raise InvalidSetting if the run cannot stop early."""
    if config.model_name == "ngram" and (config.stop_at or max_seconds is not None):
        raise InvalidSetting(
            "An n-gram is fitted in one step: --stop-at and --max-seconds have no effect. Leave them out."
        )
    if config.stop_at and not isinstance(config.task, TextConfig):
        raise InvalidSetting("--stop-at needs a validation loss, which only runs on text have. Leave it out.")


def _parse_stop_at(given: str) -> str:
    """Return LOSS of val_loss=LOSS. Raises InvalidSetting."""
    name, equals, loss = given.partition("=")
    if not equals or name.strip() != "val_loss":
        raise InvalidSetting(f"--stop-at {given} is not possible. Write it as val_loss=LOSS, e.g. val_loss=1.8.")
    return loss.strip()


def _train_and_save(
    config: RunConfig, folder: Path, as_json: bool, trim: Callable[[Record], Record] | None = None
) -> None:
    """Train, store the run (or what `trim` leaves of it) and print its metrics."""
    from explorer.training.events import Evaluation, Event, Step
    from explorer.training.recorder import record_run

    last = 0.0
    with _progress_bar(config, hidden=as_json) as advance:

        def listen(event: Event) -> None:
            nonlocal last
            if isinstance(event, Step):
                advance(event.step)
                # Converting losses to numbers takes time, so this happens at most ten times a second.
                if as_json and (time.monotonic() - last > 0.1 or event.step == config.steps):
                    last = time.monotonic()
                    losses = [round(float(loss), 6) for loss in event.losses]
                    print_json({"kind": "step", "step": event.step, "of": config.steps, "loss": losses})
            elif as_json and config.iterations and isinstance(event, Evaluation):
                print_json(
                    {"kind": "evaluation", "step": event.step, "metrics": _summarize_answers(config, event.answers)}
                )

        record = record_run(config, listen)
    try:
        run = store.save_run(trim(record) if trim else record, folder)
    except OSError as error:
        raise InvalidSetting(f"The run cannot be written to {folder}: {error.strerror}. Give another --out.") from error
    notes = _notes(run)
    if as_json:
        metrics = {name: metric.model_dump() for name, metric in run.card.metrics.items()}
        noted = {"notes": notes} if notes else {}
        print_json(
            {
                "kind": "finished",
                "run": run.key,
                "seconds": run.card.seconds,
                "metrics": metrics,
                **_conditions(config),
                **noted,
            }
        )
        return
    print(f"{config.title}: {run.card.parameters:,} parameters, {config.replicas} seed(s), {run.card.seconds:.2f} s")
    print_metrics(run.card, config)
    for note in notes:
        print(note)
    print(f"stored as {run.folder}")


def _conditions(config: RunConfig) -> dict[str, str]:
    """Return the tokens and the context of the losses on text, by name; empty for other tasks."""
    context = loss_context(config)
    return {"loss_tokens": describe_tokens(config), "loss_context": context} if context else {}


def _notes(run: store.StoredRun) -> list[str]:
    """Return a sentence for each setting that could not be fulfilled: target loss, vocabulary size."""
    config, notes = run.config, []
    if not isinstance(config.task, TextConfig):
        return []
    loss = run.card.metrics["val_loss"].mean
    if config.stop_at and (loss is None or loss > config.stop_at):
        found = "unknown" if loss is None else f"{loss:.3f}"
        notes.append(
            f"A validation loss of {config.stop_at:g} was not reached: after {run.card.step:,} steps it is {found}."
        )
    if config.task.tokenizer != "char":  # the characters of the text determine its size
        from explorer.tokenization.text import from_json

        requested, given = config.task.vocabulary, len(from_json(run.tokenizer).tokens)
        if given < requested:
            notes.append(f"{requested:,} tokens were requested; this text gives {given:,}.")
    return notes


def _summarize_answers(config: RunConfig, answers: Mapping[str, Any]) -> dict[str, Any]:
    from explorer.training.objective import objective_class

    found = objective_class(config.task).compute_metrics({name: value[None] for name, value in answers.items()}, config)
    return {
        name: m.model_dump()
        for name, m in store.summarize_metrics({n: v[-1] for n, v in found.metrics.items()}).items()
    }


@contextmanager
def _progress_bar(config: RunConfig, hidden: bool) -> Iterator[Any]:
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, disable=hidden or not console.is_terminal, transient=True) as bar:
        task = bar.add_task(config.title, total=config.steps)
        yield lambda step: bar.update(task, completed=step)
