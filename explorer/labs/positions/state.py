"""The state of the page on positions: the pictures, the two sentences, and the training settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from explorer.experiments.labelling import POSITION_VARIANTS, VARIANTS
from explorer.tokenization.words import split_words
from explorer.ui.state.experiment_state import LabellingComparison
from explorer.ui.state.fields import setting

POSITION_COUNT = 40  # in the pictures: as many as the included run has learned vectors for
MAX_CHARACTERS = 120  # characters of a sentence
MAX_WORDS = 20  # words of a sentence that are read
_TITLES = {VARIANTS[name].name: VARIANTS[name].title for name in POSITION_VARIANTS}
_OUTPUT_ORDERS = {"copy": "the same", "reverse": "reversed"}


@dataclass(frozen=True)
class PositionsState(LabellingComparison):
    """The pictures of position encodings, the two sentences, and the settings of the copy task."""

    TASKS: ClassVar[tuple[str, ...]] = ("echo",)
    COMPONENT_FIELDS: ClassVar[tuple[str, ...]] = (
        *("width", "base", "turn_width", "turn_base"),
        *("place", "pair", "other", "draw", "after"),
    )

    who: tuple[str, ...] = setting(tuple(_TITLES), "Models", options=_TITLES)
    longest: int = setting(12, "Most digits in training", low=1, high=24, step=1)
    again: Literal["copy", "reverse"] = setting("copy", "Order of the copied digits", options=_OUTPUT_ORDERS)
    steps: int = setting(0, "Training steps (0 = default)", low=0, high=1_000_000, step=100)
    width: int = setting(32, low=2, high=128)
    base: float = setting(10_000.0, low=10.0, high=100_000.0)
    turn_width: int = setting(16, low=2, high=64)  # of a head
    turn_base: float = setting(1_000.0, low=10.0, high=100_000.0)
    place: int = setting(8, low=0, high=POSITION_COUNT - 1)
    pair: int = setting(2, low=0, high=63)
    other: int = setting(12, low=0, high=POSITION_COUNT - 1)  # position of the key
    draw: int = setting(0, low=0, high=20)  # seed of query and key; 0: both equal
    after: bool = setting(True)  # show the learned vectors after training, otherwise before
    first: str = setting("the dog bit the man", "One sentence", longest=MAX_CHARACTERS)
    second: str = setting("the man bit the dog", "The same words in another order", longest=MAX_CHARACTERS)

    @property
    def task_fields(self) -> tuple[str, ...]:
        return ("longest", "again")

    @property
    def component_state(self) -> dict[str, object]:
        """The fields that the component sets; widths are rounded down to even numbers: dimensions come in pairs."""
        return super().component_state | {name: getattr(self, name) // 2 * 2 for name in ("width", "turn_width")}

    @property
    def sentences(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The words of both sentences that are read; those of the example in place of an empty one."""
        first, second = (
            split_words(getattr(self, name))[:MAX_WORDS] or split_words(getattr(PositionsState(), name))
            for name in ("first", "second")
        )
        return first, second

    @property
    def sentence_problems(self) -> list[str]:
        """A message for each sentence that was cut, and one if a sentence is empty."""
        counts = {name: len(split_words(getattr(self, name))) for name in ("first", "second")}
        problems = [
            f"The {name} sentence has {count} words; {MAX_WORDS} are read. The rest was left out."
            for name, count in counts.items()
            if count > MAX_WORDS
        ]
        empty = "A sentence is empty, so an example is shown in its place: write a few words in both."
        return problems if all(counts.values()) else [*problems, empty]
