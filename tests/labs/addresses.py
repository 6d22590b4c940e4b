"""What pages say about addresses that they cannot read."""

from __future__ import annotations

from typing import Any

from explorer.ui.state import url_codec


def read_problems(kind: type[Any], kept: dict[str, str], *parameters: str) -> list[str]:
    """Read each parameter (`name=value`) beside valid ones, which must be kept; return the one problem of each."""
    expected, problems = url_codec.read(kind, kept)
    assert problems == ()
    found: list[str] = []
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        state, problems = url_codec.read(kind, {**kept, name: value})
        assert state == expected and len(problems) == 1, parameter
        found += problems
    return found
