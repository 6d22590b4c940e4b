"""Checks of arguments that users give to the Python API. Each raises InvalidSetting with one sentence."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from explorer.errors import InvalidSetting, shorten


def require_text(text: object, what: str = "A text") -> str:
    """Return a text; `what` names it in the message. Raises InvalidSetting for another kind of value."""
    if not isinstance(text, str):
        raise InvalidSetting(f"{what} is needed, not a value of the type {type(text).__name__}. Give a str.")
    return text


def require_texts(texts: object, what: str) -> list[str]:
    """Return several texts as a list. Raises InvalidSetting for a single text or another kind of value."""
    if isinstance(texts, str) or not isinstance(texts, Iterable):
        raise InvalidSetting(f"{what} are given as a list of texts, not as a value of the type {type(texts).__name__}.")
    return [require_text(text, "A text for each of the " + what.lower()) for text in texts]


def require_file(file: object) -> Path:
    """Return the path of a file. Raises InvalidSetting for another kind of value."""
    if not isinstance(file, str | os.PathLike):
        raise InvalidSetting(f"The name of a file is needed, not a value of the type {type(file).__name__}.")
    return Path(file)


def describe_file_error(error: OSError | ValueError) -> str:
    """Return why a file cannot be read or written. ValueError: a name that no file can have, as one with a NUL."""
    return getattr(error, "strerror", None) or "it is no file name"


def require_whole_number(name: str, value: Any, low: int, high: int | None = None) -> int:
    """Return a whole number from `low` to `high`. Raises InvalidSetting."""
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or number < low or (high is not None and number > high):
        possible = f"of at least {low}" if high is None else f"from {low} to {high:,}"
        raise InvalidSetting(f"{name} = {shorten(value)} is not possible. Give a whole number {possible}.")
    return number
