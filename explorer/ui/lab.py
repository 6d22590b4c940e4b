"""What a visitor of a page that trains models has chosen, and how an address says it.

A lab is of one task: `negation_lab.py` and `text_lab.py` say what can be set and looked at there. The address holds
exactly what differs from the page's usual settings, each by its own name
(`?p_not=0.5&say=human+destroy+nature&rnn.hidden=12`), so a link can be read and stays short. Everything in an address
is checked on the way in: a bad part is named in one sentence and the rest is kept.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar, TypeVar

from explorer.catalogue import MODELS, models_of, page_title, task_row
from explorer.errors import InvalidSetting, LineageError, shortened
from explorer.training import limits
from explorer.training.config import RunConfig, changed, default
from explorer.ui.known import config_of

LONGEST_IN_ADDRESS = 300  # characters of one part that is no setting; a longer one stays on the page only


@dataclass(frozen=True)
class Lab:
    """Models that learn one task side by side. `shared` and `own` hold only what differs from the usual.

    A subclass says which task it is, and adds fields for whatever else is on its screen.
    """

    TASK: ClassVar[str]
    SHARED: ClassVar[tuple[str, ...]]  # settings that all models have together
    OWN: ClassVar[tuple[str, ...]]  # settings of each model, besides its sizes

    models: tuple[str, ...] = ()
    shared: Mapping[str, object] = field(default_factory=dict)
    own: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    run: str = ""  # the key of a run that was asked for by name
    asked: RunConfig | None = None  # its configuration; it may hold more than this page can set

    @classmethod
    def racers(cls) -> tuple[str, ...]:
        """The models that learn this task, in the order of their years."""
        return models_of(cls.TASK)

    @classmethod
    def own_settings(cls, model: str) -> tuple[str, ...]:
        """What can be set for one model alone."""
        return (*(f.name for f in dataclasses.fields(MODELS[model].variants[cls.TASK].config)), *cls.OWN)

    @classmethod
    def usual(cls, model: str) -> Mapping[str, object]:
        """How this page trains a model unless somebody says otherwise, where that is not as released."""
        return {}

    def applies(self, name: str, model: str) -> bool:
        """Whether a setting means anything to a model, as the others stand."""
        return True

    def fitted(self) -> Lab:
        """The same, with every choice of what to look at inside what these settings have."""
        return self

    def with_view(self, name: str, text: str) -> Lab:
        """One part of an address that is no setting of a run. Raises InvalidSetting."""
        raise unknown_view(name)

    @classmethod
    def views(cls) -> tuple[str, ...]:
        """What is on the screen besides the runs: the names of a subclass's own fields."""
        own = {f.name for f in dataclasses.fields(cls)} - {f.name for f in dataclasses.fields(Lab)}
        return tuple(f.name for f in dataclasses.fields(cls) if f.name in own and f.metadata.get("address", True))

    def config(self, model: str) -> RunConfig:
        """The run of one model under these settings; the run that was asked for, while they are still its own."""
        chosen = {**self.usual(model), **self.shared, **self.own.get(model, {})}
        made = _made(self.TASK, model, tuple((n, v) for n, v in chosen.items() if self.applies(n, model)))
        return self.asked if self.asked and made == self._plain(self.asked) else made

    def _plain(self, config: RunConfig) -> RunConfig:
        """What this page can set of a configuration; the rest as released."""
        names = (*self.SHARED, *self.own_settings(config.model_name))
        return _made(self.TASK, config.model_name, tuple((name, value_of(config, name)) for name in names))

    @cached_property
    def configs(self) -> dict[str, RunConfig]:
        """The runs of the chosen models."""
        return {model: self.config(model) for model in self.models}

    @property
    def shows_asked(self) -> bool:
        """Whether the run that was asked for is still among those of this page."""
        return self.asked is not None and self.config(self.asked.model_name) == self.asked

    def value(self, name: str, model: str | None = None) -> Any:
        """The value of a shared setting, or of one model's own."""
        return value_of(self.config(model or self.racers()[-1]), name)

    def with_shared(self: AnyLab, **values: object) -> AnyLab:
        """These settings changed for all models. Raises InvalidSetting."""
        return self.with_settings({**self.shared, **values}, self.own)

    def with_own(self: AnyLab, model: str, **values: object) -> AnyLab:
        """These settings changed for one model. Raises InvalidSetting."""
        return self.with_settings(self.shared, {**self.own, model: {**self.own.get(model, {}), **values}})

    def looking(self: AnyLab, **view: Any) -> AnyLab:
        """Another way to look at the same runs."""
        return replace(self, **view)

    def with_models(self: AnyLab, models: Iterable[str]) -> AnyLab:
        """Other models in the race, in the order of their years; at least one. Raises InvalidSetting."""
        chosen = tuple(model for model in self.racers() if model in set(models))
        if not chosen:
            raise InvalidSetting(f"A race needs at least one model. There is {', '.join(self.racers())}.")
        return replace(self, models=chosen).checked()

    def checked(self: AnyLab) -> AnyLab:
        """The same lab, if this server trains what it asks for. Raises InvalidSetting."""
        for config in self.configs.values():
            limits.check(config)
        return self

    def with_settings(self: AnyLab, shared: Mapping[str, object], own: Mapping[str, Mapping[str, object]]) -> AnyLab:
        """All settings anew, kept without what is as usual. Raises InvalidSetting."""
        usual, new = type(self)(), replace(self, shared=shared, own=own)
        kept_shared = {n: new.value(n) for n in shared if new.value(n) != usual.value(n)}
        kept_own = {
            model: {
                n: new.value(n, model)
                for n in values
                if new.applies(n, model) and new.value(n, model) != usual.value(n, model)
            }
            for model, values in own.items()
        }
        kept = replace(self, shared=kept_shared, own={m: v for m, v in kept_own.items() if v})
        for model in self.racers():
            kept.config(model)  # every model must stay possible, whichever is chosen next
        fitted = kept.checked().fitted()
        assert isinstance(fitted, type(self))
        return fitted


AnyLab = TypeVar("AnyLab", bound=Lab)


@lru_cache(maxsize=4096)
def _made(task: str, model: str, settings: tuple[tuple[str, object], ...]) -> RunConfig:
    """One page asks for the same few configurations some hundred times."""
    return changed(default(task, model), dict(settings))


def value_of(config: RunConfig, name: str) -> Any:
    for part in (config, config.model, config.optimiser, config.task):
        if hasattr(part, name):
            return getattr(part, name)
    raise KeyError(name)


def write(lab: Lab) -> dict[str, str]:
    """The address of a lab: what differs from the usual, or from the run that was asked for."""
    usual = _around(type(lab), lab.run, lab.asked) if lab.asked and lab.shows_asked else type(lab)()
    address: dict[str, str] = {"run": lab.run} if usual.run else {}
    if lab.models != usual.models:
        address["models"] = ",".join(lab.models)
    for name in lab.views():
        text = _text(getattr(lab, name))
        if getattr(lab, name) != getattr(usual, name) and len(text) <= LONGEST_IN_ADDRESS:
            address[name] = text
    if not usual.run:
        address |= {name: _text(value) for name, value in lab.shared.items()}
    for model in {**lab.own, **usual.own}:
        for name in {**lab.own.get(model, {}), **usual.own.get(model, {})}:
            if lab.value(name, model) != usual.value(name, model):
                address[f"{model}.{name}"] = _text(lab.value(name, model))
    return address


def read(kind: type[AnyLab], address: Mapping[str, str]) -> tuple[AnyLab, tuple[str, ...]]:
    """A lab from an address, and a sentence for every part of it that could not be used."""
    lab, problems = kind(), []
    if "run" in address:
        try:
            lab = of_run(kind, address["run"])
        except LineageError as error:
            problems.append(str(error))
    parts = {name: value for name, value in address.items() if name != "run"}
    settings = {name: value for name, value in parts.items() if _home(kind, name)}
    lab, refused = _as_far_as_possible(lab, settings)
    problems += refused
    for name, value in parts.items():
        if _home(kind, name):
            continue
        try:
            lab = _with_view(lab, name, value)
        except LineageError as error:
            problems.append(str(error))
    return lab, tuple(problems)


def of_run(kind: type[AnyLab], name: str) -> AnyLab:
    """The lab in which a run stands. Raises UnknownRun, DamagedRun or InvalidSetting."""
    config = config_of(name)
    learned = task_row(config.task)
    if learned.name != kind.TASK:
        raise InvalidSetting(
            f"Run {shortened(name)} stands on another page: {page_title(learned.page)}, /{learned.page}?run={name}."
        )
    return _around(kind, name, config)


def _around(kind: type[AnyLab], name: str, config: RunConfig) -> AnyLab:
    model = config.model_name
    shared = {name: value_of(config, name) for name in kind.SHARED}
    own = {name: value_of(config, name) for name in kind().own_settings(model)}
    lab = kind(run=name, asked=config)
    try:
        return lab.with_models((*lab.models, model)).with_settings(shared, {model: own})
    except InvalidSetting:  # this server would not train the others under such settings
        return lab.with_models([model]).with_settings(shared, {model: own})


def _home(kind: type[Lab], name: str) -> str | None:
    """Whose setting a part of an address is: "shared", a model's name, or nobody's."""
    if name in kind.SHARED:
        return "shared"
    model, _, setting = name.rpartition(".")
    return model if model in kind.racers() and setting in kind.own_settings(model) else None


def _as_far_as_possible(lab: AnyLab, settings: Mapping[str, str]) -> tuple[AnyLab, list[str]]:
    """All settings at once, because some are possible only with each other; where that fails, those of
    one model, and where that fails too, one at a time."""
    try:
        return _with_settings(lab, settings), []
    except LineageError as error:
        if len(settings) == 1:
            return lab, [str(error)]
    homes = list(dict.fromkeys(_home(type(lab), name) for name in settings))
    groups = [{n: v for n, v in settings.items() if _home(type(lab), n) == home} for home in homes]
    if len(groups) == 1:
        groups = [{name: value} for name, value in settings.items()]
    problems = []
    for group in groups:
        lab, refused = _as_far_as_possible(lab, group)
        problems += refused
    return lab, problems


def _with_settings(lab: AnyLab, settings: Mapping[str, str]) -> AnyLab:
    """Settings of an address taken over together. Raises InvalidSetting."""
    shared = {name: value for name, value in settings.items() if _home(type(lab), name) == "shared"}
    own: dict[str, dict[str, object]] = {model: dict(values) for model, values in lab.own.items()}
    for name, value in settings.items():
        model, _, setting = name.rpartition(".")
        if model:
            own.setdefault(model, {})[setting] = value
    return lab.with_settings({**lab.shared, **shared}, own)


def _with_view(lab: AnyLab, name: str, value: str) -> AnyLab:
    """One part of an address that is no setting of a run. Raises InvalidSetting."""
    if name == "models":
        chosen = [part for part in value.split(",") if part]
        for part in chosen:
            default(lab.TASK, part)
        return lab.with_models(chosen)
    if name not in lab.views():
        raise unknown_view(name)
    viewed = lab.with_view(name, value)
    assert isinstance(viewed, type(lab))
    return viewed


def unknown_view(name: str) -> InvalidSetting:
    return InvalidSetting(f"This page has no “{shortened(name)}”; that part of the address was left out.")


def index(name: str, value: str, most: int) -> int:
    """A place in a list of so many, from an address. Raises InvalidSetting."""
    if value.isascii() and value.isdigit() and len(value) < 9 and int(value) < most:
        return int(value)
    raise InvalidSetting(f"{name} = {shortened(value)} is not possible. Give a whole number from 0 to {most - 1}.")


def one_of(name: str, value: str, possible: Iterable[str]) -> str:
    """One of a few words, from an address. Raises InvalidSetting."""
    known = list(possible)
    if value in known:
        return value
    raise InvalidSetting(f"{name} = {shortened(value)} is not possible. Give {' or '.join(known)}.")


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
