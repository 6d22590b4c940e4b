"""The state of the memory page: each field is a URL parameter."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from explorer.catalogue import page_title, task_row
from explorer.errors import InvalidSetting, shorten
from explorer.experiments.recall import DEFAULT_VARIANTS, SEEDS, VARIANTS, RecallVariant, variant_of
from explorer.jobs import limits
from explorer.tasks.recall import RecallConfig
from explorer.tasks.string import StringConfig
from explorer.training.config import RunConfig
from explorer.ui.state.run_lookup import find_config
from explorer.ui.wording import number_word

MAX_MODELS = 8  # lines that can be told apart
ALPHABET = "abcdefghijklmnopqrstuvwxyz"  # the symbols
MAX_SEQUENCE_LENGTH = 200  # symbols
Sweep = Literal["starts", "rates"]
StringModel = Literal["rnn", "lstm", "gru"]  # of the string section


def _check_models(value: object) -> None:
    names = value if isinstance(value, tuple) else ()
    for name in names:
        if name not in VARIANTS:
            raise InvalidSetting(f"There is no “{shorten(name)}” on this page. There is {', '.join(VARIANTS)}.")
    if len(names) > MAX_MODELS:
        raise InvalidSetting(
            f"At most {number_word(MAX_MODELS)} can race, and these are {len(names)}: take one away first."
        )
    if not names:
        raise InvalidSetting(f"Nobody races: name one to {MAX_MODELS}.")


def _check_sequence(value: object) -> None:
    text = str(value)
    if len(text) > MAX_SEQUENCE_LENGTH:
        raise InvalidSetting(
            f"A sequence to look into has at most {MAX_SEQUENCE_LENGTH} symbols; this one has {len(text):,}. "
            "Shorten it."
        )


@dataclass(frozen=True)
class MemoryState:
    """The variants that are compared, their task, and what of the results is shown."""

    who: tuple[str, ...] = field(default=DEFAULT_VARIANTS, metadata={"check": _check_models})
    run: str = ""  # a run that the URL of any page may name
    length: int = field(default=50, metadata={"low": 1, "high": 1_000_000})
    symbols: int = field(default=2, metadata={"low": 2, "high": 26})
    rate: float = field(default=0.0, metadata={"low": 0.0, "high": 1.0})  # learning rate of all; 0: the default of each
    steps: int = field(default=0, metadata={"low": 0, "high": 1_000_000})  # of all; 0: the default of each
    seeds: int = field(default=SEEDS, metadata={"low": 1, "high": 32})
    seed: int = field(default=0, metadata={"low": 0, "high": 2**31 - 1})
    sweep: Sweep = "starts"
    at: int = field(default=-1, metadata={"low": -1, "high": 1_000_000})  # the selected training step; -1: the last
    inside: str = ""  # the variant whose gates are shown; empty: the first with gates
    replica: int = field(default=0, metadata={"low": 0, "high": 31})
    say: str = field(default="", metadata={"check": _check_sequence})  # the sequence; empty: a random one
    gain: float = field(default=1.0, metadata={"low": 0.5, "high": 3.0})
    text: str = field(default="abca abca abca ", metadata={"longest": 200})  # of the character model
    text_model: StringModel = "rnn"
    text_seed: int = field(default=0, metadata={"low": 0, "high": 7})  # whose text is shown

    @property
    def variants(self) -> dict[str, RecallVariant]:
        """The variants by name; a run that the URL names is added if it is none of them."""
        variants = {name: VARIANTS[name] for name in self.who}
        if self.run:
            each = variant_of(find_config(self.run))
            words, label = f"{each.words} (run {self.run})", "this run"
            title = f"{each.title}, run {self.run}"
            variants[self.run] = replace(each, name=self.run, title=title, words=words, label=label, dash="1px,3px")
        return variants

    @property
    def shared_settings(self) -> dict[str, object]:
        """The settings of all variants that differ from the defaults."""
        return {
            "length": self.length,
            "symbols": self.symbols,
            "replicas": self.seeds,
            "seed": self.seed,
            **({"learning_rate": self.rate} if self.rate else {}),
            **({"iterations": self.steps} if self.steps else {}),
        }

    @property
    def configs(self) -> dict[str, RunConfig]:
        """The run configuration of each variant. Raises InvalidSetting."""
        configs = {name: VARIANTS[name].config(**self.shared_settings) for name in self.who}
        return configs | {self.run: find_config(self.run)} if self.run else configs

    @property
    def task(self) -> RecallConfig:
        """The task of all variants."""
        return RecallConfig(self.length, self.symbols)

    def check_limits(self) -> MemoryState:
        """Return the state itself. Raises InvalidSetting if this server does not train what it asks for."""
        for config in self.configs.values():
            limits.check(config)
        return self

    def with_models(self, names: Iterable[str]) -> MemoryState:
        """Return the state with other variants in the order of the catalogue, or unchanged for none.

        Raises InvalidSetting.
        """
        selected = set(names)
        who = tuple(name for name in VARIANTS if name in selected)
        if not who:
            return self
        _check_models(who)
        return replace(self, who=who, inside=self.inside if self.inside in who else "").check_limits()

    def with_settings(self, **settings: Any) -> MemoryState:
        """Return the state with other settings and without a run that the URL named. Raises InvalidSetting."""
        return replace(self, **{"run": "", **settings}).check_limits()

    def with_run(self, visitor_id: str = "") -> MemoryState:
        """Return the comparison that contains the run that the URL names. Raises LineageError."""
        config = find_config(self.run, visitor_id)
        row, task, name = task_row(config.task), config.task, self.run
        if isinstance(task, StringConfig):
            return replace(self, run="", text=task.text, text_model=config.model_name)  # type: ignore[arg-type]
        if not isinstance(task, RecallConfig):
            raise InvalidSetting(
                f"Run {shorten(name)} stands on another page: {page_title(row.page)}, /{row.page}?run={name}."
            )
        own: dict[str, Any] = {
            "length": task.length,
            "symbols": task.symbols,
            "seeds": config.replicas,
            "seed": config.seed,
        }
        state = replace(self if self.task == replace(task, sequences=0) else self.reset(), **own, run="")
        variant = variant_of(config)
        if variant.config(**state.shared_settings) == config:
            return state.with_models((*state.who, variant.name))
        return replace(state, run=name)

    def reset(self) -> MemoryState:
        """Return the default comparison; what is shown of it stays."""
        unchanged = {name: getattr(self, name) for name in ("sweep", "say", "gain", "text", "text_model", "text_seed")}
        return replace(MemoryState(), **unchanged)
