"""The settings of a training as the command line shows them, and checks of a task, a model and a preset."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal, get_args, get_origin, get_type_hints

from explorer.catalogue import MODELS, TASKS, models_of
from explorer.errors import InvalidSetting
from explorer.experiments.presets import preset_config
from explorer.training.config import default_config

_KINDS = {bool: "true or false", int: "whole number", float: "number", str: "text"}


def setting_rows(task: str, model: str, preset: str = "") -> list[dict[str, Any]]:
    """Return the settings of a task and a model, or of a preset; without them, those of every training.

    The rows are those of `lineage settings --json`; `key` is as --set takes it. Raises InvalidSetting.
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
    parts = {"task": config.task, "model": config.model, "optimiser": config.optimiser, "training": config}
    hidden = {section for section, given in (("task", task), ("model", model)) if not given and not preset}
    unused = ("iterations" if config.steps_per_epoch else "epochs") if task or preset else ""
    names = [f.name for part in parts.values() for f in _fields(part)]
    rows = []
    for section, part in parts.items():
        for f in _fields(part):
            if section not in hidden and f.name != unused:
                is_alone = names.count(f.name) == 1 or section == "training"
                limits = {name: f.metadata[name] for name in ("low", "high") if f.metadata["high"] is not None}
                options = possible_values(type(part), f.name)
                kind = _KINDS.get(get_type_hints(type(part))[f.name], "one of")
                rows.append(
                    {"kind": "setting", "section": section, "key": f.name if is_alone else f"{section}.{f.name}"}
                    | {"type": kind, **limits, **({"options": list(options)} if options else {})}
                    | {"default": getattr(part, f.name), "help": f.metadata["help"]}
                )
    return rows


def possible_values(kind: type[Any], name: str) -> tuple[str, ...]:
    """Return the values among which a setting chooses; empty if it is a number or a text."""
    hint = get_type_hints(kind)[name]
    if hint is bool:
        return ("true", "false")
    return tuple(map(str, get_args(hint))) if get_origin(hint) is Literal else ()


def _fields(part: Any) -> list[dataclasses.Field[Any]]:
    return [f for f in dataclasses.fields(part) if "help" in f.metadata]


def check_names(task: str, model: str) -> None:
    """Raise InvalidSetting, with the nearest names, for a task or a model that does not exist."""
    if task and task not in TASKS:
        default_config(task, next(iter(MODELS)))
    if model and model not in MODELS:
        default_config(next(iter(TASKS)), model)
