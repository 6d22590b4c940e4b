"""What a visitor of the page on shapes of tasks has chosen; each field is a part of the address."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

# Nets whose shared weights are looked at, as the memory lab calls them, and the runs of theirs that ship.
NETS = {name: f"recall-50-{name}" for name in ("rnn-usual", "lstm-chrono", "gru-chrono")}
LONGEST = 40  # characters of a text that is read letter by letter
SEEDS = 8  # in the run with the most of them


_OF_THE_NET = ("shape", "answers", "ends", "senses", "letters", "date", "first", "replica")


@dataclass(frozen=True)
class Shapes:
    """What is looked at, section by section."""

    shape: Literal["one", "each", "other", "from-one"] = "one"  # which inputs and answers of the net are used
    answers: Literal["senses", "letters"] = "senses"  # of the net that answers at each step
    ends: str = field(default="human not consume nature", metadata={"longest": 200})
    senses: str = field(default="by the water we saw a bank and a boat", metadata={"longest": 300})
    letters: str = field(default="To be, or not", metadata={"longest": LONGEST})
    date: str = field(default="3rd of march 1997", metadata={"longest": 50})
    first: str = field(default="T", metadata={"longest": 1})
    replica: int = field(default=0, metadata={"low": 0, "high": SEEDS - 1})  # of the net that is unrolled
    trained: bool = False  # the terms of the gradient after training; otherwise before it
    agreeing: Literal["verb", "pronoun"] = "verb"  # what the heads are asked about

    def fresh(self) -> Shapes:
        """The unrolled net as a newcomer finds it."""
        usual = Shapes()
        return replace(self, **{name: getattr(usual, name) for name in _OF_THE_NET})
