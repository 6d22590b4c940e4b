"""The state of the page on masks: the batch, its masks, and the training settings of the two models."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from explorer.catalogue import task_row
from explorer.experiments.labelling import MASK_VARIANTS, VARIANTS
from explorer.tasks.sequence_labelling.grammar_text import LETTERS
from explorer.training.config import RunConfig
from explorer.ui.state.experiment_state import LabellingComparison
from explorer.ui.state.fields import setting
from explorer.ui.wording import number_word, quote_first

MAX_WORDS = 10  # of a sentence: the matrices still have room for numbers
MAX_CHARACTERS = 200  # characters of a sentence
MAX_PROMPT = 40  # characters of the prompt: as many as the models read
READS = {"tale": "Sentences, letter by letter", "noise": "Random symbols"}
SENTENCES = ("first", "second", "third")
_NAMES = tuple(dict.fromkeys(VARIANTS[name].name for name in MASK_VARIANTS))


@dataclass(frozen=True)
class MasksState(LabellingComparison):
    """The batch of sentences, the masks on it, and the settings of the training with and without the causal mask."""

    TASKS: ClassVar[tuple[str, ...]] = ("tale", "noise")
    COMPONENT_FIELDS: ClassVar[tuple[str, ...]] = ("shown", "padding", "causal", "side", "fill")

    who: tuple[str, ...] = setting(_NAMES)
    reads: Literal["tale", "noise"] = setting("tale", "Training text", options=READS)
    symbols: int = setting(19, "Different symbols", low=2, high=26, step=1)
    steps: int = setting(0, "Training steps (0 = default)", low=0, high=1_000_000, step=50)
    begin: str = setting("the old king", "Prompt", longest=MAX_PROMPT)
    first: str = setting("the cat sat on the mat", "First sentence", longest=MAX_CHARACTERS)
    second: str = setting("dogs bark", "Second sentence", longest=MAX_CHARACTERS)
    third: str = setting("it rained all night", "Third sentence", longest=MAX_CHARACTERS)
    shown: int = setting(2, low=0, high=2)
    padding: bool = setting(True)
    causal: bool = setting(True)
    side: Literal["right", "left"] = setting("right")
    fill: Literal["infinite", "finite", "self"] = setting("infinite")

    @property
    def task_name(self) -> str:
        return self.reads

    @property
    def task_fields(self) -> tuple[str, ...]:
        return ("symbols",) if self.reads == "noise" else ()

    def with_settings_of(self, config: RunConfig) -> MasksState:
        here = replace(self, reads=task_row(config.task).name)  # type: ignore[arg-type]  # one of TASKS
        return LabellingComparison.with_settings_of(here, config)

    @property
    def prompt(self) -> tuple[str, list[str]]:
        """Return the characters of the prompt that the models know, and messages about what was left out."""
        typed = self.begin.lower()
        odd = list(dict.fromkeys(character for character in typed if character not in LETTERS))
        known = "".join(character for character in typed if character in LETTERS)
        usable, example = known[:MAX_PROMPT], MasksState().begin
        messages = {
            f"The models know the letters a to z, the space and the full stop; left out: {quote_first(odd)}.": odd,
            f"The models read {MAX_PROMPT} letters; only the first {MAX_PROMPT} letters of the prompt are used.": (
                known != usable
            ),
            f"Write a prompt of at least one letter; until then it is “{example}”.": not usable.strip(),
        }
        return usable if usable.strip() else example, [message for message, applies in messages.items() if applies]

    @property
    def batch(self) -> list[list[str]]:
        """Return the words of each sentence, cut to the size of the matrices."""
        return [getattr(self, name).split()[:MAX_WORDS] for name in SENTENCES]

    @property
    def input_problems(self) -> list[str]:
        """Return a message for each sentence that was cut, and one if the whole batch is empty."""
        counts, room = {name: len(getattr(self, name).split()) for name in SENTENCES}, number_word(MAX_WORDS)
        messages = [
            f"The {name} sentence has {words} words. The matrices have room for {room}, so the first {room} are shown."
            for name, words in counts.items()
            if words > MAX_WORDS
        ]
        empty = "The batch is empty: write a word in one of the three sentences."
        return messages if any(self.batch) else [*messages, empty]
