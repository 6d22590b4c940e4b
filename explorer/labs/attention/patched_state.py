"""The state that the section on patching takes from one text to the other, as the URL names it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from explorer.errors import InvalidSetting, shorten

KINDS = {  # with the number of the numbers that follow
    "stream": 2,  # the residual stream at a depth (0: the embedding) and a position
    "head": 2,  # layer and head
    "attention": 1,  # what the attention of a layer adds
    "feedforward": 1,  # what the feedforward layer adds
    "layer": 1,  # both
}
_PATTERN = re.compile(r"(stream|head)\.(\d{1,3})\.(\d{1,4})|(attention|feedforward|layer)\.(\d{1,3})")


@dataclass(frozen=True)
class PatchedState:
    """One state of a model. All numbers count from 0."""

    kind: str  # one of KINDS
    layer: int  # of the residual stream the depth: 0 is the embedding, 1 the state after the first layer
    index: int = 0  # position or head

    @property
    def url(self) -> str:
        """The state as the URL names it: `head.0.2`."""
        numbers = (self.layer, self.index)[: KINDS[self.kind]]
        return ".".join([self.kind, *map(str, numbers)])


def parse_patched_state(name: str) -> PatchedState | None:
    """Return the state that a URL names, or None for another text."""
    match = _PATTERN.fullmatch(name)
    if match is None:
        return None
    if match[1]:
        return PatchedState(match[1], int(match[2]), int(match[3]))
    return PatchedState(match[4], int(match[5]))


def check_patched_state(name: object) -> None:
    """Raise InvalidSetting if a URL parameter names no state; it may be empty."""
    if name and parse_patched_state(str(name)) is None:
        raise InvalidSetting(
            f"“{shorten(name)}” names no state of a model. Write head.LAYER.HEAD, stream.DEPTH.POSITION, "
            "attention.LAYER, feedforward.LAYER or layer.LAYER, counted from 0."
        )
