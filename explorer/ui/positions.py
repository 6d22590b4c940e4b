"""What a visitor of the positions page has chosen, and the instrument with the pictures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar, Literal

import streamlit as st

from explorer.errors import DamagedRun
from explorer.tasks.echo import EchoConfig
from explorer.training.labelling_runs import CONTESTANTS, POSITIONS
from explorer.training.store import StoredRun
from explorer.ui import address, packed, runs
from explorer.ui.components import ears, heard, register
from explorer.ui.runs import Lane
from explorer.ui.slowly import there
from explorer.ui.tagged import Raced

PLACES = 40  # in the pictures, as many as the shipped run has learned positions for
LONGEST = 120  # letters of a sentence
_SET = ("width", "base", "turn_width", "turn_base", "place", "pair", "other", "draw", "after")
_KEY = "positions"
_positions = register("positions")


@dataclass(frozen=True)
class Positions(Raced):
    """The pictures, the two sentences, and how the models are trained that echo digits."""

    TASK: ClassVar[str] = "echo"
    who: tuple[str, ...] = tuple(CONTESTANTS[name].name for name in POSITIONS)
    longest: int = field(default=12, metadata={"low": 1, "high": 24})
    again: Literal["copy", "reverse"] = "copy"
    width: int = field(default=32, metadata={"low": 2, "high": 128})
    base: float = field(default=10_000.0, metadata={"low": 10.0, "high": 100_000.0})
    turn_width: int = field(default=16, metadata={"low": 2, "high": 64})  # of a head
    turn_base: float = field(default=1_000.0, metadata={"low": 10.0, "high": 100_000.0})
    place: int = field(default=8, metadata={"low": 0, "high": PLACES - 1})
    pair: int = field(default=2, metadata={"low": 0, "high": 63})
    other: int = field(default=12, metadata={"low": 0, "high": PLACES - 1})  # where the key stands
    draw: int = field(default=0, metadata={"low": 0, "high": 20})  # which query and key; 0: both the same
    after: bool = True  # the learned vectors after training, not before
    first: str = field(default="the dog bit the man", metadata={"longest": LONGEST})
    second: str = field(default="the man bit the dog", metadata={"longest": LONGEST})

    @property
    def of_task(self) -> Mapping[str, object]:
        return {"longest": self.longest, "again": self.again}

    @property
    def set_here(self) -> dict[str, object]:
        """What is set in the instrument; pairs have two numbers, so widths are even."""
        return {name: getattr(self, name) for name in _SET} | {
            name: getattr(self, name) // 2 * 2 for name in ("width", "turn_width")
        }

    def fresh(self) -> Positions:
        """The pictures as a newcomer finds them."""
        usual = Positions()
        return replace(self, **{name: getattr(usual, name) for name in _SET})


def taken(state: Positions, said: object) -> Positions:
    """The state after what the instrument told; as it was, where that is nothing one could set."""
    try:
        told = {name: str(value).lower() for name, value in json.loads(str(said)).items() if name in _SET}
    except (ValueError, AttributeError):
        return state
    new, problems = address.read(Positions, told)
    return state if problems else replace(state, **{name: getattr(new, name) for name in told})


def hear(state: Positions) -> Positions:
    """What the visitor last set in the instrument."""
    said = heard(_KEY, "set")
    return state if said is None else taken(state, said)


def instrument(state: Positions) -> None:
    """The pictures; see `assets/positions.js`. The learned vectors come as soon as they are there."""
    place = st.container()
    lane = runs.lanes({"learned": CONTESTANTS["echo-learned"].config()})["learned"]
    data = {"count": PLACES, "learned": _learned(lane), "state": state.set_here, "file": "positions"}
    with place:
        _positions(data=data, key=_KEY, **ears(_KEY, "set"))


def _learned(lane: Lane) -> dict[str, object] | None:
    """The learned vectors of the shipped run's first seed; None where there is no such run, or not yet."""
    run = lane.stored
    if run is None:
        return None
    meanwhile = "The learned vectors are opened …"
    try:
        content = there("positions-learned", ("positions-learned", *run.stamp), partial(_packed, run), meanwhile, 60)
    except DamagedRun:
        return None
    if content is None:
        return None
    return {"address": packed.offer(content), "trained": 2 * lane.config.on(EchoConfig).longest}


def _packed(run: StoredRun) -> bytes:
    from explorer.inspection.positions import learned

    before, after = learned(run)
    return packed.pack({"before": before[:PLACES], "after": after[:PLACES]})
