"""Commands that make runs: train, and pretrain those that ship with the program."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer

from explorer import catalogue
from explorer.commands.common import Json, own_text, print_metrics, say
from explorer.errors import InvalidSetting
from explorer.tasks.text import TextConfig
from explorer.training import limits, store
from explorer.training.config import RunConfig, changed, default
from explorer.training.presets import PRESETS
from explorer.training.presets import preset as named_preset
from explorer.training.pretraining import recipes, tags, trimmed
from explorer.training.record import Record


def train(
    task: Annotated[str, typer.Option(help=f"What to learn: {', '.join(catalogue.TASKS)}.")] = "",
    model: Annotated[str, typer.Option(help=f"Who learns: {', '.join(catalogue.MODELS)}.")] = "",
    preset: Annotated[str, typer.Option(help=f"A named configuration: {', '.join(PRESETS)}.")] = "",
    corpus: Annotated[str, typer.Option(help="Which text: a name, or a file (UTF-8).")] = "",
    tokenizer: Annotated[str | None, typer.Option(help="What a token is: char, word, bpe or bytes.")] = None,
    stop_at: Annotated[
        str, typer.Option(metavar="val_loss=LOSS", help="End as soon as the validation loss is this low.")
    ] = "",
    max_seconds: Annotated[
        float | None, typer.Option(min=1, help="Measure a step first, then train as many as fit.")
    ] = None,
    seed: Annotated[str | None, typer.Option(help="Seed of the first replica.")] = None,
    replicas: Annotated[str | None, typer.Option(help="How many seeds to train side by side.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a setting, e.g. p_not=0.5.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the run; by default LINEAGE_HOME/runs/KEY.")] = None,
    as_json: Json = False,
) -> None:
    """Train a model and keep the run."""
    changes: dict[str, object] = {"seed": seed, "replicas": replicas, "tokenizer": tokenizer}
    if corpus:
        changes |= _corpus(corpus)
    if stop_at:
        changes["stop_at"] = _target(stop_at)
    changes = {name: value for name, value in changes.items() if value is not None}
    for text in settings or ():
        name, equals, value = text.partition("=")
        if not equals:
            raise InvalidSetting(f"--set {text} has no “=”. Write it as KEY=VALUE, e.g. --set p_not=0.5.")
        changes[name.strip()] = value.strip()
    config = limits.check(changed(_start(task, model, preset), changes))
    _check_ends(config, max_seconds)
    if max_seconds is not None:
        from explorer.training.budget import within

        config = within(config, max_seconds)
    if out and out.exists() and not (out / "config.json").is_file():
        raise InvalidSetting(f"{out} exists and is no run folder. Give --out a new folder.")
    _finish(config, out or store.place_of(config), as_json)


def pretrain(
    names: Annotated[list[str] | None, typer.Argument(help="Names of shipped runs; see `list`.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All of them.")] = False,
    as_json: Json = False,
) -> None:
    """Train the runs that ship with the program into pretrained/, each with its card."""
    from explorer.training.packing import model_card
    from explorer.training.recorder import record_run

    known = recipes()
    if not names and not everything:
        raise InvalidSetting(f"Name the runs to train, or give --all. There is {', '.join(known)}.")
    for name in known if everything else names or ():
        if name not in known:
            raise InvalidSetting(f"There is no shipped run “{name}”. There is {', '.join(known)}.")
        # The first steps of a process are slower: keep them off the card.
        record_run(changed(known[name], {"epochs": 1} if known[name].steps_per_epoch else {"iterations": 1}))
        _finish(known[name], store.PRETRAINED / name, as_json, partial(trimmed, name))
        run = store.say(store.load(store.PRETRAINED / name), tags=tags(name))
        (store.PRETRAINED / name / "MODEL_CARD.md").write_text(model_card(run))


def _start(task: str, model: str, name: str) -> RunConfig:
    """What the settings change: a preset, or the defaults."""
    if name:
        chosen = named_preset(name)
        if task not in ("", chosen.task) or model not in ("", chosen.model):
            raise InvalidSetting(f"Preset {name} is for --task {chosen.task} --model {chosen.model}. Leave these out.")
        return chosen.config()
    if not task or not model:
        raise InvalidSetting("Name what to learn and who learns: --task and --model, or a --preset.")
    return default(task, model)


def _corpus(given: str) -> dict[str, object]:
    """The settings of a corpus given by name, or as a file."""
    known = [name for name in get_args(get_type_hints(TextConfig)["corpus"]) if name != "own"]
    if given in known:
        return {"corpus": given}
    sha = own_text(given)
    if not sha:
        raise InvalidSetting(f"There is no corpus and no file “{given}”. There is {', '.join(known)}.")
    return {"corpus": "own", "text": sha}


def _check_ends(config: RunConfig, max_seconds: float | None) -> None:
    """Refuse an early end for what cannot have one. Raises InvalidSetting."""
    if config.model_name == "ngram" and (config.stop_at or max_seconds is not None):
        raise InvalidSetting(
            "An n-gram is counted in one go: --stop-at and --max-seconds have no steps to end. Leave them out."
        )
    if config.stop_at and not isinstance(config.task, TextConfig):
        raise InvalidSetting("--stop-at watches the validation loss, which only runs on text have. Leave it out.")


def _target(given: str) -> str:
    name, equals, loss = given.partition("=")
    if not equals or name.strip() != "val_loss":
        raise InvalidSetting(f"--stop-at {given} is not possible. Write it as val_loss=LOSS, e.g. val_loss=1.8.")
    return loss.strip()


def _finish(config: RunConfig, folder: Path, as_json: bool, trim: Callable[[Record], Record] | None = None) -> None:
    """Train and keep, all of it or what `trim` leaves."""
    from explorer.training.events import Evaluation, Event, Step
    from explorer.training.recorder import record_run

    last = 0.0
    with _progress(config, hidden=as_json) as advance:

        def listen(event: Event) -> None:
            nonlocal last
            if isinstance(event, Step):
                advance(event.step)
                # Reading a loss makes it a number; ten times a second is as often as anybody reads.
                if as_json and (time.monotonic() - last > 0.1 or event.step == config.steps):
                    last = time.monotonic()
                    losses = [round(float(loss), 6) for loss in event.losses]
                    say({"kind": "step", "step": event.step, "of": config.steps, "loss": losses})
            elif as_json and config.iterations and isinstance(event, Evaluation):
                say({"kind": "evaluation", "step": event.step, "metrics": _measured(config, event.answers)})

        record = record_run(config, listen)
    try:
        run = store.save_run(trim(record) if trim else record, folder)
    except OSError as error:
        raise InvalidSetting(f"The run cannot be written to {folder}: {error.strerror}. Give another --out.") from error
    notes = _notes(run)
    if as_json:
        metrics = {name: metric.model_dump() for name, metric in run.card.metrics.items()}
        noted = {"notes": notes} if notes else {}
        say({"kind": "finished", "run": run.key, "seconds": run.card.seconds, "metrics": metrics, **noted})
        return
    print(f"{config.title}: {run.card.parameters:,} parameters, {config.replicas} seed(s), {run.card.seconds:.2f} s")
    print_metrics(run.card)
    for note in notes:
        print(note)
    print(f"kept as {run.folder}")


def _notes(run: store.StoredRun) -> list[str]:
    """What was wished for and did not come true, a sentence each."""
    config, notes = run.config, []
    if not isinstance(config.task, TextConfig):
        return []
    loss = run.card.metrics["val_loss"].mean
    if config.stop_at and (loss is None or loss > config.stop_at):
        found = "unknown" if loss is None else f"{loss:.3f}"
        notes.append(
            f"A validation loss of {config.stop_at:g} was not reached: after {run.card.step:,} steps it is {found}."
        )
    if config.task.tokenizer != "char":  # characters are what they are, whatever the wish
        from explorer.tokenization.text import from_json

        wished, given = config.task.vocabulary, len(from_json(run.tokenizer).tokens)
        if given < wished:
            notes.append(f"{wished:,} tokens were wished for; this text gives {given:,}.")
    return notes


def _measured(config: RunConfig, answers: Mapping[str, Any]) -> dict[str, Any]:
    from explorer.training.lesson import lesson

    found = lesson(config.task).measured({name: value[None] for name, value in answers.items()}, config)
    return {name: m.model_dump() for name, m in store.summary({n: v[-1] for n, v in found.metrics.items()}).items()}


@contextmanager
def _progress(config: RunConfig, hidden: bool) -> Iterator[Any]:
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, disable=hidden or not console.is_terminal, transient=True) as bar:
        task = bar.add_task(config.title, total=config.steps)
        yield lambda step: bar.update(task, completed=step)
