"""The configuration of a run, and its key, which names its folder, cache entry and link.

Needs neither torch nor data. Everything that comes from outside goes through `parse_config` or `with_settings`, which
validate it.
"""

from __future__ import annotations

import base64
import dataclasses
import difflib
import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import pydantic

from explorer.catalogue import MODELS, TASKS, TaskConfig, model_for_task, model_row, models_of, task_row
from explorer.errors import InvalidSetting, shorten
from explorer.models.configs import ModelConfig
from explorer.models.settings import setting

Task = TypeVar("Task")
KEY = re.compile("[a-z2-7]{12}")  # see `key`


@dataclass(frozen=True)
class Optimiser:
    """The settings of the optimiser; `optimisers.py` has the formulas. Some settings are for one method only."""

    method: Literal["adam", "sgd", "rmsprop", "muon"] = setting(
        "adam",
        "Adam (Kingma & Ba 2015; with weight decay it is AdamW), plain gradient descent, RMSProp, or Muon for the "
        "matrices between embedding and answer, with Adam for the rest.",
        label="Optimizer",
    )
    learning_rate: float = setting(3e-3, "Learning rate.", 1e-6, 1.0)
    schedule: Literal["constant", "linear", "cosine"] = setting(
        "constant", "How the learning rate changes: constant, or falling to its end, linearly or as a cosine."
    )
    warmup: int = setting(
        0, "Steps over which the learning rate first rises from zero.", 0, 10_000, label="Warm-up steps"
    )
    end: float = setting(
        0.0, "Where a schedule ends, as a share of the learning rate.", 0, 1, label="Final learning rate, as a share"
    )
    clip: float = setting(
        0.0, "Longest gradient; longer ones are shortened. 0: never.", 0, 1e6, label="Clip the gradient norm at"
    )
    weight_decay: float = setting(
        0.0, "Weight decay: the share of each weight taken off at a step, times the learning rate (decoupled).", 0, 10
    )
    momentum: float = setting(0.0, "Share of the last direction that is kept (gradient descent and Muon).", 0, 0.999)
    beta2: float = setting(
        0.999, "How slowly it follows (Adam and RMSProp).", 0, 0.99999, label="Decay of the mean square (β₂)"
    )
    matrix_rate: float = setting(
        0.02, "Learning rate of the matrices under Muon.", 1e-6, 1.0, label="Learning rate of the matrices"
    )
    rest_decay: float = setting(
        0.0, "Weight decay of what Muon leaves to Adam.", 0, 10, label="Weight decay of the rest"
    )

    def schedule_factor(self, step: int, steps: int) -> float:
        """Return the factor by which the schedule multiplies every learning rate in a step (counted from 1)."""
        left = 1 - (step - 1) / steps
        shape = {"constant": 1.0, "linear": left, "cosine": (1 - math.cos(math.pi * left)) / 2}[self.schedule]
        if self.schedule != "constant":
            shape = self.end + (1 - self.end) * shape
        return shape * min(1.0, step / (self.warmup + 1))


@dataclass(frozen=True)
class Branch:
    """The starting point of a run: a step of another run, its parent."""

    parent: str  # its key
    step: int


@dataclass(frozen=True)
class RunConfig:
    """Everything that a result depends on, and nothing else."""

    task: TaskConfig
    model: ModelConfig
    optimiser: Optimiser
    epochs: int = setting(20, "Passes over the training sentences.", 1, 2_000)
    iterations: int = setting(
        0, "Optimiser steps, where the task counts in steps and not in epochs.", 0, 1_000_000, label="Training steps"
    )
    batch_size: int = setting(64, "Sentences (or rows of tokens) in a batch.", 1, 2_048)
    seed: int = setting(
        0, "Seed of the first replica: its start and its batch order.", 0, 2**31 - 1, label="First seed"
    )
    replicas: int = setting(1, "Seeds trained side by side: seed, seed + 1, …", 1, 32, label="Seeds")
    threads: int = setting(1, "Threads of PyTorch. 1: one, and for large steps one for each idle core.", 1, 64)
    precision: Literal["float32", "bfloat16"] = setting(
        "float32", "Numbers of the matrix products; bfloat16 has 8 significant bits. Weights and sums are in float32."
    )
    order: int = setting(
        0, "Which order of batches is drawn; every seed has its own of each.", 0, 2**31 - 1, label="Batch order"
    )
    snapshots: int = setting(
        12, "How often weights are kept, ever further apart.", 2, 64, label="Snapshots of the weights"
    )
    evaluate_every: int = setting(
        0, "Steps between evaluations; 0: after each epoch.", 0, 1_000_000, label="Steps between evaluations"
    )
    evaluation_size: int = setting(
        16_384, "Tokens of each part that are read; 0: all, as at the end.", 0, 10**7, label="Tokens of an evaluation"
    )
    average: float = setting(
        0.0, "Decay of a running mean of the weights; 0: none.", 0, 0.9999, label="Decay of the averaged weights"
    )
    sample: int = setting(
        0, "Tokens of text that the model writes at each evaluation.", 0, 1_000, label="Tokens to generate"
    )
    stop_at: float = setting(
        0.0, "Ends once the validation loss is this low (nats per token). 0: never.", 0, 100, label="Stop at this loss"
    )
    patience: int = setting(
        0, "Ends after so many evaluations without a better loss. 0: never.", 0, 1_000, label="Early stopping: patience"
    )
    keep: Literal["last", "best"] = setting(
        "last", "The last weights, or for each seed those with the lowest validation loss.", label="Weights to keep"
    )
    branch: Branch | None = None

    def __post_init__(self) -> None:
        if hasattr(self.task, "train_size") == (self.iterations > 0):
            counted, other = ("epochs", "iterations = 0") if self.iterations else ("iterations", "at least 1 of them")
            raise InvalidSetting(f"Training on this task is counted in {counted}. Give {other}.")

    @property
    def title(self) -> str:
        return model_row(self.model).title

    @property
    def model_name(self) -> str:
        return model_row(self.model).name

    def task_as(self, kind: type[Task]) -> Task:
        """Return the settings of the task, as the type that the caller knows it to be."""
        assert isinstance(self.task, kind)
        return self.task

    @property
    def own_text(self) -> str:
        """The SHA-256 of the visitor's own text that the training reads; empty if it reads none."""
        return getattr(self.task, "text", "") if getattr(self.task, "corpus", "") == "own" else ""

    @property
    def seeds(self) -> range:
        """The seed of each replica."""
        return range(self.seed, self.seed + self.replicas)

    @property
    def steps_per_epoch(self) -> int:
        """Batches in an epoch; the last may be smaller. 0 if the task has no epochs."""
        return math.ceil(getattr(self.task, "train_size", 0) / self.batch_size)

    @property
    def steps(self) -> int:
        """Optimiser steps of the whole run; a branch includes those of its parent."""
        return self.iterations or self.epochs * self.steps_per_epoch

    @property
    def first_step(self) -> int:
        """Steps before this run: 0, or those of its parent."""
        return self.branch.step if self.branch else 0

    def evaluates_at(self, step: int) -> bool:
        """Whether the model is evaluated after `step` steps: at every epoch's end or every `evaluate_every` steps, at
        each snapshot, and at the end."""
        every = self.evaluate_every or self.steps_per_epoch or self.steps
        return step % every == 0 or step in self.snapshot_steps

    @cached_property
    def snapshot_steps(self) -> tuple[int, ...]:
        """The steps after which weights are saved: the first, the last, and logarithmically spaced ones between."""
        length = self.steps - self.first_step
        between = (
            {round(length ** (i / (self.snapshots - 2))) for i in range(self.snapshots - 1)}
            if self.snapshots > 2
            else ()
        )
        return tuple(sorted(self.first_step + after for after in {0, *between, length}))


def corpus_names(task: type[TaskConfig]) -> list[str]:
    """Return the included corpora of a task's setting `corpus`; empty if it has none."""
    return [name for name in get_args(get_type_hints(task).get("corpus")) if name != "own"]


def default_config(task: str, model: str) -> RunConfig:
    """Return the released configuration of a model on a task. Raises InvalidSetting."""
    if task not in TASKS:
        raise InvalidSetting(_unknown_name_message("task", task, TASKS))
    if model not in MODELS:
        raise InvalidSetting(_unknown_name_message("model", model, models_of(task)))
    return _cached_default(task, model)


@lru_cache
def _cached_default(task: str, model: str) -> RunConfig:
    model_variant = MODELS[model].by_task.get(task)
    if model_variant is None:
        raise InvalidSetting(
            f"{MODELS[model].title} cannot be trained on {TASKS[task].title}. There is {', '.join(models_of(task))}."
        )
    own = {name: value for name, value in model_variant.recipe.items() if name in _RUN_SETTINGS}
    rest = {name: value for name, value in model_variant.recipe.items() if name not in _RUN_SETTINGS}
    return RunConfig(TASKS[task].config(), model_variant.config(), Optimiser(**rest), **own)  # type: ignore[arg-type]


def to_json(config: RunConfig) -> dict[str, Any]:
    """Return the whole configuration as JSON-compatible data."""
    task, optimiser = task_row(config.task), dataclasses.asdict(config.optimiser)
    return {
        "task": {"name": task.name, "version": task.version, **dataclasses.asdict(config.task)},
        "model": {
            "name": config.model_name,
            "version": model_for_task(config.model).version,
            **dataclasses.asdict(config.model),
        },
        "optimiser": {"name": optimiser.pop("method"), **optimiser},
        **{name: getattr(config, name) for name in _RUN_SETTINGS},
        **({"branch": dataclasses.asdict(config.branch)} if config.branch else {}),
    }


def changed_settings(config: RunConfig) -> dict[str, Any]:
    """Return the settings that differ from the released ones; a name in two sections is given as `task.seed`."""
    whole = to_json(config)
    released = to_json(default_config(whole["task"]["name"], whole["model"]["name"]))
    parts = {name: value for name, value in released.items() if isinstance(value, dict)}
    different = {name: whole[name] for name in released.keys() - parts.keys() if whole[name] != released[name]}
    for part, before in parts.items():
        if part == "optimiser" and whole[part]["name"] != before["name"]:
            different["method"] = whole[part]["name"]
        for name in before.keys() - {"name", "version"}:
            if whole[part][name] != before[name]:
                sections = (name in released) + sum(name in other for other in parts.values())
                different[name if sections == 1 else f"{part}.{name}"] = whole[part][name]
    return dict(sorted(different.items()))


@lru_cache(maxsize=4096)
def key(config: RunConfig) -> str:
    """Return the key of a run: a hash of task, model and settings other than the default, as twelve characters."""
    whole = to_json(config)
    released = to_json(default_config(whole["task"]["name"], whole["model"]["name"]))
    different: dict[str, Any] = {}
    for name, value in whole.items():
        if isinstance(value, dict):
            before = released.get(name, {})
            changes = {k: v for k, v in value.items() if k in ("name", "version") or v != before.get(k)}
            different[name] = changes
        elif value != released[name]:
            different[name] = value
    text = json.dumps(different, sort_keys=True, separators=(",", ":"))
    return base64.b32encode(hashlib.sha256(text.encode()).digest())[:12].decode().lower()


def parse_config(data: object) -> RunConfig:
    """Return a configuration from JSON data, with every value validated. Raises InvalidSetting."""
    if not isinstance(data, Mapping) or not all(isinstance(data.get(part), Mapping) for part in _SECTIONS):
        raise InvalidSetting("This is not a run's configuration: it names no task, model and optimiser.")
    released = default_config(str(data["task"].get("name")), str(data["model"].get("name")))
    versions = {"task": task_row(released.task).version, "model": model_for_task(released.model).version}
    for part, version in versions.items():
        if data[part].get("version") != version:
            raise InvalidSetting(
                f"This run was made with version {shorten(data[part].get('version'))} of “{data[part]['name']}”; "
                f"this program has version {version}. Train it again."
            )
    unknown = set(data) - {*_SECTIONS, *_RUN_SETTINGS, "branch"}
    if unknown:
        raise InvalidSetting(
            _unknown_name_message("setting", sorted(unknown)[0], [*_SECTIONS, *_RUN_SETTINGS, "branch"])
        )
    changes = {name: data[name] for name in _RUN_SETTINGS if name in data}
    for part in _SECTIONS:
        changes |= {f"{part}.{k}": v for k, v in data[part].items() if k not in ("name", "version")}
    changes["optimiser.method"] = data["optimiser"].get("name")
    config = with_settings(released, changes)
    return config if data.get("branch") is None else _with_branch(config, data["branch"])


BRANCH_SETTINGS = ("learning_rate", "schedule", "warmup", "order", "epochs", "iterations", "snapshots")


def branch_from(parent: RunConfig, step: int, changes: Mapping[str, object]) -> RunConfig:
    """Return a run that continues from a step of another one, with some settings changed. Raises InvalidSetting."""
    for name in changes:
        if name not in BRANCH_SETTINGS:
            raise InvalidSetting(
                f"A branch keeps the task, the model and the seeds of its parent; {shorten(name)} cannot be changed. "
                f"There is {', '.join(BRANCH_SETTINGS)}."
            )
    return _with_branch(with_settings(parent, changes), {"parent": key(parent), "step": step})


def _with_branch(config: RunConfig, branch: object) -> RunConfig:
    if not isinstance(branch, Mapping) or set(branch) != {"parent", "step"}:
        raise InvalidSetting("A branch names its parent and a step, and nothing else.")
    parent, step = branch["parent"], branch["step"]
    if not isinstance(parent, str) or not KEY.fullmatch(parent):
        raise InvalidSetting(f"{shorten(parent)} is no run's key: a key has twelve letters and digits.")
    if not isinstance(step, int) or isinstance(step, bool) or not 0 <= step < config.steps:
        raise InvalidSetting(
            f"A branch from step {shorten(step)} is not possible. Give a whole number from 0 to "
            f"{config.steps - 1:,}, or more epochs."
        )
    return dataclasses.replace(config, branch=Branch(parent, step))


def with_settings(config: RunConfig, changes: Mapping[str, object]) -> RunConfig:
    """Return the configuration with some settings changed, also given as text. Raises InvalidSetting."""
    own: dict[str, object] = {name: getattr(config, name) for name in _RUN_SETTINGS}
    parts = {part: dataclasses.asdict(getattr(config, part)) for part in _SECTIONS}
    for name, value in changes.items():
        part, _, last = name.rpartition(".")
        sections = [p for p in parts if last in parts[p] and part in ("", p)]
        if not part and name in own:
            own[name] = value
        elif sections:
            parts[sections[0]][last] = value
        else:
            raise InvalidSetting(
                _unknown_name_message("setting", name, [*own, *(k for p in parts.values() for k in p)])
            )
    built = {part: validate(type(getattr(config, part)), values) for part, values in parts.items()}
    new = RunConfig(**built, **_validated_fields(RunConfig, own))
    return _with_branch(new, dataclasses.asdict(config.branch)) if config.branch else new


def setting_declaration(config: RunConfig, name: str) -> dataclasses.Field[Any]:
    """Return the declaration of a setting of a run, given by its name (`p_not`, or `task.p_not`). Raises KeyError."""
    return _find_setting(config, name)[0]


def setting_value(config: RunConfig, name: str) -> Any:
    """Return the value of a setting of a run, given by its name (`p_not`, or `task.p_not`). Raises KeyError."""
    return _find_setting(config, name)[1]


def _find_setting(config: RunConfig, name: str) -> tuple[dataclasses.Field[Any], Any]:
    section, _, last = name.rpartition(".")
    parts = {"": config} | {part: getattr(config, part) for part in _SECTIONS}
    for part, values in parts.items():
        if section in ("", part):
            for declared in dataclasses.fields(values):
                if declared.name == last and "help" in declared.metadata:
                    return declared, getattr(values, last)
    raise KeyError(name)


def validate(kind: type[Any], values: Mapping[str, object]) -> Any:
    """Return a settings dataclass made from untrusted values. Raises InvalidSetting, which says what is possible."""
    try:
        return kind(**_validated_fields(kind, values))
    except ValueError as error:  # a dataclass's own rule between two of its settings
        raise InvalidSetting(f"{error}. Change one of the two.") from error


def _validated_fields(kind: type[Any], values: Mapping[str, object]) -> dict[str, Any]:
    try:
        return dict(_pydantic_model(kind).model_validate(values))  # type: ignore[arg-type]  # a class is hashable
    except pydantic.ValidationError as error:
        name = str(error.errors()[0]["loc"][0])
        raise InvalidSetting(_invalid_value_message(kind, name, values.get(name))) from None


@lru_cache
def _pydantic_model(kind: type[Any]) -> type[pydantic.BaseModel]:
    """Return a pydantic model with the types and limits of a settings dataclass."""
    hints = get_type_hints(kind)
    fields: dict[str, Any] = {}
    for f in dataclasses.fields(kind):
        if "help" in f.metadata:
            limits = pydantic.Field(f.default, ge=f.metadata["low"], le=f.metadata["high"], allow_inf_nan=None)
            if f.metadata.get("pattern"):
                limits = pydantic.Field(f.default, pattern=f"^(?:{f.metadata['pattern']})$")
            fields[f.name] = (hints[f.name], limits)
    strictness = pydantic.ConfigDict(extra="forbid")
    return pydantic.create_model(kind.__name__, __config__=strictness, **fields)


def _invalid_value_message(kind: type[Any], name: str, value: object) -> str:
    """Say in one sentence which value was given and which are possible."""
    field = next((f for f in dataclasses.fields(kind) if f.name == name), None)
    if field is None:
        return _unknown_name_message("setting", name, [f.name for f in dataclasses.fields(kind)])
    hint = get_type_hints(kind)[name]
    if get_origin(hint) is Literal:
        possible = "one of " + ", ".join(map(str, get_args(hint)))
    elif hint is bool:
        possible = "true or false"
    elif hint is str:
        pattern = field.metadata["pattern"]
        possible = f"text of the form {pattern}" if pattern else "text"
    else:
        sort = "a whole number" if hint is int else "a number"
        possible = f"{sort} from {field.metadata['low']:g} to {field.metadata['high']:,}"
    return f"{name} = {shorten(value)} is not possible. Give {possible}."


def _unknown_name_message(what: str, name: str, known: Any) -> str:
    near = difflib.get_close_matches(name, list(known), n=3, cutoff=0.4)
    hint = f"Nearest: {', '.join(near)}." if near else f"There is {', '.join(known)}."
    return f"There is no {what} “{shorten(name)}”. {hint}"


_SECTIONS = ("task", "model", "optimiser")
_RUN_SETTINGS = tuple(f.name for f in dataclasses.fields(RunConfig) if "help" in f.metadata)
