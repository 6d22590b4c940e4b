"""The state of the translation page: each field is a URL parameter."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from explorer.catalogue import TASKS, page_title, task_row
from explorer.errors import InvalidSetting, shorten
from explorer.experiments.translation import SEEDS, VARIANTS, TranslationVariant, variant_of
from explorer.jobs import limits
from explorer.tasks.seq2seq.config import TranslationConfig
from explorer.tasks.seq2seq.dates import DatesConfig
from explorer.tasks.seq2seq.digits import CopyConfig, ReverseConfig
from explorer.training.config import RunConfig, validate
from explorer.ui.state.run_lookup import find_config
from explorer.ui.training.model_input import TRANSLATION_EXAMPLES

Task = Literal["reverse", "copy", "dates"]
Look = Literal["source", "encoder", "decoder"]


def _check_models(value: object) -> None:
    names = value if isinstance(value, tuple) else ()
    for name in names:
        if name not in VARIANTS:
            raise InvalidSetting(f"There is no “{shorten(name)}” on this page. There is {', '.join(VARIANTS)}.")
    if not names:
        raise InvalidSetting(f"A race needs at least one model. There is {', '.join(VARIANTS)}.")


@dataclass(frozen=True)
class TranslationState:
    """The task, the variants that are compared, the source, and what of the results is shown."""

    task: Task = "reverse"
    who: tuple[str, ...] = field(default=tuple(VARIANTS), metadata={"check": _check_models})
    run: str = ""  # a run that the URL of any page may name
    longest: int = field(default=20, metadata={"low": 1, "high": 40})  # digits of the longest source that is trained
    rate: float = field(default=0.0, metadata={"low": 0.0, "high": 1.0})  # learning rate of all; 0: the default of each
    steps: int = field(default=0, metadata={"low": 0, "high": 1_000_000})  # of all; 0: the default of each
    seeds: int = field(default=SEEDS, metadata={"low": 1, "high": 16})
    seed: int = field(default=0, metadata={"low": 0, "high": 2**31 - 1})
    say: str = field(default="", metadata={"longest": 200})  # the source; empty: the first of the examples
    inside: str = ""  # the variant that is inspected; empty: the first with attention, or the first
    replica: int = field(default=0, metadata={"low": 0, "high": 15})
    look: Look = "source"  # which of a Transformer's three kinds of attention
    layer: int = field(default=-1, metadata={"low": -1, "high": 7})  # -1: the layer of the best head
    head: int = field(default=-1, metadata={"low": -1, "high": 15})
    at: int = field(default=-1, metadata={"low": -1, "high": 63})  # the selected decoding step; -1: none
    width: int = field(default=3, metadata={"low": 1, "high": 8})  # of the beam
    fed: int = field(default=0, metadata={"low": 0, "high": 50})  # digits of the sources of free running; 0: longest

    @property
    def variants(self) -> dict[str, TranslationVariant]:
        """The variants by name; a run that the URL names is added if it is none of them."""
        variants = {name: VARIANTS[name] for name in self.who}
        if self.run:
            each = variant_of(find_config(self.run))
            title, words = f"{each.title}, run {self.run}", f"{each.words} (run {self.run})"
            variants[self.run] = replace(
                each, name=self.run, title=title, words=words, label="this run", dash="1px,3px"
            )
        return variants

    @property
    def source(self) -> str:
        """The source: the typed one, or the first example."""
        return self.say or TRANSLATION_EXAMPLES[self.task][0]

    @property
    def shared_settings(self) -> dict[str, object]:
        """The settings of all variants that differ from the defaults."""
        return {
            "replicas": self.seeds,
            "seed": self.seed,
            **({"longest": self.longest} if self.task != "dates" else {}),
            **({"learning_rate": self.rate} if self.rate else {}),
            **({"iterations": self.steps} if self.steps else {}),
        }

    @property
    def configs(self) -> dict[str, RunConfig]:
        """The run configuration of each variant. Raises InvalidSetting."""
        configs = {name: VARIANTS[name].config(self.task, **self.shared_settings) for name in self.who}
        return configs | {self.run: find_config(self.run)} if self.run else configs

    @property
    def task_config(self) -> TranslationConfig:
        """The configuration of the task."""
        value = {} if self.task == "dates" else {"longest": self.longest}
        config: TranslationConfig = validate(TASKS[self.task].config, value)
        return config

    def check_limits(self) -> TranslationState:
        """Return the state itself. Raises InvalidSetting if this server does not train what it asks for."""
        for config in self.configs.values():
            limits.check(config)
        return self

    def with_task(self, task: Task) -> TranslationState:
        """Return the state for another task, with its default source and training."""
        other = replace(self, task=task, say="", at=-1, steps=0, rate=0.0, run="")
        return self if task == self.task else other.check_limits()

    def with_models(self, names: Iterable[str]) -> TranslationState:
        """Return the state with other variants in the order of the catalogue, or unchanged for none."""
        selected = set(names)
        who = tuple(name for name in VARIANTS if name in selected)
        return replace(self, who=who, inside=self.inside if self.inside in who else "").check_limits() if who else self

    def with_source(self, text: str) -> TranslationState:
        """Return the state for another source, without a selected step."""
        return replace(self, say="" if text == TRANSLATION_EXAMPLES[self.task][0] else text, at=-1)

    def with_settings(self, **task_config: Any) -> TranslationState:
        """Return the state with other settings and without a run that the URL named. Raises InvalidSetting."""
        return replace(self, **{"run": "", **task_config}).check_limits()

    def with_run(self, visitor_id: str = "") -> TranslationState:
        """Return the comparison that contains the run that the URL names. Raises LineageError."""
        config, name = find_config(self.run, visitor_id), self.run
        row = task_row(config.task)
        if not isinstance(config.task, ReverseConfig | CopyConfig | DatesConfig):
            raise InvalidSetting(
                f"Run {shorten(name)} stands on another page: {page_title(row.page)}, /{row.page}?run={name}."
            )
        own = {"seeds": config.replicas, "seed": config.seed, "longest": getattr(config.task, "longest", self.longest)}
        state = replace(self.with_task(row.name), **own, run="")  # type: ignore[arg-type]  # one of the three tasks
        variant = variant_of(config)
        if variant.config(state.task, **state.shared_settings) == config:
            return state.with_models((*state.who, variant.name))
        return replace(state, run=name)

    def reset(self) -> TranslationState:
        """Return the default comparison of the same task and source."""
        return TranslationState(task=self.task, say=self.say, inside=self.inside, width=self.width)
