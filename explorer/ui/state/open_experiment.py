"""The state of a page on which every setting of every model can be changed (negation, language models).

The URL contains exactly the settings that differ from the defaults: `?p_not=0.5&say=human+destroy&rnn.hidden=12`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, ClassVar, Self, TypeVar

from explorer.catalogue import MODELS, models_of
from explorer.errors import InvalidSetting
from explorer.training.config import RunConfig, default_config, with_settings
from explorer.ui.state.experiment_state import ExperimentState
from explorer.ui.state.fields import setting


@dataclass(frozen=True)
class OpenExperiment(ExperimentState):
    """Models that learn one task side by side. `shared` and `own` contain only settings with non-default values.

    A subclass sets the task and adds a field for each view of its page.
    """

    MODELS_FIELD: ClassVar[str] = "models"
    TASK: ClassVar[str]
    SHARED: ClassVar[tuple[str, ...]]  # settings that all models share
    OWN: ClassVar[tuple[str, ...]]  # settings of each model, besides its sizes

    models: tuple[str, ...] = setting((), "Models")
    shared: Mapping[str, object] = field(default_factory=dict, metadata={"in_url": False})
    own: Mapping[str, Mapping[str, object]] = field(default_factory=dict, metadata={"in_url": False})
    requested_config: RunConfig | None = setting(None, in_url=False)  # of `run`; the page cannot change all of it

    def __init_subclass__(cls) -> None:
        cls.TASKS = (cls.TASK,)

    @classmethod
    def model_names(cls) -> tuple[str, ...]:
        """Return the models of this task in chronological order."""
        return models_of(cls.TASK)

    @property
    def possible_models(self) -> Iterable[str]:
        return self.model_names()

    @classmethod
    def own_settings(cls, model: str) -> tuple[str, ...]:
        """Return the settings of one model that the others do not share."""
        return (*(f.name for f in dataclasses.fields(MODELS[model].by_task[cls.TASK].config)), *cls.OWN)

    @classmethod
    def owner(cls, name: str) -> str | None:
        """Return the owner of a URL parameter: "shared", a model's name, or None if it is no setting."""
        if name in cls.SHARED:
            return "shared"
        model, _, own = name.rpartition(".")
        return model if model in cls.model_names() and own in cls.own_settings(model) else None

    @classmethod
    def default_settings(cls, model: str) -> Mapping[str, object]:
        """Return the settings in which this page's defaults differ from the library's."""
        return {}

    @classmethod
    def preset_settings(cls, model: str) -> Mapping[str, object]:
        """Return the own settings of a model while none of them is named; a named one replaces all of them."""
        return {}

    def own_settings_of(self, model: str) -> Mapping[str, object]:
        """Return the own settings of a model that are not at their defaults."""
        return self.own.get(model) or self.preset_settings(model)

    def applies(self, name: str, model: str) -> bool:
        """Return whether a setting has an effect on a model, given its other settings."""
        return True

    def config(self, name: str) -> RunConfig:
        """Return the configuration of one model; the requested run's own while its settings are unchanged."""
        chosen = {**self.default_settings(name), **self.shared, **self.own_settings_of(name)}
        config = _config_with(self.TASK, name, tuple((n, v) for n, v in chosen.items() if self.applies(n, name)))
        requested = self.requested_config
        return requested if requested and config == self._settable_part(requested) else config

    def _settable_part(self, config: RunConfig) -> RunConfig:
        """Return a configuration with the settings that this page can change, and defaults for the others."""
        names = (*self.SHARED, *self.own_settings(config.model_name))
        return _config_with(self.TASK, config.model_name, tuple((name, setting_value(config, name)) for name in names))

    @property
    def shows_requested_run(self) -> bool:
        """Whether the requested run is still one of the runs of this page."""
        return (
            self.requested_config is not None and self.config(self.requested_config.model_name) == self.requested_config
        )

    def value(self, name: str, model: str | None = None) -> Any:
        """Return the value of a shared setting, or of a setting of one model."""
        return setting_value(self.config(model or self.model_names()[-1]), name)

    def with_shared(self, **values: object) -> Self:
        """Return the state with these settings changed for all models. Raises InvalidSetting."""
        return self.with_settings({**self.shared, **values}, self.own)

    def with_own(self, model: str, **values: object) -> Self:
        """Return the state with these settings changed for one model. Raises InvalidSetting."""
        return self.with_settings(self.shared, {**self.own, model: {**self.own_settings_of(model), **values}})

    def with_at_most(self, name: str, most: int) -> Self:
        last = name.rpartition(".")[2]
        if last in self.SHARED:
            return self.with_shared(**{last: min(most, self.value(last))})
        models = [m for m in self.selected_models if last in self.own_settings(m)]
        lowered = {m: {**self.own_settings_of(m), last: min(most, self.value(last, m))} for m in models}
        if last == "iterations":  # the curve of a short training has a few points, too
            every = {m: min(self.value("evaluate_every", m), most // 5 or 1) for m in models}
            lowered = {m: {**settings, "evaluate_every": every[m]} for m, settings in lowered.items()}
        return self.with_settings(self.shared, {**self.own, **lowered}) if models else super().with_at_most(name, most)

    def with_field(self, name: str, value: Any) -> Self:
        return self.with_models(value) if name == self.MODELS_FIELD else super().with_field(name, value)

    def with_models(self, names: Iterable[str]) -> Self:
        """Return the state with these models in chronological order; at least one. Raises InvalidSetting."""
        wanted = set(names)
        if wanted.isdisjoint(self.model_names()):
            raise InvalidSetting(f"A race needs at least one model. There is {', '.join(self.model_names())}.")
        return super().with_models(wanted)

    def with_settings(self, shared: Mapping[str, object], own: Mapping[str, Mapping[str, object]]) -> Self:
        """Return the state with all settings replaced, without those at their defaults. Raises InvalidSetting."""
        defaults, new = type(self)(), replace(self, shared=shared, own=own)
        kept_shared = {n: new.value(n) for n in shared if new.value(n) != defaults.value(n)}
        kept_own = {
            model: self._keep_changed(model, {n: new.value(n, model) for n in values if new.applies(n, model)})
            for model, values in own.items()
        }
        state = replace(self, shared=kept_shared, own={m: v for m, v in kept_own.items() if v})
        for model in self.model_names():
            state.config(model)  # the settings must be valid for every model that may be chosen next
        return state.check_limits().clamp()

    def _keep_changed(self, model: str, values: Mapping[str, object]) -> Mapping[str, object]:
        """Return the own settings of a model without those at their defaults; nothing if they are its preset."""
        preset = self.preset_settings(model)
        default = _config_with(self.TASK, model, tuple(self.default_settings(model).items()))
        kept = {name: value for name, value in values.items() if value != setting_value(default, name)}
        if not preset or not values:
            return kept
        if kept == preset:
            return {}
        first = tuple(preset)[-1]
        return kept or {first: setting_value(default, first)}  # the defaults, which differ from the preset

    def clamp(self) -> Self:
        """Return the state with every view field clamped to the range that these settings allow."""
        highest = {f.name: f.metadata["high"] for f in dataclasses.fields(self) if callable(f.metadata.get("high"))}
        values = {name: getattr(self, name) for name in highest}
        return replace(
            self, **{name: min(value, highest[name](self)) for name, value in values.items() if value is not None}
        )

    @classmethod
    def of_run(cls, run: str, visitor_id: str = "") -> Self:
        """Return the state that shows a run. Raises UnknownRun, DamagedRun or InvalidSetting."""
        return cls.around_run(run, cls.requested_run(run, visitor_id))

    @classmethod
    def around_run(cls, run: str, config: RunConfig) -> Self:
        """Return the state with the models and settings of a run. Raises InvalidSetting."""
        model = config.model_name
        shared = {name: setting_value(config, name) for name in cls.SHARED}
        own = {name: setting_value(config, name) for name in cls().own_settings(model)}
        state = cls(run=run, requested_config=config)
        try:
            return state.with_models((*state.models, model)).with_settings(shared, {model: own})
        except InvalidSetting:  # other models exceed the limits with these settings
            return state.with_models([model]).with_settings(shared, {model: own})

    @classmethod
    def of_url(cls, params: Mapping[str, str], visitor_id: str = "") -> Self:
        """Return the state that the other URL parameters change: the default one, or around a requested run.

        Raises UnknownRun, DamagedRun or InvalidSetting.
        """
        return cls.of_run(params["run"], visitor_id) if "run" in params else cls()

    @property
    def url_base_params(self) -> dict[str, str]:
        """The URL parameters from which `of_url` makes `url_defaults`."""
        return {"run": self.run} if self.url_defaults.run else {}

    def is_url_base_of(self, model: str) -> bool:
        """Return whether the URL names only differences from the own settings that this state has for a model."""
        return self.requested_config is not None and self.requested_config.model_name == model

    @property
    def url_defaults(self) -> Self:
        """The state that the URL describes the differences from: around the requested run while it is shown."""
        if self.requested_config and self.shows_requested_run:
            return self.around_run(self.run, self.requested_config)
        return type(self)()


AnyExperiment = TypeVar("AnyExperiment", bound=OpenExperiment)


@lru_cache(maxsize=4096)
def _config_with(task: str, model: str, settings: tuple[tuple[str, object], ...]) -> RunConfig:
    """Return a configuration with these settings; cached because a page needs the same few many times."""
    return with_settings(default_config(task, model), dict(settings))


def setting_value(config: RunConfig, name: str) -> Any:
    """Return the value of a setting of a run. Raises KeyError."""
    for part in (config, config.model, config.optimiser, config.task):
        if hasattr(part, name):
            return getattr(part, name)
    raise KeyError(name)
