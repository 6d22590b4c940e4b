"""What a measure of lessons is: a function whose parameters are the settings that a lesson file gives as texts.

The type of a parameter says which texts are possible: `Literal` names them, and `Annotated[type, Setting(…)]` has
limits and checks. Needs no torch.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

from explorer.catalogue import task_row
from explorer.errors import InvalidSetting, LineageError, shorten
from explorer.hub.suitable import Need
from explorer.run_store import store

# Raises InvalidSetting unless the setting of this name is possible; it gets all settings, by name.
Check = Callable[[str, Mapping[str, Any]], None]
Limits: TypeAlias = "tuple[float | None, float | None, str]"  # the least and the largest possible value, and the unit
Values: TypeAlias = "list[float] | list[str]"
_Function = TypeVar("_Function", bound=Callable[..., Values])


@dataclass(frozen=True)
class Setting:
    """The type and the range of one setting of a measure."""

    kind: type[str] | type[int] | type[float] = str
    low: int | float = 0
    high: int | float = 0
    default: object = None  # None if it must be given
    choices: tuple[str, ...] = ()  # the possible texts, if there are few
    tasks: tuple[str, ...] = ()  # of the included runs that it may name, if it is the name of a run
    known: Callable[[Mapping[str, Any]], Sequence[object]] | None = field(
        default=None, hash=False
    )  # the possible values
    check: Check = field(default=lambda name, given: None, hash=False)

    @property
    def type_name(self) -> str:
        return {str: "text", int: "whole number", float: "number"}[self.kind]

    def describe(self) -> str:
        """Return the type, the range and the default, such as “whole number from 1 to 64, default 4”."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        limits = "" if self.kind is str else f" from {self.low:,g} to {self.high:,g}"
        return f"{self.type_name}{limits}{'' if self.default is None else f', default {self.default}'}"

    def parse(self, name: str, text: str) -> object:
        """Return the value that a text stands for. Raises InvalidSetting."""
        if self.kind is str:
            if self.choices == ("yes", "no"):  # a URL writes a boolean in another way than a lesson
                text = {"true": "yes", "false": "no"}.get(text.lower(), text)
            if self.choices:
                check_choice(name, self.choices, text)
            return text
        try:
            value = float(text) if self.kind is float else int(text)
        except ValueError:
            value = self.high + 1
        if not self.low <= value <= self.high:
            raise InvalidSetting(
                f"{name} = {shorten(text)} is not possible. Give a number from {self.low:g} to {self.high:g}."
            )
        return value


@dataclass(frozen=True)
class Measure:
    """A measure: gives a number or a label for each seed of a run, or one number that needs no run."""

    name: str
    about: str
    needs: Mapping[str, Setting] = field(hash=False)
    compute: Callable[..., Values] = field(hash=False)  # of the settings; raises LineageError
    labels: tuple[str, ...] = ()  # its possible values, if they are not numbers
    over: str = "seeds"  # what its values are repeated over; empty if there is a single value
    span: Limits | Callable[[Mapping[str, Any]], Limits] = field(default=(None, None, ""), hash=False)
    real_model: Need | None = None  # the kind of an opened real model that is measured, if it measures one

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks of the runs that it accepts."""
        return self.needs["run"].tasks if "run" in self.needs else ()

    def limits(self, given: Mapping[str, Any]) -> Limits:
        """Return the limits of its possible values with these settings."""
        return self.span(given) if callable(self.span) else self.span

    def parse_settings(self, given: Mapping[str, str]) -> dict[str, Any]:
        """Return the settings with their types and defaults, from the texts of a lesson file. Raises InvalidSetting."""
        for name in given:
            if name not in self.needs:
                raise InvalidSetting(
                    f"“{self.name}” has no setting “{shorten(name)}”. Its settings are {', '.join(self.needs)}."
                )
        found: dict[str, Any] = {}
        for name, setting in self.needs.items():
            if name not in given and setting.default is None:
                raise InvalidSetting(f"“{self.name}” needs the setting {name}.")
            found[name] = setting.parse(name, given[name]) if name in given else setting.default
        for name, setting in self.needs.items():
            if setting.tasks:
                self._check_run(found[name], setting.tasks)
            if setting.known:
                check_choice(name, tuple(map(str, setting.known(found))), str(found[name]))
            setting.check(name, found)
        return found

    def _check_run(self, name: str, tasks: tuple[str, ...]) -> None:
        try:
            run = store.find(name)
        except LineageError as error:
            raise InvalidSetting(f"No included run has the name “{shorten(name)}”.") from error
        task = task_row(run.config.task).name
        if not run.shipped:
            raise InvalidSetting(f"The run “{shorten(name)}” is not included with the program. Name an included run.")
        if task not in tasks:
            raise InvalidSetting(
                f"“{self.name}” accepts runs of the tasks {', '.join(tasks)}; “{name}” is a run of {task}."
            )


MEASURES: dict[str, Measure] = {}


def lesson_measure(name: str, **details: Any) -> Callable[[_Function], _Function]:
    """Register a function as the measure of this name: its parameters are the settings, its docstring the description.

    `details` are the other fields of `Measure`.
    """

    def register(function: _Function) -> _Function:
        types = get_type_hints(function, include_extras=True)
        needs = {
            each.name: _setting_of(types[each.name], each.default)
            for each in inspect.signature(function).parameters.values()
        }
        MEASURES[name] = Measure(name, " ".join(str(function.__doc__).split()), needs, function, **details)
        return function

    return register


def _setting_of(kind: Any, default: object) -> Setting:
    setting = Setting()
    if get_origin(kind) is Literal:
        kind, setting = str, Setting(choices=get_args(kind))
    elif get_origin(kind) is Annotated:
        kind, setting = get_args(kind)
    return replace(setting, kind=kind, default=None if default is inspect.Parameter.empty else default)


def check_choice(name: str, known: tuple[str, ...], text: str) -> None:
    """Raise InvalidSetting for a text that is not among the known ones."""
    if text not in known:
        raise InvalidSetting(f"{name} = “{shorten(text)}” is not possible. Give one of {', '.join(known)}.")
