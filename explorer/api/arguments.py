"""Checks of arguments that users give to the Python API. Each raises InvalidSetting with one sentence."""

from __future__ import annotations

import inspect
import math
import operator
import os
import warnings
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from numbers import Real
from pathlib import Path
from typing import Any, SupportsIndex, cast

from explorer.errors import InvalidSetting, shorten
from explorer.generation import sampling
from explorer.training.config import RunConfig, setting_value, validate


def require_text(text: object, what: str = "A text") -> str:
    """Return a text; `what` names it in the message. Raises InvalidSetting for another kind of value."""
    if not isinstance(text, str):
        raise InvalidSetting(f"{what} is needed, not a value of the type {type(text).__name__}. Give a str.")
    return text


def warn(sentence: str) -> None:
    """Warn the user with a sentence, if there is one, about the line that called this package."""
    if not sentence:
        return
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").startswith("explorer."):
        level, frame = level + 1, frame.f_back
    warnings.warn(sentence, stacklevel=level)


def require_texts(texts: object, what: str) -> list[str]:
    """Return several texts as a list. Raises InvalidSetting for a single text or another kind of value."""
    if isinstance(texts, str) or not isinstance(texts, Iterable):
        raise InvalidSetting(f"{what} are given as a list of texts, not as a value of the type {type(texts).__name__}.")
    return [require_text(text, "A text for each of the " + what.lower()) for text in texts]


def require_metric(metric: object, known: Collection[str]) -> None:
    """Raise InvalidSetting for a metric that no run has."""
    if require_text(metric, "The name of a metric") not in known:
        raise InvalidSetting(f"No run has the metric “{shorten(metric)}”. There is {', '.join(known)}.")


def require_file(file: object) -> Path:
    """Return the path of a file. Raises InvalidSetting for another kind of value."""
    if not isinstance(file, str | os.PathLike):
        raise InvalidSetting(f"The name of a file is needed, not a value of the type {type(file).__name__}.")
    return Path(file)


def as_whole_number(value: object) -> int | None:
    """Return a whole number, also of numpy, as an int; None for anything else, as True, 3.0 or "3"."""
    if isinstance(value, bool) or not isinstance(value, SupportsIndex) or getattr(value, "shape", None):
        return None
    return operator.index(value)


def require_whole_number(name: str, value: Any, low: int, high: int | None = None) -> int:
    """Return a whole number from `low` to `high`. Raises InvalidSetting."""
    number = as_whole_number(value)
    if number is None or number < low or (high is not None and number > high):
        possible = f"of at least {low}" if high is None else f"from {low} to {high:,}"
        raise InvalidSetting(f"{name} = {_show(value)} is not possible. Give a whole number {possible}.")
    return number


def require_flag(name: str, value: object) -> bool:
    """Return whether something is wanted. Raises InvalidSetting for a value that is neither True nor False."""
    return bool(_require_like(name, value, True))


def require_sampling(**given: object) -> sampling.Sampling:
    """Return the settings of sampling. Raises InvalidSetting."""
    names = {"seed": "sampling_seed"}
    defaults = vars(sampling.Sampling())
    checked = {name: _require_like(names.get(name, name), value, defaults[name]) for name, value in given.items()}
    return cast("sampling.Sampling", validate(sampling.Sampling, checked))


def require_settings(config: RunConfig, changes: Mapping[str, object]) -> dict[str, object]:
    """Return changes of settings, each of the type of the setting. Raises InvalidSetting.

    Names that no setting has are left as they are: `with_settings` refuses them. A list has values to try.
    """
    checked: dict[str, object] = {}
    for name, value in changes.items():
        checked[name] = value
        with suppress(KeyError):
            default = setting_value(config, name)
            values = value if isinstance(value, list | tuple) else [value]
            found = [_require_like(name, each, default) for each in values]
            checked[name] = found if isinstance(value, list | tuple) else found[0]
    return checked


def _require_like(name: str, value: object, default: object) -> object:
    """Return a value if it is of the type of the default; a number of numpy as one of Python. Raises InvalidSetting."""
    if isinstance(default, bool):
        allowed, wanted = isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"), "True or False"
    elif isinstance(default, int):
        allowed, wanted = as_whole_number(value) is not None, "a whole number"
    elif isinstance(default, float):
        number = isinstance(value, Real) and not isinstance(value, bool)
        allowed, wanted = number and math.isfinite(cast(float, value)), "a number"
    else:
        allowed, wanted = isinstance(value, str | os.PathLike) or not isinstance(default, str), "a text"
    if not allowed:
        raise InvalidSetting(f"{name} = {_show(value)} is not possible. Give {wanted}.")
    return value.item() if hasattr(value, "item") else value


def _show(value: object) -> str:
    """Return a value as it is written in Python, so that the text "3" differs from the number."""
    return shorten(f"“{value}”" if isinstance(value, str) else value)
