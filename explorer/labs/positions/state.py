"""The state of the page on positions: the pictures, the two sentences, and the training settings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

from explorer.experiments.labelling import POSITION_VARIANTS, VARIANTS
from explorer.ui.state import url_codec
from explorer.ui.state.comparison_state import ComparisonState

POSITION_COUNT = 40  # in the pictures: as many as the included run has learned vectors for
MAX_CHARACTERS = 120  # characters of a sentence
_COMPONENT_FIELDS = ("width", "base", "turn_width", "turn_base", "place", "pair", "other", "draw", "after")


@dataclass(frozen=True)
class PositionsState(ComparisonState):
    """The pictures of position encodings, the two sentences, and the settings of the copy task."""

    TASK: ClassVar[str] = "echo"
    who: tuple[str, ...] = tuple(VARIANTS[name].name for name in POSITION_VARIANTS)
    longest: int = field(default=12, metadata={"low": 1, "high": 24})
    again: Literal["copy", "reverse"] = "copy"
    width: int = field(default=32, metadata={"low": 2, "high": 128})
    base: float = field(default=10_000.0, metadata={"low": 10.0, "high": 100_000.0})
    turn_width: int = field(default=16, metadata={"low": 2, "high": 64})  # of a head
    turn_base: float = field(default=1_000.0, metadata={"low": 10.0, "high": 100_000.0})
    place: int = field(default=8, metadata={"low": 0, "high": POSITION_COUNT - 1})
    pair: int = field(default=2, metadata={"low": 0, "high": 63})
    other: int = field(default=12, metadata={"low": 0, "high": POSITION_COUNT - 1})  # position of the key
    draw: int = field(default=0, metadata={"low": 0, "high": 20})  # seed of query and key; 0: both equal
    after: bool = True  # show the learned vectors after training, otherwise before
    first: str = field(default="the dog bit the man", metadata={"longest": MAX_CHARACTERS})
    second: str = field(default="the man bit the dog", metadata={"longest": MAX_CHARACTERS})

    @property
    def task_settings(self) -> Mapping[str, object]:
        """Return the settings of the task that the page can change."""
        return {"longest": self.longest, "again": self.again}

    @property
    def component_state(self) -> dict[str, object]:
        """Return the fields that the component sets. Dimensions come in pairs, so widths are rounded down to even
        numbers.
        """
        return {name: getattr(self, name) for name in _COMPONENT_FIELDS} | {
            name: getattr(self, name) // 2 * 2 for name in ("width", "turn_width")
        }

    def with_defaults(self) -> PositionsState:
        """Return the state with the default pictures; sentences and training settings stay."""
        defaults = PositionsState()
        return replace(self, **{name: getattr(defaults, name) for name in _COMPONENT_FIELDS})


def apply_event(state: PositionsState, message: object) -> PositionsState:
    """Return the state after a JSON message of the component; an invalid message changes nothing."""
    try:
        fields = {
            name: str(value).lower() for name, value in json.loads(str(message)).items() if name in _COMPONENT_FIELDS
        }
    except (ValueError, AttributeError):
        return state
    new, problems = url_codec.read(PositionsState, fields)
    return state if problems else replace(state, **{name: getattr(new, name) for name in fields})
