"""What a visitor of the memory lab has chosen; each field is a part of the address."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from explorer.catalogue import page_title, task_row
from explorer.errors import InvalidSetting, shortened
from explorer.tasks.recall import RecallConfig
from explorer.tasks.strings import StringConfig
from explorer.training import limits
from explorer.training.config import RunConfig
from explorer.training.recall_runs import CONTESTANTS, SEEDS, USUAL, Contestant, contestant_of
from explorer.ui.findings import number
from explorer.ui.known import config_of

MOST_WHO = 8  # lines that one can still tell apart
ALPHABET = "abcdefghijklmnopqrstuvwxyz"  # how symbols are written
LONGEST_TYPED = 200  # symbols
Sweep = Literal["starts", "rates"]
Speller = Literal["rnn", "lstm", "gru"]  # who learns the string


def _who(given: object) -> None:
    names = given if isinstance(given, tuple) else ()
    for name in names:
        if name not in CONTESTANTS:
            raise InvalidSetting(f"There is no “{shortened(name)}” on this page. There is {', '.join(CONTESTANTS)}.")
    if len(names) > MOST_WHO:
        raise InvalidSetting(f"At most {number(MOST_WHO)} can race, and these are {len(names)}: take one away first.")
    if not names:
        raise InvalidSetting(f"Nobody races: name one to {MOST_WHO}.")


def _typed(given: object) -> None:
    text = str(given)
    if len(text) > LONGEST_TYPED:
        raise InvalidSetting(
            f"A sequence to look into has at most {LONGEST_TYPED} symbols; this one has {len(text):,}. Shorten it."
        )


@dataclass(frozen=True)
class Memory:
    """Who races, over which sequences, and what is looked at."""

    who: tuple[str, ...] = field(default=USUAL, metadata={"check": _who})
    run: str = ""  # one more run, as any page's address may name it
    length: int = field(default=50, metadata={"low": 1, "high": 1_000_000})
    symbols: int = field(default=2, metadata={"low": 2, "high": 26})
    rate: float = field(default=0.0, metadata={"low": 0.0, "high": 1.0})  # step size of all; 0: each its usual one
    steps: int = field(default=0, metadata={"low": 0, "high": 1_000_000})  # of all; 0: each its usual number
    seeds: int = field(default=SEEDS, metadata={"low": 1, "high": 32})
    seed: int = field(default=0, metadata={"low": 0, "high": 2**31 - 1})
    sweep: Sweep = "starts"
    at: int = field(default=-1, metadata={"low": -1, "high": 1_000_000})  # step that is looked into; -1: the last
    inside: str = ""  # the contestant whose gates are shown; empty: the first that has gates
    replica: int = field(default=0, metadata={"low": 0, "high": 31})
    say: str = field(default="", metadata={"check": _typed})  # the sequence that is read; empty: one is drawn
    gain: float = field(default=1.0, metadata={"low": 0.5, "high": 3.0})
    text: str = field(default="abca abca abca ", metadata={"longest": 200})  # of the smallest language model
    text_model: Speller = "rnn"
    text_seed: int = field(default=0, metadata={"low": 0, "high": 7})  # whose writing is shown

    @property
    def contestants(self) -> dict[str, Contestant]:
        """Who races, by name; a run that was asked for stands among them where it is none of theirs."""
        found = {name: CONTESTANTS[name] for name in self.who}
        if self.run:
            each = contestant_of(config_of(self.run))
            words, label = f"{each.words} (run {self.run})", "this run"
            title = f"{each.title}, run {self.run}"
            found[self.run] = replace(each, name=self.run, title=title, words=words, label=label, dash="1px,3px")
        return found

    @property
    def shared(self) -> dict[str, object]:
        """The settings that all who race have in common, where they are not as usual."""
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
        """The run of each who races. Raises InvalidSetting."""
        found = {name: CONTESTANTS[name].config(**self.shared) for name in self.who}
        return found | {self.run: config_of(self.run)} if self.run else found

    @property
    def task(self) -> RecallConfig:
        return RecallConfig(self.length, self.symbols)

    def checked(self) -> Memory:
        """The same, if this server trains what it asks for. Raises InvalidSetting."""
        for config in self.configs.values():
            limits.check(config)
        return self

    def with_who(self, names: Iterable[str]) -> Memory:
        """Others in the race, in the order of the catalogue; with nobody nothing changes. Raises InvalidSetting."""
        chosen = set(names)
        who = tuple(name for name in CONTESTANTS if name in chosen)
        if not who:
            return self
        _who(who)
        return replace(self, who=who, inside=self.inside if self.inside in who else "").checked()

    def racing(self, **settings: Any) -> Memory:
        """Other settings of the race, of which the run that was asked for is none. Raises InvalidSetting."""
        return replace(self, **{"run": "", **settings}).checked()

    def with_run(self) -> Memory:
        """The race in which the run stands that was asked for, if it is not there yet. Raises LineageError."""
        config = config_of(self.run)
        learned, task, name = task_row(config.task), config.task, self.run
        if isinstance(task, StringConfig):
            return replace(self, run="", text=task.text, text_model=config.model_name)  # type: ignore[arg-type]
        if not isinstance(task, RecallConfig):
            raise InvalidSetting(
                f"Run {shortened(name)} stands on another page: {page_title(learned.page)}, /{learned.page}?run={name}."
            )
        own: dict[str, Any] = {
            "length": task.length,
            "symbols": task.symbols,
            "seeds": config.replicas,
            "seed": config.seed,
        }
        here = replace(self if self.task == replace(task, sequences=0) else self.reset(), **own, run="")
        racer = contestant_of(config)
        if racer.config(**here.shared) == config:
            return here.with_who((*here.who, racer.name))
        return replace(here, run=name)

    def reset(self) -> Memory:
        """The race as a newcomer finds it."""
        kept = {name: getattr(self, name) for name in ("sweep", "say", "gain", "text", "text_model", "text_seed")}
        return replace(Memory(), **kept)
