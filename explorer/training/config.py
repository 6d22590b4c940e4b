"""A run is its configuration, and its key follows from it: the name of its folder, cache entry and link.

Needs neither torch nor data. The door for everything that comes from outside (`parse`, `changed`)
is here: whatever passes it is valid.
"""

from __future__ import annotations

import base64
import dataclasses
import difflib
import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pydantic

from explorer.catalogue import MODELS, TASKS, ModelConfig, TaskConfig, model_row, task_row
from explorer.errors import InvalidSetting, shortened
from explorer.models.settings import setting

MOST_STEPS = 50_000
MOST_DRAWS = 5_000_000  # their order is drawn at once, and held in memory


@dataclass(frozen=True)
class Adam:
    """Kingma & Ba 2015, with PyTorch's betas (0.9, 0.999)."""

    learning_rate: float = setting(3e-3, "Step size of Adam.", 1e-6, 1.0)


@dataclass(frozen=True)
class RunConfig:
    """Everything that decides a result, and nothing else: no path, no clock, no screen."""

    task: TaskConfig
    model: ModelConfig
    optimiser: Adam
    epochs: int = setting(20, "Passes over the training sentences.", 1, 2_000)
    batch_size: int = setting(64, "Sentences in a batch.", 1, 2_048)
    seed: int = setting(0, "Seed of the first replica: its start and its batch order.", 0, 2**31 - 1)
    replicas: int = setting(1, "Seeds trained side by side: seed, seed + 1, …", 1, 32)
    threads: int = setting(1, "Threads of torch; one and two part after a few steps.", 1, 64)

    @property
    def title(self) -> str:
        return model_row(self.model).title

    @property
    def seeds(self) -> range:
        """The seed of each replica."""
        return range(self.seed, self.seed + self.replicas)

    @property
    def steps_per_epoch(self) -> int:
        """Batches in an epoch; the last may be smaller."""
        return math.ceil(self.task.train_size / self.batch_size)

    @property
    def steps(self) -> int:
        """Optimiser steps of the whole run."""
        return self.epochs * self.steps_per_epoch


def default(task: str, model: str) -> RunConfig:
    """The released configuration of a model on a task."""
    if task not in TASKS:
        raise InvalidSetting(_unknown("task", task, TASKS))
    if model not in MODELS:
        raise InvalidSetting(_unknown("model", model, MODELS))
    recipe = MODELS[model].recipes.get(task)
    if recipe is None:
        raise InvalidSetting(f"{MODELS[model].title} cannot be trained on {TASKS[task].title}.")
    return RunConfig(TASKS[task].config(), MODELS[model].config(), Adam(recipe.learning_rate), recipe.epochs)


def to_json(config: RunConfig) -> dict[str, Any]:
    """The whole configuration as plain data."""
    task, model = task_row(config.task), model_row(config.model)
    return {
        "task": {"name": task.name, "version": task.version, **dataclasses.asdict(config.task)},
        "model": {"name": model.name, "version": model.version, **dataclasses.asdict(config.model)},
        "optimiser": {"name": "adam", **dataclasses.asdict(config.optimiser)},
        **{name: getattr(config, name) for name in _OWN},
    }


@lru_cache(maxsize=4096)
def key(config: RunConfig) -> str:
    """Twelve letters that name the run: made of the task, the model and what differs from their defaults."""
    whole = to_json(config)
    usual = to_json(default(whole["task"]["name"], whole["model"]["name"]))
    different: dict[str, Any] = {}
    for name, value in whole.items():
        if isinstance(value, dict):
            changes = {k: v for k, v in value.items() if k in ("name", "version") or v != usual[name].get(k)}
            different[name] = changes
        elif value != usual[name]:
            different[name] = value
    text = json.dumps(different, sort_keys=True, separators=(",", ":"))
    return base64.b32encode(hashlib.sha256(text.encode()).digest())[:12].decode().lower()


def parse(data: object) -> RunConfig:
    """A configuration from plain data, every value checked. Raises InvalidSetting."""
    if not isinstance(data, Mapping) or not all(isinstance(data.get(part), Mapping) for part in _PARTS):
        raise InvalidSetting("This is not a run's configuration: it names no task, model and optimiser.")
    usual = default(str(data["task"].get("name")), str(data["model"].get("name")))
    for part, row in (("task", task_row(usual.task)), ("model", model_row(usual.model))):
        if data[part].get("version") != row.version:
            raise InvalidSetting(
                f"This run was made with version {shortened(data[part].get('version'))} of “{row.name}”; "
                f"this program has version {row.version}. Train it again."
            )
    if data["optimiser"].get("name") != "adam":
        raise InvalidSetting(_unknown("optimiser", str(data["optimiser"].get("name")), ["adam"]))
    unknown = set(data) - {*_PARTS, *_OWN}
    if unknown:
        raise InvalidSetting(_unknown("setting", sorted(unknown)[0], [*_PARTS, *_OWN]))
    changes = {name: data[name] for name in _OWN if name in data}
    for part in _PARTS:
        changes |= {f"{part}.{k}": v for k, v in data[part].items() if k not in ("name", "version")}
    return changed(usual, changes)


def changed(config: RunConfig, changes: Mapping[str, object]) -> RunConfig:
    """The configuration with some settings changed, each by its name (`p_not`, or `task.p_not`).

    Values may be text, as from an address or the command line. Raises InvalidSetting.
    """
    own: dict[str, object] = {name: getattr(config, name) for name in _OWN}
    parts = {part: dataclasses.asdict(getattr(config, part)) for part in _PARTS}
    for name, value in changes.items():
        part, _, last = name.rpartition(".")
        homes = [p for p in parts if last in parts[p] and part in ("", p)]
        if not part and name in own:
            own[name] = value
        elif homes:
            parts[homes[0]][last] = value
        else:
            raise InvalidSetting(_unknown("setting", name, [*own, *(k for p in parts.values() for k in p)]))
    built = {part: validated(type(getattr(config, part)), values) for part, values in parts.items()}
    new = RunConfig(**built, **_checked(RunConfig, own))
    if new.steps > MOST_STEPS:
        raise InvalidSetting(
            f"These settings ask for {new.steps:,} optimiser steps; at most {MOST_STEPS:,} are possible. "
            "Take fewer epochs, fewer sentences or larger batches."
        )
    if new.epochs * new.task.train_size > MOST_DRAWS:
        raise InvalidSetting(
            f"{new.epochs:,} epochs of {new.task.train_size:,} sentences are more than the {MOST_DRAWS:,} sentences "
            "that a training may see. Take fewer epochs or fewer sentences."
        )
    return new


def validated(kind: type[Any], values: Mapping[str, object]) -> Any:
    """A settings dataclass made from untrusted values. Raises InvalidSetting with what is possible."""
    try:
        return kind(**_checked(kind, values))
    except ValueError as error:  # a dataclass's own rule between two of its settings
        raise InvalidSetting(f"{error}. Change one of the two.") from error


def _checked(kind: type[Any], values: Mapping[str, object]) -> dict[str, Any]:
    try:
        return dict(_checker(kind).model_validate(values))  # type: ignore[arg-type]  # a class is hashable
    except pydantic.ValidationError as error:
        name = str(error.errors()[0]["loc"][0])
        raise InvalidSetting(_impossible(kind, name, values.get(name))) from None


@lru_cache
def _checker(kind: type[Any]) -> type[pydantic.BaseModel]:
    """A pydantic model with the types and limits of a settings dataclass."""
    hints = get_type_hints(kind)
    fields: dict[str, Any] = {}
    for f in dataclasses.fields(kind):
        if "help" in f.metadata:
            limits = pydantic.Field(f.default, ge=f.metadata["low"], le=f.metadata["high"], allow_inf_nan=None)
            fields[f.name] = (hints[f.name], limits)
    strictness = pydantic.ConfigDict(extra="forbid")
    return pydantic.create_model(kind.__name__, __config__=strictness, **fields)


def _impossible(kind: type[Any], name: str, value: object) -> str:
    """One sentence: what was given, what is possible."""
    field = next((f for f in dataclasses.fields(kind) if f.name == name), None)
    if field is None:
        return _unknown("setting", name, [f.name for f in dataclasses.fields(kind)])
    hint = get_type_hints(kind)[name]
    if get_origin(hint) is Literal:
        possible = "one of " + ", ".join(map(str, get_args(hint)))
    elif hint is bool:
        possible = "true or false"
    else:
        sort = "a whole number" if hint is int else "a number"
        possible = f"{sort} from {field.metadata['low']:g} to {field.metadata['high']:,}"
    return f"{name} = {shortened(value)} is not possible. Give {possible}."


def _unknown(what: str, name: str, known: Any) -> str:
    near = difflib.get_close_matches(name, list(known), n=3, cutoff=0.4)
    hint = f"Nearest: {', '.join(near)}." if near else f"There is {', '.join(known)}."
    return f"There is no {what} “{shortened(name)}”. {hint}"


_PARTS = ("task", "model", "optimiser")
_OWN = tuple(f.name for f in dataclasses.fields(RunConfig) if f.name not in _PARTS)
