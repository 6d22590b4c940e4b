"""The state of a page that trains models: the selected models, their shared settings, and a requested run.

`ExperimentState` is the common part. `VariantComparison` compares predefined variants with a few shared settings;
`OpenExperiment` (in `open_experiment.py`) lets the visitor change every setting of every model.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Self

from explorer.catalogue import page_title, task_row
from explorer.errors import InvalidSetting, LineageError, shorten
from explorer.experiments import labelling
from explorer.experiments.model_variant import ModelVariant
from explorer.jobs import limits
from explorer.jobs.cost import expected_seconds
from explorer.training.config import RunConfig
from explorer.ui.state.fields import PageState, setting
from explorer.ui.state.run_lookup import find_config

SHORT_SECONDS = 15.0  # of the training that a page offers beside its results; a busy machine takes longer


@dataclass(frozen=True)
class ExperimentState(PageState):
    """The selected models, and a run that the URL of any page may request by name. A subclass adds their settings."""

    MODELS_FIELD: ClassVar[str] = "who"  # the field with the names of the selected models; empty if they are fixed
    TASKS: ClassVar[tuple[str, ...]] = ()  # tasks whose runs the page shows

    run: str = setting("")  # the key of a requested run

    @property
    def possible_models(self) -> Iterable[str]:
        """The names of the models that can be selected, in their order."""
        raise NotImplementedError

    @property
    def selected_models(self) -> tuple[str, ...]:
        """The names of the selected models."""
        possible = set(self.possible_models)
        return tuple(name for name in getattr(self, self.MODELS_FIELD) if name in possible)

    def config(self, name: str) -> RunConfig:
        """Return the configuration of one model. Raises InvalidSetting."""
        raise NotImplementedError

    @cached_property
    def configs(self) -> dict[str, RunConfig]:
        """The configuration of each selected model. Raises InvalidSetting."""
        return {name: self.config(name) for name in self.selected_models}

    def check_limits(self) -> Self:
        """Return the state if its configurations are within the limits of this server. Raises InvalidSetting."""
        for config in self.configs.values():
            limits.check_size(config)
        return self

    def with_at_most(self, name: str, most: int) -> Self:
        """Return the state with a setting of all models (as in `limits.REDUCIBLE`) at most so large.

        Raises InvalidSetting, also if the page cannot change it.
        """
        raise InvalidSetting(f"This page cannot change {name}.")

    def nearest_allowed(self) -> Self | None:
        """Return the state with the fewest settings lowered that this server trains, first the seeds; None without."""
        names = sorted(limits.REDUCIBLE, key=lambda name: name.startswith("model."))  # the models last
        return self._lower(names, lambda state: not any(map(limits.describe_excess, state.configs.values())))

    @cached_property
    def short(self) -> Self:
        """The state with fewer seeds and steps, which trains for `SHORT_SECONDS` on one core; itself if it does.

        The number of cores is fixed, so that all visitors of a server train the same runs, once.
        """

        def is_short(state: Self) -> bool:
            return sum(expected_seconds(config, on_cores=1) for config in state.configs.values()) <= SHORT_SECONDS

        return self if is_short(self) else self._lower(("replicas", "iterations", "epochs"), is_short) or self

    def _lower(self, names: Iterable[str], fits: Callable[[Self], bool]) -> Self | None:
        """Return the state with one of these settings lowered until it fits, with one seed if that is not enough."""
        state = self

        def allows(name: str, value: int) -> bool:
            try:
                return fits(state.with_at_most(name, value))
            except LineageError:
                return False

        for name in names:
            given = max(limits.read_setting(config, name) for config in state.configs.values())
            if given > 1 and (most := limits.largest_value(given, partial(allows, name))):
                digits = max(0, len(str(most)) - 2)  # an estimate is good to about two digits
                return state.with_at_most(name, most // 10**digits * 10**digits)
            if name == "replicas":
                with suppress(InvalidSetting):
                    state = state.with_at_most(name, 1)
        return None

    def with_models(self, names: Iterable[str]) -> Self:
        """Return the state with these models in their order; unchanged if there is none. Raises InvalidSetting."""
        wanted = set(names)
        selected = tuple(name for name in self.possible_models if name in wanted)
        if not selected:
            return self
        declared = next(each for each in dataclasses.fields(self) if each.name == self.MODELS_FIELD)
        declared.metadata.get("check", lambda _: None)(selected)
        changes: dict[str, Any] = {self.MODELS_FIELD: selected}
        return replace(self, **changes).check_limits()

    @classmethod
    def requested_run(cls, run: str, visitor_id: str = "") -> RunConfig:
        """Return the configuration of a run that this page can show. Raises UnknownRun, DamagedRun, InvalidSetting."""
        config = find_config(run, visitor_id)
        task = task_row(config.task)
        if task.name not in cls.TASKS:
            raise InvalidSetting(
                f"Run {shorten(run)} stands on another page: {page_title(task.page)}, /{task.page}?run={run}."
            )
        return config


@dataclass(frozen=True)
class VariantComparison(ExperimentState):
    """Predefined variants that learn one task with shared settings; 0 in `steps` or `rate` is the default of each.

    A subclass adds `who` (the names of the variants), `rate` (the learning rate) if it can be changed, the settings of
    the task, and the views of its page.
    """

    RESET: ClassVar[tuple[str, ...]] = ()  # further fields that `reset` restores

    seeds: int = setting(8, "Seeds", low=1, high=16, step=1)
    seed: int = setting(0, "First seed", low=0, high=2**31 - 1, step=1)
    steps: int = setting(0, "Steps (0: as usual)", low=0, high=1_000_000)

    @property
    def choices(self) -> Mapping[str, ModelVariant]:
        """The variants that can be selected, by name."""
        raise NotImplementedError

    @property
    def possible_models(self) -> Iterable[str]:
        return self.choices

    @property
    def task_name(self) -> str:
        """The name of the task that the variants learn."""
        return self.TASKS[0]

    @property
    def task_fields(self) -> tuple[str, ...]:
        """The fields that are settings of the task."""
        return ()

    @property
    def _training_settings(self) -> set[str]:
        """The fields that the configurations of all variants depend on."""
        return {"seeds", "seed", "steps", "rate", *self.task_fields}

    @property
    def shared_settings(self) -> dict[str, object]:
        """The settings that all variants share."""
        training = {
            "replicas": self.seeds,
            "seed": self.seed,
            "learning_rate": getattr(self, "rate", 0.0),
            "iterations": self.steps,
        }
        return {
            **{name: value for name, value in training.items() if value},
            **{name: getattr(self, name) for name in self.task_fields},
        }

    @cached_property
    def variants(self) -> dict[str, ModelVariant]:
        """The selected variants by name; a requested run is added if it is none of them."""
        variants = {name: self.choices[name] for name in self.selected_models}
        return variants | {self.run: self.variant_of_run()} if self.run else variants

    def variant_of_run(self) -> ModelVariant:
        """Return the requested run as a variant."""
        raise NotImplementedError

    def config(self, name: str) -> RunConfig:
        return self.choices[name].config(self.task_name, **self.shared_settings)

    @cached_property
    def configs(self) -> dict[str, RunConfig]:
        """The configuration of each variant and of the requested run. Raises InvalidSetting."""
        configs = {name: self.config(name) for name in self.selected_models}
        return configs | {self.run: find_config(self.run)} if self.run else configs

    def with_settings(self, **settings: Any) -> Self:
        """Return the state with other settings and without a requested run. Raises InvalidSetting."""
        return replace(self, **{"run": "", **settings}).check_limits()

    def with_at_most(self, name: str, most: int) -> Self:
        last = name.rpartition(".")[2]
        field = {"replicas": "seeds", "iterations": "steps"}.get(last, last)
        if field not in {"seeds", "steps", *self.task_fields}:
            return super().with_at_most(name, most)
        return self.with_settings(**{field: min(most, getattr(self, field) or most)})

    def with_field(self, name: str, value: Any) -> Self:
        if name == self.MODELS_FIELD:
            return self.with_models(value)
        return (
            self.with_settings(**{name: value}) if name in self._training_settings else super().with_field(name, value)
        )

    def with_run(self, visitor_id: str = "") -> Self:
        """Return the state with the settings of the requested run, which is added if needed. Raises LineageError."""
        config = self.requested_run(self.run, visitor_id)
        state = self.with_settings_of(config)
        same = [name for name, variant in state.choices.items() if variant.model == config.model_name]
        same = [name for name in same if state.config(name) == config]
        return state.with_models((*state.selected_models, *same)) if same else replace(state, run=self.run)

    def with_settings_of(self, config: RunConfig) -> Self:
        """Return the state with the settings of a run that can be changed here, and without a requested run."""
        task = {name: getattr(config.task, name) for name in self.task_fields}
        return replace(self, **{**task, "seeds": config.replicas, "seed": config.seed, "run": ""})

    def open_run(self, visitor_id: str = "") -> tuple[Self, tuple[str, ...]]:
        """Return the state with the requested run, within the limits; else the default settings. With messages."""
        selected, problems = self._with_possible_models()
        try:
            state = selected.with_run(visitor_id) if selected.run else selected
            return state.with_models(state.selected_models), problems
        except LineageError as error:
            return selected.reset().with_models(selected.selected_models), (*problems, str(error))

    def _with_possible_models(self) -> tuple[Self, tuple[str, ...]]:
        """Return the state without models that cannot be selected, and a message; the default ones if none is left."""
        if not self.MODELS_FIELD:
            return self, ()
        requested, possible = getattr(self, self.MODELS_FIELD), list(self.possible_models)
        impossible = ",".join(name for name in requested if name not in possible)
        if requested and not impossible:
            return self, ()
        problem = f"There is no “{shorten(impossible)}” on this page." if impossible else "The address names no model."
        changes: dict[str, Any] = {self.MODELS_FIELD: self.selected_models}
        state = replace(self, **changes) if self.selected_models else self.with_defaults(self.MODELS_FIELD)
        return state, (f"{problem} There is {', '.join(possible)}.",)

    def reset(self) -> Self:
        """Return the state with the default models and settings; the views of the page stay."""
        return self.with_defaults(self.MODELS_FIELD, "run", *self._training_settings, *self.RESET)


@dataclass(frozen=True)
class LabellingComparison(VariantComparison):
    """Transformers that label every position; a requested run of other settings is shown by its key alone."""

    @property
    def choices(self) -> Mapping[str, ModelVariant]:
        names = type(self)().who  # type: ignore[attr-defined]  # see the base
        return {name: labelling.VARIANTS[f"{self.task_name}-{name}"] for name in names}

    def variant_of_run(self) -> ModelVariant:
        first = next(iter(self.choices.values()))
        return first.requested_as(self.run, title=f"Run {self.run}", words=f"run {self.run}")

    def with_settings_of(self, config: RunConfig) -> Self:
        state = super().with_settings_of(config)
        default_steps = replace(state, steps=0).config(next(iter(state.choices))).steps
        return replace(state, steps=0 if config.steps == default_steps else config.steps)
