"""What a command line says."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

Ask: TypeAlias = Callable[..., tuple[int, str, str]]  # the fixture `ask`


def lines(out: str) -> list[Any]:
    """What --json printed."""
    return [json.loads(line) for line in out.splitlines()]
