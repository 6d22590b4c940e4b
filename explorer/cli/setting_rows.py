"""The settings of a training as the command line shows them, and checks of a task, a model and a preset."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

from explorer.catalogue import MODELS, TASKS, models_of
from explorer.errors import InvalidSetting
from explorer.experiments.presets import preset_config
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


def setting_rows(task: str, model: str, preset: str = "") -> list[SettingRow]:
    """Return the settings of a task and a model, or of a preset; without them, those of every training.

    Raises InvalidSetting.
    """
    check_names(task, model)
    if preset:
        config = preset_config(preset, task, model)
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


def check_names(task: str, model: str) -> None:
    """Raise InvalidSetting, with the nearest names, for a task or a model that does not exist."""
    if task and task not in TASKS:
        default_config(task, next(iter(MODELS)))
    if model and model not in MODELS:
        default_config(next(iter(TASKS)), model)
