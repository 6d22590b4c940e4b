"""The state of the page on sequence shapes; each field is a URL parameter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from explorer.ui.state.fields import PageState, setting

# Networks whose shared weights are shown, by variant, and their included runs.
NETS = {name: f"recall-50-{name}" for name in ("rnn-usual", "lstm-chrono", "gru-chrono")}
MAX_CHARACTERS = 40  # of a text that is read character by character
MAX_SEEDS = 8  # of the run with the most seeds
_SHAPES = {
    "one": "many → one",
    "each": "many → many, aligned",
    "other": "many → many, unaligned",
    "from-one": "one → many",
}
_ANSWERS = {"senses": "sense of the word", "letters": "next character"}
_TESTED_WORDS = {"verb": "the verb (agreement)", "pronoun": "the pronoun (coreference)"}
_UNROLLED_FIELDS = ("shape", "answers", "ends", "senses", "letters", "date", "first", "replica")


@dataclass(frozen=True)
class SequenceShapesState(PageState):
    """The unrolled network and what is selected in each section."""

    shape: Literal["one", "each", "other", "from-one"] = setting("one", "Shape", options=_SHAPES)
    # Task of the network that predicts at each step.
    answers: Literal["senses", "letters"] = setting("senses", "Output at each step", options=_ANSWERS)
    ends: str = setting("human not consume nature", longest=200)
    senses: str = setting("by the water we saw a bank and a boat", longest=300)
    letters: str = setting("To be, or not", longest=MAX_CHARACTERS)
    date: str = setting("3rd of march 1997", longest=50)
    first: str = setting("T", longest=1)
    replica: int = setting(0, "Seed", low=0, high=MAX_SEEDS - 1)  # seed of the unrolled network
    trained: bool = setting(False, "When")  # the terms of the gradient after training; otherwise before it
    # The word that the heads are tested on.
    agreeing: Literal["verb", "pronoun"] = setting("verb", "Predicted word", options=_TESTED_WORDS)

    def reset(self) -> SequenceShapesState:
        """Return the state with the default unrolled network; the other sections stay."""
        return self.with_defaults(*_UNROLLED_FIELDS)
