"""What pages share whose models answer at every place: who races under which settings, and the run of an address."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
import streamlit as st

from explorer.catalogue import MODELS, page_title, task_row
from explorer.errors import InvalidSetting, shortened
from explorer.figures.comparison import Line
from explorer.training import limits
from explorer.training.config import RunConfig
from explorer.training.labelling_runs import CONTESTANTS, Contestant
from explorer.training.record import Curves
from explorer.ui.known import config_of
from explorer.ui.session import PageSession, bound
from explorer.ui.stepwise import measured

COLOUR = MODELS["transformer"].colour  # they are all Transformers: a dash and a label tell them apart


@dataclass(frozen=True)
class Raced:
    """How the models of a page are trained. A page adds what is told about the task, and what else it shows."""

    TASK: ClassVar[str] = ""  # of labelling
    who: tuple[str, ...] = ()  # names without their task
    run: str = ""  # one more run, as any page's address may name it
    seeds: int = field(default=3, metadata={"low": 1, "high": 16})
    seed: int = field(default=0, metadata={"low": 0, "high": 2**31 - 1})
    steps: int = field(default=0, metadata={"low": 0, "high": 1_000_000})  # of all; 0: each its usual number

    @property
    def task(self) -> str:
        """What they learn."""
        return self.TASK

    @property
    def of_task(self) -> Mapping[str, object]:
        """The settings of the task that the page can change."""
        raise NotImplementedError

    @property
    def contestants(self) -> dict[str, Contestant]:
        """Who races, by name; a run that was asked for stands among them where it is none of theirs."""
        found = {name: CONTESTANTS[f"{self.task}-{name}"] for name in self.who}
        if self.run:
            about: dict[str, Any] = {"title": f"Run {self.run}", "words": f"run {self.run}"}
            first = next(iter(found.values()))
            found[self.run] = replace(first, name=self.run, label="this run", dash="1px,3px", **about)
        return found

    @property
    def shared(self) -> dict[str, object]:
        """The settings that all who race have in common, where they are not as usual."""
        steps = {"iterations": self.steps} if self.steps else {}
        return {"replicas": self.seeds, "seed": self.seed, **self.of_task, **steps}

    @property
    def configs(self) -> dict[str, RunConfig]:
        """The run of each who races. Raises InvalidSetting."""
        found = {name: CONTESTANTS[f"{self.task}-{name}"].config(**self.shared) for name in self.who}
        return found | {self.run: config_of(self.run)} if self.run else found

    def checked(self: AnyRaced) -> AnyRaced:
        """The same, if this server trains what it asks for. Raises InvalidSetting."""
        for config in self.configs.values():
            limits.check(config)
        return self

    def racing(self: AnyRaced, **settings: Any) -> AnyRaced:
        """Other settings of the race, of which the run that was asked for is none. Raises InvalidSetting."""
        return replace(self, **{"run": "", **settings}).checked()

    def with_who(self: AnyRaced, names: tuple[str, ...]) -> AnyRaced:
        """Others in the race, in their order; with nobody nothing changes. Raises InvalidSetting."""
        chosen = set(names)
        who = tuple(name for name in type(self)().who if name in chosen)
        return replace(self, who=who).checked() if who else self

    def with_run(self: AnyRaced) -> AnyRaced:
        """The race in which the run stands that was asked for, if it is not there yet. Raises LineageError."""
        config, name = config_of(self.run), self.run
        learned = task_row(config.task)
        if learned.name != self.task:
            raise InvalidSetting(
                f"Run {shortened(name)} stands on another page: {page_title(learned.page)}, /{learned.page}?run={name}."
            )
        task = {setting: getattr(config.task, setting) for setting in self.of_task}
        here = replace(self, **task, seeds=config.replicas, seed=config.seed, run="")
        usual = next(iter(here.configs.values())).steps
        here = replace(here, steps=0 if config.steps == usual else config.steps)
        racer = next((one for one in type(self)().who if _config(here, one) == config), None)
        return here.with_who((*here.who, racer)) if racer else replace(here, run=name)

    def reset(self: AnyRaced) -> AnyRaced:
        """The race as a newcomer finds it."""
        usual = type(self)()
        of_race = ("who", "run", "seeds", "seed", "steps", *self.of_task)
        return replace(self, **{name: getattr(usual, name) for name in of_race})


AnyRaced = TypeVar("AnyRaced", bound=Raced)


def _config(state: Raced, name: str) -> RunConfig:
    return CONTESTANTS[f"{state.task}-{name}"].config(**state.shared)


def by_step(each: Contestant, curves: Curves | None, metric: str) -> Line:
    """What was measured on the way, over the seeds."""
    return Line(each.label, each.words, COLOUR, each.dash, *measured(curves, metric))


def parts(curves: Curves | None, name: str) -> np.ndarray | None:
    """What the last evaluation told in parts, a row a seed; None where there is none."""
    if curves is None or name not in curves.answers or not len(curves.answers[name]):
        return None
    values: np.ndarray = curves.answers[name][-1]
    return None if np.isnan(values).all() else values


def settings(session: PageSession[AnyRaced], page: str, by: int) -> None:
    """How many seeds are trained, for how long (in steps of `by`), and the way back, in a row of the caller's."""
    state = session.state
    ties = bound(session, f"{page}.seeds", state.seeds, lambda s, v: s.racing(seeds=v))
    st.number_input("Seeds", 1, 16, step=1, width=110, **ties)
    ties = bound(session, f"{page}.steps", state.steps, lambda s, v: s.racing(steps=v))
    st.number_input("Steps (0: as usual)", 0, 1_000_000, step=by, width=170, **ties)
    ties = bound(session, f"{page}.seed", state.seed, lambda s, v: s.racing(seed=v))
    st.number_input("First seed", 0, 2**31 - 1, step=1, width=120, **ties)
    st.button(
        "Back to the defaults",
        icon=":material/undo:",
        on_click=lambda: session.change(lambda s: s.reset()),
        disabled=state == state.reset(),
        key=f"{page}.reset",
    )
