"""The state of the page on sequence shapes; each field is a URL parameter."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

# Networks whose shared weights are shown, by variant, and their included runs.
NETS = {name: f"recall-50-{name}" for name in ("rnn-usual", "lstm-chrono", "gru-chrono")}
MAX_CHARACTERS = 40  # of a text that is read character by character
MAX_SEEDS = 8  # of the run with the most seeds


_UNROLLED_FIELDS = ("shape", "answers", "ends", "senses", "letters", "date", "first", "replica")


@dataclass(frozen=True)
class SequenceShapesState:
    """The unrolled network and what is selected in each section."""

    shape: Literal["one", "each", "other", "from-one"] = "one"  # which inputs and outputs of the network are used
    answers: Literal["senses", "letters"] = "senses"  # task of the network that predicts at each step
    ends: str = field(default="human not consume nature", metadata={"longest": 200})
    senses: str = field(default="by the water we saw a bank and a boat", metadata={"longest": 300})
    letters: str = field(default="To be, or not", metadata={"longest": MAX_CHARACTERS})
    date: str = field(default="3rd of march 1997", metadata={"longest": 50})
    first: str = field(default="T", metadata={"longest": 1})
    replica: int = field(default=0, metadata={"low": 0, "high": MAX_SEEDS - 1})  # seed of the unrolled network
    trained: bool = False  # the terms of the gradient after training; otherwise before it
    agreeing: Literal["verb", "pronoun"] = "verb"  # the word that the heads are tested on

    def with_defaults(self) -> SequenceShapesState:
        """Return the state with the default unrolled network; the other sections stay."""
        defaults = SequenceShapesState()
        return replace(self, **{name: getattr(defaults, name) for name in _UNROLLED_FIELDS})
