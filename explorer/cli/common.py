"""Arguments and output that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any

import typer

from explorer import catalogue
from explorer.cli import completion
from explorer.cli.program import program_name
from explorer.errors import InvalidSetting, shorten
from explorer.experiments.own_tables import store_text_file
from explorer.hub.allowed import PREFIX
from explorer.model import model, real_model, run_model
from explorer.run_store import store
from explorer.tasks.text import bits_per_byte
from explorer.tasks.text.config import TextConfig
from explorer.training.comparability import baseline_name, describe_tokens, loss_context
from explorer.training.config import RunConfig


def option(metavar: str, help: str, complete: Callable[..., Any] | None = None, name: str = "", **more: Any) -> Any:
    """Return the declaration of an option; its name is by default that of the parameter."""
    return typer.Option(*([name] if name else []), metavar=metavar, help=help, autocompletion=complete, **more)


def argument(metavar: str, help: str, complete: Callable[..., Any] | None = None) -> Any:
    """Return the declaration of an argument."""
    return typer.Argument(metavar=metavar, help=help, autocompletion=complete, show_default=False)


def flag(name: str, help: str) -> Any:
    """Return the declaration of an option without a value; `name` may have two forms: --halving/--no-halving."""
    return typer.Option(name, help=help)


Json = Annotated[bool, flag("--json", "Print one JSON object per line on standard output. Each has a “kind”.")]
Force = Annotated[bool, flag("--force", "Overwrite a file or run that exists.")]
Run = Annotated[
    str, argument("RUN", "Name of an included run, key of a run of this machine, or a run folder.", completion.runs)
]
TrainedTask = Annotated[str, option("TASK", f"Task to train on: {', '.join(catalogue.TASKS)}.", completion.tasks)]
TrainedModel = Annotated[str, option("MODEL", f"Model to train: {', '.join(catalogue.MODELS)}.", completion.models)]
RunOrRealModel = Annotated[
    str,
    argument(
        "RUN",
        "Name of an included run, key of a run of this machine, or a run folder; or hub:NAME, an open real model.",
        completion.runs_and_real_models,
    ),
]


def find_model(run: str) -> model.Model:
    """Return a run, or an open real model by its name with a prefix. Raises LineageError."""
    return real_model.find_real_model(run) if run.startswith(PREFIX) else run_model.RunModel(stored_run(run))


def stored_run(run: str, task: str = "") -> store.StoredRun:
    """Return the run with this key, included name or folder; with `task`, it has to be one of this task.

    Raises UnknownRun, DamagedRun, or InvalidSetting for a run of another task.
    """
    if run.startswith(PREFIX):
        raise InvalidSetting(
            f"{shorten(run)} is a real model, which was not trained here. This command needs a run: see "
            f"{program_name()} list."
        )
    found = store.find_run_or_folder(run)
    learned = catalogue.task_row(found.config.task)
    if task and learned.name != task:
        raise InvalidSetting(
            f"{run} is a run of the task {learned.name}; this command needs a run of {task}. "
            f"See {program_name()} list --task {task}."
        )
    return found


def split_settings(settings: Iterable[str], example: str) -> Iterator[tuple[str, str]]:
    """Return the key and the value of every --set. Raises InvalidSetting with an example of how to write one."""
    for text in settings:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals:
            raise InvalidSetting(f"--set {text} has no “=”. Write it as {example}.")
        yield name, value


def check_same_text(config: RunConfig, given: str) -> None:
    """Store the text of a file. Raises InvalidSetting unless it is the training text of the run, or TextError."""
    learned = config.own_text
    if not learned:
        raise InvalidSetting("This run was not trained on a text of your own. Leave --corpus out.")
    found = store_text_file(given)
    if not found:
        raise InvalidSetting(f"There is no file “{shorten(given)}”. Give the training text of this run.")
    if found != learned:
        raise InvalidSetting(
            f"“{shorten(given)}” is not the text of this run: its SHA-256 begins with {found[:12]}, and that of the "
            f"text with {learned[:12]}. Give the training text of this run."
        )


def print_metrics(card: store.Card, config: RunConfig) -> None:
    """Print the mean of every metric, its range over the seeds and its baseline; and what the losses on text are of."""
    baseline = baseline_name(catalogue.task_row(config.task).name)
    for name, metric in card.metrics.items():
        known = [v for v in metric.values if v is not None]
        spread = f"  ({min(known):.3f} to {max(known):.3f})" if len(known) > 1 else ""
        beside = "" if metric.baseline is None else f"; {baseline}: {metric.baseline:.3f}"
        print(f"  {name:29} {'none' if metric.mean is None else f'{metric.mean:.3f}'}{spread}{beside}")
    if isinstance(config.task, TextConfig) and (counted := bits_per_byte.count_held_out_text(config.task)):
        print(f"  {'bytes that no target scores':29} {counted.shares}")
    if context := loss_context(config):
        print(f"  {'tokens of the losses':29} {describe_tokens(config)}")
        print(f"  {'context of the losses':29} {context}")
