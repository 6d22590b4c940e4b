"""The form of the search for good settings: what can be searched, and the sweeps that the choices mean."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import get_args, get_type_hints

from explorer.catalogue import TASKS, models_of
from explorer.errors import InvalidSetting
from explorer.experiments.run_names import setting_label
from explorer.labs.compare.state import Comparison
from explorer.sweeps.space import Sweep, format_value, make_sweep
from explorer.training.config import RunConfig, default_config, setting_declaration, setting_value

MOST_SETTINGS = 4  # that a form searches
MOST_SWEEPS = 4  # that a page shows
_FIRST = ("learning_rate", "width", "hidden", "layers", "heads", "batch_size", "method", "schedule")
_NOT_OFFERED = {"seed", "replicas", "threads", "snapshots", "sample", "evaluation_size", "evaluate_every", "order"} | {
    "text",
    "corpus",
}
_FACTORS = (1 / 3, 1.0, 3.0)  # of the default value, of which the proposed values are made


def possible_models(task: str) -> dict[str, str]:
    """Return the titles of the models of a task that learn in steps, by name."""
    trained = {name: default_config(task, name) for name in models_of(task)} if task in TASKS else {}
    return {name: config.title for name, config in trained.items() if config.steps > 1}


def chosen_models(state: Comparison) -> tuple[str, ...]:
    """Return the chosen models that the chosen task has; the first two of the task if there are none."""
    possible = possible_models(state.sweep_task)
    return tuple(name for name in state.sweep_models if name in possible)[:MOST_SWEEPS] or tuple(possible)[:2]


def searchable_settings(task: str, models: Sequence[str]) -> dict[str, str]:
    """Return the labels of the settings that all these models have, by name; the most usual ones first."""
    configs = [default_config(task, model) for model in models]
    names = [set(_setting_names(config)) for config in configs]
    if not names:
        return {}
    shared = set.intersection(*names) - _NOT_OFFERED - {"epochs" if configs[0].iterations else "iterations"}
    order = [*(name for name in _FIRST if name in shared), *sorted(shared - set(_FIRST))]
    labels = {name: setting_label(name, configs[0]) for name in order}
    return {name: label[:1].upper() + label[1:] for name, label in labels.items()}


def parse_space(text: str) -> dict[str, str]:
    """Return the values of each setting as text, from “learning_rate=0.001,0.003;width=8,16”."""
    found = {}
    for part in text.split(";")[:MOST_SETTINGS]:
        name, _, values = part.partition("=")
        if name.strip():
            found[name.strip()] = values.strip()
    return found


def chosen_space(state: Comparison) -> dict[str, str]:
    """Return the values of each chosen setting that the chosen models have, as text."""
    possible = searchable_settings(state.sweep_task, chosen_models(state))
    return {name: values for name, values in parse_space(state.sweep_space).items() if name in possible}


def write_space(space: Mapping[str, str]) -> str:
    """Return the text of `parse_space`; separators in the values of a visitor are left out."""
    return ";".join(f"{name}={values.replace(';', ',').replace('=', '')}" for name, values in space.items())


def with_settings_searched(state: Comparison, names: Sequence[str]) -> Comparison:
    """Return the state in which these settings are searched; new ones have proposed values."""
    before = parse_space(state.sweep_space)
    space = {name: before.get(name) or propose_values(state, name) for name in names}
    return dataclasses.replace(state, sweep_space=write_space(space))


def with_values(name: str, state: Comparison, values: str) -> Comparison:
    """Return the state in which a setting has these values."""
    return dataclasses.replace(state, sweep_space=write_space(parse_space(state.sweep_space) | {name: values}))


def with_task(state: Comparison, task: str) -> Comparison:
    """Return the state with another task, and with models and settings that it has."""
    state = dataclasses.replace(state, sweep_task=task)
    state = dataclasses.replace(state, sweep_models=chosen_models(state))
    return with_settings_searched(state, list(chosen_space(state)) or ["learning_rate"])


def propose_values(state: Comparison, name: str) -> str:
    """Return values around the default one, or all options."""
    config = default_config(state.sweep_task, chosen_models(state)[0])
    declared, default = setting_declaration(config, name), setting_value(config, name)
    parts = (config, config.task, config.model, config.optimiser)
    owner = next(part for part in parts if name in part.__dataclass_fields__)
    options = get_args(get_type_hints(type(owner))[name])
    if options or isinstance(default, bool):
        return ",".join(map(str, options or ("false", "true")))
    low, high = declared.metadata["low"], declared.metadata["high"]
    values = [min(max(default * factor, low), high) for factor in _FACTORS] if default else [low, (low + high) / 10]
    rounded = [max(round(value), low) if isinstance(default, int) else float(f"{value:.1g}") for value in values]
    return ",".join(format_value(value) for value in dict.fromkeys(rounded))


def chosen_sweeps(state: Comparison) -> dict[str, Sweep]:
    """Return the sweep of each chosen model, by model. Raises InvalidSetting, which names the model."""
    if not (space := chosen_space(state)):
        raise InvalidSetting("Choose at least one setting to search, and its values.")
    found = {}
    for model in chosen_models(state):
        try:
            found[model] = make_sweep(
                default_config(state.sweep_task, model),
                space,
                seeds=state.sweep_seeds,
                search=state.sweep_search,
                number=state.sweep_trials if state.sweep_search == "random" else None,
                halving=state.sweep_halving,
            )
        except InvalidSetting as error:
            raise InvalidSetting(f"{possible_models(state.sweep_task)[model]}: {error}") from error
    return found


def _setting_names(config: RunConfig) -> list[str]:
    """Return the names of the settings of a run that one section alone has."""
    names = [
        declared.name
        for part in (config, config.task, config.model, config.optimiser)
        for declared in dataclasses.fields(part)
        if "help" in declared.metadata
    ]
    return [name for name in names if names.count(name) == 1]
