"""What a visitor of the translation lab has chosen; each field is a part of the address."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from explorer.catalogue import TASKS, page_title, task_row
from explorer.errors import InvalidSetting, shortened
from explorer.tasks.dates import DatesConfig
from explorer.tasks.digits import CopyConfig, ReverseConfig
from explorer.tasks.translation import TranslationConfig
from explorer.training import limits
from explorer.training.config import RunConfig, validated
from explorer.training.translation_runs import CONTESTANTS, SEEDS, Contestant, contestant_of
from explorer.ui.known import config_of

Task = Literal["reverse", "copy", "dates"]
Look = Literal["source", "encoder", "decoder"]
EXAMPLES: dict[str, tuple[str, ...]] = {
    "reverse": ("2718281828", "314159", "00000000", "12345678901234567890", "9876543210987654321098765"),
    "copy": ("2718281828", "314159", "00000000", "12345678901234567890", "9876543210987654321098765"),
    "dates": ("3rd of march 1997", "12/10/2003", "tuesday 4 july 2028", "31 february 1999", "5-nov-55"),
}


def _who(given: object) -> None:
    names = given if isinstance(given, tuple) else ()
    for name in names:
        if name not in CONTESTANTS:
            raise InvalidSetting(f"There is no “{shortened(name)}” on this page. There is {', '.join(CONTESTANTS)}.")
    if not names:
        raise InvalidSetting(f"A race needs at least one model. There is {', '.join(CONTESTANTS)}.")


@dataclass(frozen=True)
class Translation:
    """The task, who races, what is typed, and what of it is looked at."""

    task: Task = "reverse"
    who: tuple[str, ...] = field(default=tuple(CONTESTANTS), metadata={"check": _who})
    run: str = ""  # one more run, as any page's address may name it
    longest: int = field(default=20, metadata={"low": 1, "high": 40})  # digits of the longest source that is trained
    rate: float = field(default=0.0, metadata={"low": 0.0, "high": 1.0})  # step size of all; 0: each its usual one
    steps: int = field(default=0, metadata={"low": 0, "high": 1_000_000})  # of all; 0: each its usual number
    seeds: int = field(default=SEEDS, metadata={"low": 1, "high": 16})
    seed: int = field(default=0, metadata={"low": 0, "high": 2**31 - 1})
    say: str = field(default="", metadata={"longest": 200})  # the source; empty: the first of the examples
    inside: str = ""  # the contestant that is looked into; empty: the first of those that attend, or the first
    replica: int = field(default=0, metadata={"low": 0, "high": 15})
    look: Look = "source"  # which of a Transformer's three kinds of attention
    layer: int = field(default=-1, metadata={"low": -1, "high": 7})  # -1: where the head is that looks best
    head: int = field(default=-1, metadata={"low": -1, "high": 15})
    at: int = field(default=-1, metadata={"low": -1, "high": 63})  # the step of the writing that is kept; -1: none
    width: int = field(default=3, metadata={"low": 1, "high": 8})  # of the beam
    fed: int = field(default=0, metadata={"low": 0, "high": 50})  # digits of the sources of free running; 0: longest

    @property
    def contestants(self) -> dict[str, Contestant]:
        """Who races, by name; a run that was asked for stands among them where it is none of theirs."""
        found = {name: CONTESTANTS[name] for name in self.who}
        if self.run:
            each = contestant_of(config_of(self.run))
            title, words = f"{each.title}, run {self.run}", f"{each.words} (run {self.run})"
            found[self.run] = replace(each, name=self.run, title=title, words=words, label="this run", dash="1px,3px")
        return found

    @property
    def source(self) -> str:
        """What is read."""
        return self.say or EXAMPLES[self.task][0]

    @property
    def shared(self) -> dict[str, object]:
        """The settings that all who race have in common, where they are not as usual."""
        return {
            "replicas": self.seeds,
            "seed": self.seed,
            **({"longest": self.longest} if self.task != "dates" else {}),
            **({"learning_rate": self.rate} if self.rate else {}),
            **({"iterations": self.steps} if self.steps else {}),
        }

    @property
    def configs(self) -> dict[str, RunConfig]:
        """The run of each who races. Raises InvalidSetting."""
        found = {name: CONTESTANTS[name].config(self.task, **self.shared) for name in self.who}
        return found | {self.run: config_of(self.run)} if self.run else found

    @property
    def settings(self) -> TranslationConfig:
        """The task with its settings."""
        given = {} if self.task == "dates" else {"longest": self.longest}
        found: TranslationConfig = validated(TASKS[self.task].config, given)
        return found

    def checked(self) -> Translation:
        """The same, if this server trains what it asks for. Raises InvalidSetting."""
        for config in self.configs.values():
            limits.check(config)
        return self

    def on(self, task: Task) -> Translation:
        """Another task: what was typed for the old one is none of it."""
        fresh = replace(self, task=task, say="", at=-1, steps=0, rate=0.0, run="")
        return self if task == self.task else fresh.checked()

    def with_who(self, names: Iterable[str]) -> Translation:
        """Others in the race, in the order of their years; with nobody nothing changes."""
        chosen = set(names)
        who = tuple(name for name in CONTESTANTS if name in chosen)
        return replace(self, who=who, inside=self.inside if self.inside in who else "").checked() if who else self

    def saying(self, text: str) -> Translation:
        """Another source; no step of the old one is kept."""
        return replace(self, say="" if text == EXAMPLES[self.task][0] else text, at=-1)

    def racing(self, **settings: Any) -> Translation:
        """Other settings of the race, of which the run that was asked for is none. Raises InvalidSetting."""
        return replace(self, **{"run": "", **settings}).checked()

    def with_run(self) -> Translation:
        """The race in which the run stands that was asked for, if it is not there yet. Raises LineageError."""
        config, name = config_of(self.run), self.run
        learned = task_row(config.task)
        if not isinstance(config.task, ReverseConfig | CopyConfig | DatesConfig):
            raise InvalidSetting(
                f"Run {shortened(name)} stands on another page: {page_title(learned.page)}, /{learned.page}?run={name}."
            )
        own = {"seeds": config.replicas, "seed": config.seed, "longest": getattr(config.task, "longest", self.longest)}
        here = replace(self.on(learned.name), **own, run="")  # type: ignore[arg-type]  # one of the three tasks
        racer = contestant_of(config)
        if racer.config(here.task, **here.shared) == config:
            return here.with_who((*here.who, racer.name))
        return replace(here, run=name)

    def reset(self) -> Translation:
        """The race as a newcomer finds it, of the same task and source."""
        return Translation(task=self.task, say=self.say, inside=self.inside, width=self.width)
