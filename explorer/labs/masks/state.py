"""The state of the page on masks: the batch, its masks, and the training settings of the two models."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from explorer.catalogue import task_row
from explorer.experiments.labelling import MASK_VARIANTS, VARIANTS
from explorer.tasks.sequence_labelling.grammar_text import LETTERS
from explorer.ui.state import url_codec
from explorer.ui.state.comparison_state import ComparisonState
from explorer.ui.state.run_lookup import find_config
from explorer.ui.wording import number_word, quote_first

MAX_WORDS = 10  # of a sentence: the matrices still have room for numbers
MAX_CHARACTERS = 200  # characters of a sentence
MAX_PROMPT = 40  # characters of the prompt: as many as the models read
READS = {"tale": "Sentences, letter by letter", "noise": "Random symbols"}
SENTENCES = ("first", "second", "third")
_COMPONENT_FIELDS = ("shown", "padding", "causal", "side", "fill")  # fields that the component sets


@dataclass(frozen=True)
class MasksState(ComparisonState):
    """The batch of sentences, the masks on it, and the settings of the training with and without the causal mask."""

    who: tuple[str, ...] = tuple(dict.fromkeys(VARIANTS[name].name for name in MASK_VARIANTS))
    reads: Literal["tale", "noise"] = "tale"
    symbols: int = field(default=19, metadata={"low": 2, "high": 26})
    begin: str = field(default="the old king", metadata={"longest": MAX_PROMPT})
    first: str = field(default="the cat sat on the mat", metadata={"longest": MAX_CHARACTERS})
    second: str = field(default="dogs bark", metadata={"longest": MAX_CHARACTERS})
    third: str = field(default="it rained all night", metadata={"longest": MAX_CHARACTERS})
    shown: int = field(default=2, metadata={"low": 0, "high": 2})
    padding: bool = True
    causal: bool = True
    side: Literal["right", "left"] = "right"
    fill: Literal["infinite", "finite", "self"] = "infinite"

    @property
    def task(self) -> str:
        return self.reads

    @property
    def task_settings(self) -> Mapping[str, object]:
        """Return the settings of the task that the page can change."""
        return {"symbols": self.symbols} if self.reads == "noise" else {}

    def with_run(self, visitor_id: str = "") -> MasksState:
        """Return the state with the task of the requested run. Raises LineageError."""
        learned = task_row(find_config(self.run, visitor_id).task).name
        here = replace(self, reads=learned) if learned in READS else self  # type: ignore[arg-type]
        return ComparisonState.with_run(here, visitor_id)

    @property
    def prompt(self) -> tuple[str, list[str]]:
        """Return the characters of the prompt that the models know, and messages about what was left out."""
        typed = self.begin.lower()
        unknown = list(dict.fromkeys(character for character in typed if character not in LETTERS))
        usable = "".join(character for character in typed if character in LETTERS)
        messages = []
        if unknown:
            messages.append(
                f"The models know the letters a to z, the space and the full stop; left out: {quote_first(unknown)}."
            )
        if not usable.strip():
            messages.append(f"Write a beginning of at least one letter; until then it is “{MasksState().begin}”.")
        return (usable if usable.strip() else MasksState().begin), messages

    @property
    def batch(self) -> list[list[str]]:
        """Return the words of each sentence, cut to the size of the matrices."""
        return [getattr(self, name).split()[:MAX_WORDS] for name in SENTENCES]

    @property
    def input_problems(self) -> list[str]:
        """Return a message for each sentence that was cut, and one if the whole batch is empty."""
        messages = []
        for name in SENTENCES:
            words = len(getattr(self, name).split())
            if words > MAX_WORDS:
                messages.append(
                    f"The {name} sentence has {words} words; {number_word(MAX_WORDS)} have room in the matrices. "
                    f"The first {number_word(MAX_WORDS)} are shown."
                )
        if not any(self.batch):
            messages.append("The batch is empty: write a word in one of the three sentences.")
        return messages

    @property
    def component_state(self) -> dict[str, object]:
        """Return the fields that the component sets."""
        return {name: getattr(self, name) for name in _COMPONENT_FIELDS}

    def with_defaults(self) -> MasksState:
        """Return the state with the default batch and masks; the training settings stay."""
        defaults = MasksState()
        return replace(self, **{name: getattr(defaults, name) for name in (*SENTENCES, *_COMPONENT_FIELDS)})


def apply_event(state: MasksState, message: object) -> MasksState:
    """Return the state after a JSON message of the component; an invalid message changes nothing."""
    try:
        fields = {
            name: str(value).lower() for name, value in json.loads(str(message)).items() if name in _COMPONENT_FIELDS
        }
    except (ValueError, AttributeError):
        return state
    new, problems = url_codec.read(MasksState, fields)
    return state if problems else replace(state, **{name: getattr(new, name) for name in fields})
