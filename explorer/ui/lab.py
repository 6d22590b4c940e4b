"""What a visitor of the negation lab has chosen, and how an address says it.

The address holds exactly what differs from the defaults, each setting by its own name
(`?p_not=0.5&say=human+destroy+nature&rnn.hidden=12`), so a link can be read and stays short. Everything
in an address is checked on the way in: a bad part is named in one sentence and the rest is kept.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, Literal

from explorer.catalogue import MODELS, models_of
from explorer.errors import InvalidSetting, LineageError, shortened
from explorer.tasks.negation import NegationConfig
from explorer.training import limits
from explorer.training.config import Optimiser, RunConfig, changed, default
from explorer.ui.known import config_of

LEADS = ("bag_of_words", "feedforward", "rnn", "transformer")
LONGEST_IN_ADDRESS = 300  # characters of a sentence; a longer one stays in its box only
SHARED = (*(f.name for f in dataclasses.fields(NegationConfig)), "batch_size", "seed", "replicas")
RACERS = models_of("negation")
OWN = ("epochs", "learning_rate")  # of each model, besides its sizes
USUAL: dict[str, object] = {"replicas": 8}


def own_settings(model: str) -> tuple[str, ...]:
    """What can be set for one model alone."""
    return (*(f.name for f in dataclasses.fields(MODELS[model].variants["negation"].config)), *OWN)


@dataclass(frozen=True)
class Lab:
    """Everything chosen on the negation page. `shared` and `own` hold only what differs from the defaults."""

    say: str = "human not preserve nature"
    models: tuple[str, ...] = LEADS
    shared: Mapping[str, object] = field(default_factory=dict)
    own: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    metric: Literal["accuracy", "loss"] = "accuracy"
    look: int = 0  # which replica the insides are of
    layer: int = 0
    head: int = 0
    run: str = ""  # the key of a run that was asked for by name
    asked: RunConfig | None = None  # its configuration; it may hold more than this page can set

    def config(self, model: str) -> RunConfig:
        """The run of one model under these settings; the run that was asked for, while they are still its own."""
        made = _made(model, tuple({**USUAL, **self.shared, **self.own.get(model, {})}.items()))
        return self.asked if self.asked and made == plain(self.asked) else made

    @cached_property
    def configs(self) -> dict[str, RunConfig]:
        """The runs of the chosen models."""
        return {model: self.config(model) for model in self.models}

    @property
    def task(self) -> NegationConfig:
        return self.config("bag_of_words").on(NegationConfig)

    @property
    def shows_asked(self) -> bool:
        """Whether the run that was asked for is still among those of this page."""
        return self.asked is not None and self.config(self.asked.model_name) == self.asked

    def value(self, name: str, model: str | None = None) -> Any:
        """The value of a shared setting, or of one model's own."""
        config = self.config(model or "bag_of_words")
        for part in (config, config.model, config.optimiser) if model else (config, config.task):
            if hasattr(part, name):
                return getattr(part, name)
        raise KeyError(name)

    def with_shared(self, **values: object) -> Lab:
        """These settings changed for all models. Raises InvalidSetting."""
        return self.with_settings({**self.shared, **values}, self.own)

    def with_own(self, model: str, **values: object) -> Lab:
        """These settings changed for one model. Raises InvalidSetting."""
        return self.with_settings(self.shared, {**self.own, model: {**self.own.get(model, {}), **values}})

    def saying(self, text: str) -> Lab:
        """Another sentence, kept as it was typed."""
        return replace(self, say=text)

    def looking(self, **view: Any) -> Lab:
        """Another way to look at the same runs: metric, look, layer, head."""
        return replace(self, **view)

    def reset(self) -> Lab:
        """Every setting back at its default; the sentence stays."""
        return Lab(say=self.say)

    def with_models(self, models: Iterable[str]) -> Lab:
        """Other models in the race, in the order of their years; at least one. Raises InvalidSetting."""
        chosen = tuple(model for model in RACERS if model in set(models))
        if not chosen:
            raise InvalidSetting(f"A race needs at least one model. There is {', '.join(RACERS)}.")
        return replace(self, models=chosen).checked()

    def checked(self) -> Lab:
        """The same lab, if this server trains what it asks for. Raises InvalidSetting."""
        for config in self.configs.values():
            limits.check(config)
        return self

    def with_settings(self, shared: Mapping[str, object], own: Mapping[str, Mapping[str, object]]) -> Lab:
        """All settings anew, kept without what equals the defaults. Raises InvalidSetting."""
        usual, new = Lab(), replace(self, shared=shared, own=own)
        kept_shared = {n: new.value(n) for n in shared if new.value(n) != usual.value(n)}
        kept_own = {
            model: {n: new.value(n, model) for n in values if new.value(n, model) != usual.value(n, model)}
            for model, values in own.items()
        }
        kept = replace(self, shared=kept_shared, own={m: v for m, v in kept_own.items() if v})
        for model in RACERS:
            kept.config(model)  # every model must stay possible, whichever is chosen next
        kept.checked()
        return replace(
            kept,
            look=min(self.look, kept.value("replicas") - 1),
            layer=min(self.layer, kept.value("layers", "transformer") - 1),
            head=min(self.head, kept.value("heads", "transformer") - 1),
        )


@lru_cache(maxsize=4096)
def _made(model: str, settings: tuple[tuple[str, object], ...]) -> RunConfig:
    """One page asks for the same few configurations some hundred times."""
    return changed(default("negation", model), dict(settings))


def plain(config: RunConfig) -> RunConfig:
    """What this page can set of a configuration; the rest as released."""
    optimiser = Optimiser(learning_rate=config.optimiser.learning_rate)
    usual = {name: getattr(RunConfig, name) for name in ("threads", "order", "snapshots", "branch")}
    return dataclasses.replace(config, optimiser=optimiser, **usual)


def write(lab: Lab) -> dict[str, str]:
    """The address of a lab: what differs from the defaults, or from the run that was asked for."""
    usual = _around(lab.run, lab.asked) if lab.asked and lab.shows_asked else Lab()
    address: dict[str, str] = {"run": lab.run} if usual.run else {}
    if lab.say != usual.say and len(lab.say) <= LONGEST_IN_ADDRESS:
        address["say"] = lab.say
    if lab.models != usual.models:
        address["models"] = ",".join(lab.models)
    for name in ("metric", "look", "layer", "head"):
        if getattr(lab, name) != getattr(usual, name):
            address[name] = _text(getattr(lab, name))
    if not usual.run:
        address |= {name: _text(value) for name, value in lab.shared.items()}
    for model in {**lab.own, **usual.own}:
        for name in {**lab.own.get(model, {}), **usual.own.get(model, {})}:
            if lab.value(name, model) != usual.value(name, model):
                address[f"{model}.{name}"] = _text(lab.value(name, model))
    return address


def read(address: Mapping[str, str]) -> tuple[Lab, tuple[str, ...]]:
    """A lab from an address, and a sentence for every part of it that could not be used."""
    lab, problems = Lab(), []
    if "run" in address:
        try:
            lab = of_run(address["run"])
        except LineageError as error:
            problems.append(str(error))
    parts = {name: value for name, value in address.items() if name != "run"}
    settings = {name: value for name, value in parts.items() if _home(name)}
    lab, refused = _as_far_as_possible(lab, settings)
    problems += refused
    for name, value in parts.items():
        if _home(name):
            continue
        try:
            lab = _with_view(lab, name, value)
        except LineageError as error:
            problems.append(str(error))
    return lab, tuple(problems)


def of_run(name: str) -> Lab:
    """The settings of a run. Raises UnknownRun, DamagedRun or InvalidSetting."""
    config = config_of(name)
    return _around(name, config)


def _around(name: str, config: RunConfig) -> Lab:
    """The lab in which a run stands."""
    model = config.model_name
    shared = {**dataclasses.asdict(config.task), **{n: getattr(config, n) for n in ("batch_size", "seed", "replicas")}}
    own = {
        **dataclasses.asdict(config.model),
        "epochs": config.epochs,
        "learning_rate": config.optimiser.learning_rate,
    }
    lab = Lab(run=name, asked=config)
    try:
        return lab.with_models((*LEADS, model)).with_shared(**shared).with_own(model, **own)
    except InvalidSetting:  # this server would not train the others under such settings
        return lab.with_models([model]).with_shared(**shared).with_own(model, **own)


def _home(name: str) -> str | None:
    """Whose setting a part of an address is: "shared", a model's name, or nobody's."""
    if name in SHARED:
        return "shared"
    model, _, setting = name.rpartition(".")
    return model if model in RACERS and setting in own_settings(model) else None


def _as_far_as_possible(lab: Lab, settings: Mapping[str, str]) -> tuple[Lab, list[str]]:
    """All settings at once, because some are possible only with each other; where that fails, those of
    one model, and where that fails too, one at a time."""
    try:
        return _with_settings(lab, settings), []
    except LineageError as error:
        if len(settings) == 1:
            return lab, [str(error)]
    homes = list(dict.fromkeys(_home(name) for name in settings))
    groups = [{n: v for n, v in settings.items() if _home(n) == home} for home in homes]
    if len(groups) == 1:
        groups = [{name: value} for name, value in settings.items()]
    problems = []
    for group in groups:
        lab, refused = _as_far_as_possible(lab, group)
        problems += refused
    return lab, problems


def _with_settings(lab: Lab, settings: Mapping[str, str]) -> Lab:
    """Settings of an address taken over together. Raises InvalidSetting."""
    shared = {name: value for name, value in settings.items() if _home(name) == "shared"}
    own: dict[str, dict[str, object]] = {model: dict(values) for model, values in lab.own.items()}
    for name, value in settings.items():
        model, _, setting = name.rpartition(".")
        if model:
            own.setdefault(model, {})[setting] = value
    return lab.with_settings({**lab.shared, **shared}, own)


def _with_view(lab: Lab, name: str, value: str) -> Lab:
    """One part of an address that is no setting of a run. Raises InvalidSetting."""
    match name:
        case "say":
            return replace(lab, say=value)
        case "models":
            chosen = [part for part in value.split(",") if part]
            for part in chosen:
                default("negation", part)
            return lab.with_models(chosen)
        case "metric":
            if value not in ("accuracy", "loss"):
                raise InvalidSetting(f"metric = {shortened(value)} is not possible. Give accuracy or loss.")
            return replace(lab, metric="loss" if value == "loss" else "accuracy")
        case "look":
            return replace(lab, look=_index(name, value, lab.value("replicas")))
        case "layer" | "head":
            most = lab.value("layers" if name == "layer" else "heads", "transformer")
            return lab.looking(**{name: _index(name, value, most)})
    raise InvalidSetting(f"This page has no “{shortened(name)}”; that part of the address was left out.")


def _index(name: str, value: str, most: int) -> int:
    if value.isascii() and value.isdigit() and len(value) < 9 and int(value) < most:
        return int(value)
    raise InvalidSetting(f"{name} = {shortened(value)} is not possible. Give a whole number from 0 to {most - 1}.")


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
