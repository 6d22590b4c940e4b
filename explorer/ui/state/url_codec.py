"""URL parameters of a page whose state is one flat dataclass: one parameter for each field that is not the default.

All parameters are validated: an invalid one is reported in one sentence and the rest is kept. Pages that train models
use `experiment_state.py` instead.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, get_args, get_origin

import pydantic

from explorer.errors import InvalidSetting, LineageError, shorten

State = TypeVar("State")
_MAX_LENGTH = 600  # characters of one parameter


def write(state: object) -> dict[str, str]:
    """Return the fields that differ from the defaults as URL parameters."""
    defaults = type(state)()
    names = [f.name for f in dataclasses.fields(state)]  # type: ignore[arg-type]  # every state is a dataclass
    texts = {
        name: _to_url_text(getattr(state, name)) for name in names if getattr(state, name) != getattr(defaults, name)
    }
    longest = {f.name: f.metadata.get("longest", _MAX_LENGTH) for f in dataclasses.fields(state)}  # type: ignore[arg-type]
    return {name: text for name, text in texts.items() if len(text) <= longest[name]}


def read(kind: type[State], params: Mapping[str, str]) -> tuple[State, tuple[str, ...]]:
    """Return the state of these URL parameters, and a message for each parameter that is invalid.

    A field's metadata may contain `low` and `high` (inclusive), a `check` that raises LineageError, and `longest`, the
    largest number of characters.
    """
    fields = {f.name: f for f in dataclasses.fields(kind)}  # type: ignore[arg-type]
    hints = typing.get_type_hints(kind)
    values: dict[str, object] = {}
    problems = []
    for name, text in params.items():
        try:
            if name not in fields:
                raise InvalidSetting(f"This page has no “{shorten(name)}”; that part of the address was left out.")
            values[name] = _parse_value(name, text, hints[name], fields[name].metadata)
        except LineageError as error:
            problems.append(str(error))
    return kind(**values), tuple(problems)


def _parse_value(name: str, text: str, hint: Any, about: Mapping[str, Any]) -> object:
    if any(get_origin(kind) is tuple for kind in (hint, *get_args(hint))):
        parts: object = tuple(part for part in text[: about.get("longest", _MAX_LENGTH)].split(",") if part)
    else:
        parts = text
    limits = pydantic.Field(ge=about.get("low"), le=about.get("high"))
    try:
        value: object = pydantic.TypeAdapter(typing.Annotated[hint, limits]).validate_python(parts)
    except pydantic.ValidationError:
        raise InvalidSetting(
            f"{shorten(name)} = {shorten(text)} is not possible. Give {_describe_valid(hint, about)}."
        ) from None
    if "check" in about:
        about["check"](value)
    return value


def _bounds(about: Mapping[str, Any]) -> tuple[Any, Any]:
    return about.get("low", 0), about.get("high", 0)


def _describe_valid(hint: Any, about: Mapping[str, Any]) -> str:
    kinds = [kind for kind in get_args(hint) if kind is not type(None)] or [hint]
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(map(str, get_args(hint)))
    if bool in kinds:
        return "true or false"
    if any(get_origin(kind) is tuple and int in get_args(kind) for kind in (hint, *kinds)):
        return "whole numbers with commas between"
    if float in kinds or int in kinds:
        low, high = (f"{v:,}" if isinstance(v, int) else f"{v:g}" for v in _bounds(about))
        return f"a number from {low} to {high}" if "low" in about else "a number"
    return "text"


def _to_url_text(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else f"{value:.6g}" if isinstance(value, float) else str(value)
