"""The address of a page whose state is one flat dataclass: each field by its own name, if it is not at its default.

Everything in an address is checked on the way in: a bad part is named in one sentence and the rest is kept.
(The negation lab's address is richer; see `lab.py`.)
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, get_args, get_origin

import pydantic

from explorer.errors import InvalidSetting, LineageError, shortened

State = TypeVar("State")
_LONGEST = 600  # characters of one part


def write(state: object) -> dict[str, str]:
    """What differs from the defaults."""
    usual = type(state)()
    names = [f.name for f in dataclasses.fields(state)]  # type: ignore[arg-type]  # every state is a dataclass
    given = {name: _text(getattr(state, name)) for name in names if getattr(state, name) != getattr(usual, name)}
    longest = {f.name: f.metadata.get("longest", _LONGEST) for f in dataclasses.fields(state)}  # type: ignore[arg-type]
    return {name: text for name, text in given.items() if len(text) <= longest[name]}


def read(kind: type[State], address: Mapping[str, str]) -> tuple[State, tuple[str, ...]]:
    """A state, and a sentence for every part of an address that could not be used.

    A field's metadata may hold `low` and `high`, both allowed, a `check` that raises LineageError, or how many letters
    the `longest` may have.
    """
    fields = {f.name: f for f in dataclasses.fields(kind)}  # type: ignore[arg-type]
    hints = typing.get_type_hints(kind)
    kept: dict[str, object] = {}
    problems = []
    for name, text in address.items():
        try:
            if name not in fields:
                raise InvalidSetting(f"This page has no “{shortened(name)}”; that part of the address was left out.")
            kept[name] = _value(name, text, hints[name], fields[name].metadata)
        except LineageError as error:
            problems.append(str(error))
    return kind(**kept), tuple(problems)


def _value(name: str, text: str, hint: Any, about: Mapping[str, Any]) -> object:
    if any(get_origin(kind) is tuple for kind in (hint, *get_args(hint))):
        given: object = tuple(part for part in text[: about.get("longest", _LONGEST)].split(",") if part)
    else:
        given = text
    limits = pydantic.Field(ge=about.get("low"), le=about.get("high"))
    try:
        value: object = pydantic.TypeAdapter(typing.Annotated[hint, limits]).validate_python(given)
    except pydantic.ValidationError:
        raise InvalidSetting(
            f"{shortened(name)} = {shortened(text)} is not possible. Give {_possible(hint, about)}."
        ) from None
    if "check" in about:
        about["check"](value)
    return value


def _limits(about: Mapping[str, Any]) -> tuple[Any, Any]:
    return about.get("low", 0), about.get("high", 0)


def _possible(hint: Any, about: Mapping[str, Any]) -> str:
    kinds = [kind for kind in get_args(hint) if kind is not type(None)] or [hint]
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(map(str, get_args(hint)))
    if bool in kinds:
        return "true or false"
    if any(get_origin(kind) is tuple and int in get_args(kind) for kind in (hint, *kinds)):
        return "whole numbers with commas between"
    if float in kinds or int in kinds:
        low, high = (f"{v:,}" if isinstance(v, int) else f"{v:g}" for v in _limits(about))
        return f"a number from {low} to {high}" if "low" in about else "a number"
    return "text"


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else f"{value:.6g}" if isinstance(value, float) else str(value)
