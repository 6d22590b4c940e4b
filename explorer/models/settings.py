"""One description of a setting, read by three doors: the form, the command line and the validator."""

from __future__ import annotations

from dataclasses import field
from typing import Any


def setting(
    default: Any, help: str, low: int | float | None = None, high: int | float | None = None, pattern: str | None = None
) -> Any:
    """A dataclass field that carries its explanation and its limits (both ends are allowed).

    `pattern` is the regular expression that a setting of free text must match as a whole.

    A released default never changes: a run's key is made of what differs from the defaults.
    """
    return field(default=default, metadata={"help": help, "low": low, "high": high, "pattern": pattern})
