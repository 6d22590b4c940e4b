"""The command `settings`: every key that `train --set KEY=VALUE` accepts."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

from explorer.catalogue import MODELS, TASKS, models_of
from explorer.cli import completion
from explorer.cli.common import Json, check_names, check_task_and_model
from explorer.cli.program import print_json, program_name
from explorer.cli.tables import output_width, print_wrapped
from explorer.errors import InvalidSetting
from explorer.experiments.presets import preset as find_preset
from explorer.training.config import Optimiser, RunConfig, default_config


@dataclass(frozen=True)
class SettingRow:
    """One setting as the command line shows it."""

    section: str  # task, model, optimiser or training
    key: str  # as --set takes it
    kind: str
    low: float | None
    high: float | None
    options: tuple[str, ...]
    default: Any
    help: str

    @property
    def possible(self) -> str:
        """The possible values in words."""
        if self.options:
            return ", ".join(self.options)
        if self.low is None or self.high is None:
            return self.kind
        return f"{self.kind}, {self.low:,g} to {self.high:,.12g}"


def settings(
    task: Annotated[
        str,
        typer.Option(
            metavar="TASK", help="Task whose settings are listed.", autocompletion=completion.tasks, show_default=False
        ),
    ] = "",
    model: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="Model whose settings are listed.",
            autocompletion=completion.models,
            show_default=False,
        ),
    ] = "",
    preset: Annotated[
        str,
        typer.Option(
            metavar="PRESET",
            help="Preset whose values are listed as the defaults.",
            autocompletion=completion.presets,
            show_default=False,
        ),
    ] = "",
    as_json: Json = False,
) -> None:
    """List the settings of a training: default, range and meaning.

    `train --set KEY=VALUE` changes them. Without a task and a model, list the settings of every training.
    """
    rows = setting_rows(task, model, preset)
    if as_json:
        for row in rows:
            known = {"low": row.low, "high": row.high} if row.high is not None else {}
            options = {"options": list(row.options)} if row.options else {}
            print_json(
                {
                    "kind": "setting",
                    "section": row.section,
                    "key": row.key,
                    "type": row.kind,
                    **known,
                    **options,
                    "default": row.default,
                    "help": row.help,
                }
            )
        return
    titles = {"task": f"Task: {task}", "model": f"Model: {model}", "optimiser": "Optimizer", "training": "Training"}
    if preset:
        titles |= {"task": "Task", "model": "Model"}
    for section, group in groupby(rows, key=lambda row: row.section):
        print(titles[section])
        for row in group:
            _print_row(row)
        print()
    name = program_name()
    if not preset and not (task and model):
        for title, names in (("Tasks", TASKS), ("Models", models_of(task) if task else MODELS)):
            print_wrapped(f"{title}: {', '.join(names)}.")
        print_wrapped(f"For their settings: {name} settings --task TASK --model MODEL.")
    else:
        print_wrapped(f"Change one with {name} train … --set KEY=VALUE.")


def _print_row(row: SettingRow) -> None:
    default = str(row.default).lower() if isinstance(row.default, bool) else row.default
    shown = f"{default:g}" if isinstance(default, float) else str(default) or "empty"
    head = f"  {row.key} = {shown}"
    possible = f"({row.possible})"
    if len(head) + 2 + len(possible) <= output_width():
        print(f"{head}  {possible}")
    else:
        print(head)
        print_wrapped(possible, "      ")
    print_wrapped(row.help, "      ")


def setting_rows(task: str, model: str, preset: str = "") -> list[SettingRow]:
    """Return the settings of a task and a model, or of a preset; without them, those of every training.

    Raises InvalidSetting.
    """
    check_names(task, model)
    if preset:
        check_task_and_model(preset, task, model)
        config = find_preset(preset).config()
    elif task and model:
        config = default_config(task, model)
    elif model:
        raise InvalidSetting(
            f"The settings of {model} depend on the task. Give --task as well: {', '.join(MODELS[model].by_task)}."
        )
    else:
        task_shown = task or next(iter(TASKS))  # any task: only the settings of every training are listed
        config = default_config(task_shown, next(iter(models_of(task_shown)), next(iter(MODELS))))
    kinds: dict[str, tuple[type[Any], Any]] = {
        "task": (type(config.task), config.task),
        "model": (type(config.model), config.model),
        "optimiser": (Optimiser, config.optimiser),
        "training": (RunConfig, config),
    }
    every = kinds
    if not preset:
        given = {"task": task, "model": model}
        kinds = {section: each for section, each in kinds.items() if given.get(section, True)}
    unused = ("iterations" if config.steps_per_epoch else "epochs") if task or preset else ""
    names = [f.name for kind, _ in every.values() for f in _fields(kind)]
    return [
        SettingRow(
            section,
            f.name if names.count(f.name) == 1 or section == "training" else f"{section}.{f.name}",
            _kind(get_type_hints(kind)[f.name]),
            f.metadata["low"],
            f.metadata["high"],
            possible_values(kind, f.name),
            getattr(values, f.name),
            f.metadata["help"],
        )
        for section, (kind, values) in kinds.items()
        for f in _fields(kind)
        if f.name != unused
    ]


def possible_values(kind: type[Any], name: str) -> tuple[str, ...]:
    """Return the values among which a setting chooses; empty if it is a number or a text."""
    hint = get_type_hints(kind)[name]
    if hint is bool:
        return ("true", "false")
    return tuple(map(str, get_args(hint))) if get_origin(hint) is Literal else ()


def _fields(kind: type[Any]) -> Iterator[dataclasses.Field[Any]]:
    return (f for f in dataclasses.fields(kind) if "help" in f.metadata)


def _kind(hint: Any) -> str:
    names = {bool: "true or false", int: "whole number", float: "number", str: "text"}
    return names.get(hint, "one of")
