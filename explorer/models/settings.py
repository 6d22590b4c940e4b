"""The description of a setting, which forms, the command line and validation read."""

from __future__ import annotations

from dataclasses import field
from typing import Any


def setting(
    default: Any, help: str, low: int | float | None = None, high: int | float | None = None, pattern: str | None = None
) -> Any:
    """Return a dataclass field with a help text and limits (inclusive) in its metadata.

    `pattern` is a regular expression that the whole of a text setting must match.

    Never change a released default: the key of a run is a hash of the settings that differ from the defaults.
    """
    return field(default=default, metadata={"help": help, "low": low, "high": high, "pattern": pattern})
