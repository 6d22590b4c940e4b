"""Helpers for the output of the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

RunCommand: TypeAlias = Callable[..., tuple[int, str, str]]  # fixture `ask`: exit code, stdout, stderr


def parse_json_lines(out: str) -> list[Any]:
    """Return the objects that a command with --json printed, one per line."""
    return [json.loads(line) for line in out.splitlines()]
