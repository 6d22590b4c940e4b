"""The state of a page that trains models, and its URL parameters.

A subclass for one task (in `labs/negation/state.py`, `labs/text/state.py`) adds the settings and views of its page. The
URL contains exactly the settings that differ from the defaults (`?p_not=0.5&say=human+destroy+nature&rnn.hidden=12`).
All parameters are validated: an invalid one is reported in one sentence and the rest is kept.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar, TypeVar

from explorer.catalogue import MODELS, models_of, page_title, task_row
from explorer.errors import InvalidSetting, LineageError, shorten
from explorer.jobs import limits
from explorer.training.config import RunConfig, default_config, with_settings
from explorer.ui.state.run_lookup import find_config

MAX_URL_TEXT = 300  # characters of a view parameter; a longer value is not written to the URL


@dataclass(frozen=True)
class ExperimentState:
    """Models that learn one task side by side. `shared` and `own` contain only settings with non-default values.

    A subclass sets the task and adds a field for each view of its page.
    """

    TASK: ClassVar[str]
    SHARED: ClassVar[tuple[str, ...]]  # settings that all models share
    OWN: ClassVar[tuple[str, ...]]  # settings of each model, besides its sizes

    models: tuple[str, ...] = ()
    shared: Mapping[str, object] = field(default_factory=dict)
    own: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    run: str = ""  # the key of a run requested by name
    requested_config: RunConfig | None = None  # its configuration; the page cannot change all of it

    @classmethod
    def model_names(cls) -> tuple[str, ...]:
        """Return the models of this task in chronological order."""
        return models_of(cls.TASK)

    @classmethod
    def own_settings(cls, model: str) -> tuple[str, ...]:
        """Return the settings of one model that the others do not share."""
        return (*(f.name for f in dataclasses.fields(MODELS[model].by_task[cls.TASK].config)), *cls.OWN)

    @classmethod
    def default_settings(cls, model: str) -> Mapping[str, object]:
        """Return the settings in which this page's defaults differ from the library's."""
        return {}

    def applies(self, name: str, model: str) -> bool:
        """Return whether a setting has an effect on a model, given its other settings."""
        return True

    def clamp(self) -> ExperimentState:
        """Return the state with every view field clamped to the range that these settings allow."""
        return self

    def with_view(self, name: str, text: str) -> ExperimentState:
        """Return the state with one view parameter of the URL applied. Raises InvalidSetting."""
        raise unknown_view(name)

    @classmethod
    def views(cls) -> tuple[str, ...]:
        """Return the names of the view fields: those that a subclass adds."""
        own = {f.name for f in dataclasses.fields(cls)} - {f.name for f in dataclasses.fields(ExperimentState)}
        return tuple(f.name for f in dataclasses.fields(cls) if f.name in own and f.metadata.get("address", True))

    def config(self, model: str) -> RunConfig:
        """Return the configuration of one model; the requested run's own while its settings are unchanged."""
        chosen = {**self.default_settings(model), **self.shared, **self.own.get(model, {})}
        config = _config_with(self.TASK, model, tuple((n, v) for n, v in chosen.items() if self.applies(n, model)))
        return (
            self.requested_config
            if self.requested_config and config == self._settable_part(self.requested_config)
            else config
        )

    def _settable_part(self, config: RunConfig) -> RunConfig:
        """Return a configuration with the settings that this page can change, and defaults for the others."""
        names = (*self.SHARED, *self.own_settings(config.model_name))
        return _config_with(self.TASK, config.model_name, tuple((name, setting_value(config, name)) for name in names))

    @cached_property
    def configs(self) -> dict[str, RunConfig]:
        """The configurations of the chosen models."""
        return {model: self.config(model) for model in self.models}

    @property
    def shows_requested_run(self) -> bool:
        """Whether the requested run is still one of the runs of this page."""
        return (
            self.requested_config is not None and self.config(self.requested_config.model_name) == self.requested_config
        )

    def value(self, name: str, model: str | None = None) -> Any:
        """Return the value of a shared setting, or of a setting of one model."""
        return setting_value(self.config(model or self.model_names()[-1]), name)

    def with_shared(self: AnyExperiment, **values: object) -> AnyExperiment:
        """Return the state with these settings changed for all models. Raises InvalidSetting."""
        return self.with_settings({**self.shared, **values}, self.own)

    def with_own(self: AnyExperiment, model: str, **values: object) -> AnyExperiment:
        """Return the state with these settings changed for one model. Raises InvalidSetting."""
        return self.with_settings(self.shared, {**self.own, model: {**self.own.get(model, {}), **values}})

    def with_view_fields(self: AnyExperiment, **view: Any) -> AnyExperiment:
        """Return the state with other view fields and the same runs."""
        return replace(self, **view)

    def with_models(self: AnyExperiment, models: Iterable[str]) -> AnyExperiment:
        """Return the state with these models in chronological order; at least one. Raises InvalidSetting."""
        chosen = tuple(model for model in self.model_names() if model in set(models))
        if not chosen:
            raise InvalidSetting(f"A race needs at least one model. There is {', '.join(self.model_names())}.")
        return replace(self, models=chosen).check_limits()

    def check_limits(self: AnyExperiment) -> AnyExperiment:
        """Return the state if its configurations are within the limits of this server. Raises InvalidSetting."""
        for config in self.configs.values():
            limits.check(config)
        return self

    def with_settings(
        self: AnyExperiment, shared: Mapping[str, object], own: Mapping[str, Mapping[str, object]]
    ) -> AnyExperiment:
        """Return the state with all settings replaced, without those at their defaults. Raises InvalidSetting."""
        defaults, new = type(self)(), replace(self, shared=shared, own=own)
        kept_shared = {n: new.value(n) for n in shared if new.value(n) != defaults.value(n)}
        kept_own = {
            model: {
                n: new.value(n, model)
                for n in values
                if new.applies(n, model) and new.value(n, model) != defaults.value(n, model)
            }
            for model, values in own.items()
        }
        state = replace(self, shared=kept_shared, own={m: v for m, v in kept_own.items() if v})
        for model in self.model_names():
            state.config(model)  # the settings must be valid for every model that may be chosen next
        clamped = state.check_limits().clamp()
        assert isinstance(clamped, type(self))
        return clamped


AnyExperiment = TypeVar("AnyExperiment", bound=ExperimentState)


@lru_cache(maxsize=4096)
def _config_with(task: str, model: str, settings: tuple[tuple[str, object], ...]) -> RunConfig:
    """Return a configuration with these settings; cached because a page needs the same few many times."""
    return with_settings(default_config(task, model), dict(settings))


def setting_value(config: RunConfig, name: str) -> Any:
    for part in (config, config.model, config.optimiser, config.task):
        if hasattr(part, name):
            return getattr(part, name)
    raise KeyError(name)


def write(lab: ExperimentState) -> dict[str, str]:
    """Return the URL parameters of a state: what differs from the defaults, or from the requested run."""
    defaults = (
        _state_around_run(type(lab), lab.run, lab.requested_config)
        if lab.requested_config and lab.shows_requested_run
        else type(lab)()
    )
    params: dict[str, str] = {"run": lab.run} if defaults.run else {}
    if lab.models != defaults.models:
        params["models"] = ",".join(lab.models)
    for name in lab.views():
        text = _to_url_text(getattr(lab, name))
        if getattr(lab, name) != getattr(defaults, name) and len(text) <= MAX_URL_TEXT:
            params[name] = text
    if not defaults.run:
        params |= {name: _to_url_text(value) for name, value in lab.shared.items()}
    for model in {**lab.own, **defaults.own}:
        for name in {**lab.own.get(model, {}), **defaults.own.get(model, {})}:
            if lab.value(name, model) != defaults.value(name, model):
                params[f"{model}.{name}"] = _to_url_text(lab.value(name, model))
    return params


def read(
    kind: type[AnyExperiment], params: Mapping[str, str], visitor_id: str = ""
) -> tuple[AnyExperiment, tuple[str, ...]]:
    """Return the state of these URL parameters, and a message for each parameter that is invalid."""
    lab, problems = kind(), []
    if "run" in params:
        try:
            lab = state_of_run(kind, params["run"], visitor_id)
        except LineageError as error:
            problems.append(str(error))
    parts = {name: value for name, value in params.items() if name != "run"}
    settings = {name: value for name, value in parts.items() if _setting_owner(kind, name)}
    lab, more_problems = _apply_valid_settings(lab, settings)
    problems += more_problems
    for name, value in parts.items():
        if _setting_owner(kind, name):
            continue
        try:
            lab = _apply_view(lab, name, value)
        except LineageError as error:
            problems.append(str(error))
    return lab, tuple(problems)


def state_of_run(kind: type[AnyExperiment], name: str, visitor_id: str = "") -> AnyExperiment:
    """Return the state that shows a run. Raises UnknownRun, DamagedRun or InvalidSetting."""
    config = find_config(name, visitor_id)
    task = task_row(config.task)
    if task.name != kind.TASK:
        raise InvalidSetting(
            f"Run {shorten(name)} stands on another page: {page_title(task.page)}, /{task.page}?run={name}."
        )
    return _state_around_run(kind, name, config)


def _state_around_run(kind: type[AnyExperiment], name: str, config: RunConfig) -> AnyExperiment:
    model = config.model_name
    shared = {name: setting_value(config, name) for name in kind.SHARED}
    own = {name: setting_value(config, name) for name in kind().own_settings(model)}
    lab = kind(run=name, requested_config=config)
    try:
        return lab.with_models((*lab.models, model)).with_settings(shared, {model: own})
    except InvalidSetting:  # other models exceed the limits with these settings
        return lab.with_models([model]).with_settings(shared, {model: own})


def _setting_owner(kind: type[ExperimentState], name: str) -> str | None:
    """Return the owner of a setting in the URL: "shared", a model's name, or None if it is no setting."""
    if name in kind.SHARED:
        return "shared"
    model, _, setting = name.rpartition(".")
    return model if model in kind.model_names() and setting in kind.own_settings(model) else None


def _apply_valid_settings(lab: AnyExperiment, settings: Mapping[str, str]) -> tuple[AnyExperiment, list[str]]:
    """Apply all settings at once, because some are valid only together; if that fails, by model, then one by one."""
    try:
        return _apply_settings(lab, settings), []
    except LineageError as error:
        if len(settings) == 1:
            return lab, [str(error)]
    owners = list(dict.fromkeys(_setting_owner(type(lab), name) for name in settings))
    groups = [{n: v for n, v in settings.items() if _setting_owner(type(lab), n) == home} for home in owners]
    if len(groups) == 1:
        groups = [{name: value} for name, value in settings.items()]
    problems = []
    for group in groups:
        lab, more_problems = _apply_valid_settings(lab, group)
        problems += more_problems
    return lab, problems


def _apply_settings(lab: AnyExperiment, settings: Mapping[str, str]) -> AnyExperiment:
    """Return the state with these settings of the URL applied together. Raises InvalidSetting."""
    shared = {name: value for name, value in settings.items() if _setting_owner(type(lab), name) == "shared"}
    own: dict[str, dict[str, object]] = {model: dict(values) for model, values in lab.own.items()}
    for name, value in settings.items():
        model, _, setting = name.rpartition(".")
        if model:
            own.setdefault(model, {})[setting] = value
    return lab.with_settings({**lab.shared, **shared}, own)


def _apply_view(lab: AnyExperiment, name: str, value: str) -> AnyExperiment:
    """Return the state with one URL parameter applied that is not a setting. Raises InvalidSetting."""
    if name == "models":
        chosen = [part for part in value.split(",") if part]
        for part in chosen:
            default_config(lab.TASK, part)
        return lab.with_models(chosen)
    if name not in lab.views():
        raise unknown_view(name)
    changed = lab.with_view(name, value)
    assert isinstance(changed, type(lab))
    return changed


def unknown_view(name: str) -> InvalidSetting:
    return InvalidSetting(f"This page has no “{shorten(name)}”; that part of the address was left out.")


def parse_index(name: str, value: str, size: int) -> int:
    """Return an index below `size` from the URL. Raises InvalidSetting."""
    if value.isascii() and value.isdigit() and len(value) < 9 and int(value) < size:
        return int(value)
    raise InvalidSetting(f"{name} = {shorten(value)} is not possible. Give a whole number from 0 to {size - 1}.")


def parse_choice(name: str, value: str, possible: Iterable[str]) -> str:
    """Return a value from the URL if it is one of the possible ones. Raises InvalidSetting."""
    choices = list(possible)
    if value in choices:
        return value
    raise InvalidSetting(f"{name} = {shorten(value)} is not possible. Give {' or '.join(choices)}.")


def _to_url_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
