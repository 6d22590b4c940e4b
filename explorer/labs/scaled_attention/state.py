"""The state of the page on scaled dot-product attention: the small tables, the model, and the training settings."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from explorer.errors import InvalidSetting, shorten
from explorer.experiments.labelling import SCALING_VARIANTS, VARIANTS
from explorer.ui.state.experiment_state import LabellingComparison
from explorer.ui.state.fields import at_most, setting
from explorer.ui.training.model_input import MAX_TEXT_LENGTH, HeadSelection

MIN_SIZE, MAX_SIZE = 2, 6  # tokens, and dimensions of the small tables
MAX_WORDS_CHARACTERS = 80  # characters of the words of the small tables
MAX_ABSOLUTE = 100.0  # of a number in a table
STEPS = ("scores", "scaled", "masked", "weights", "out")
_CELL_NAME = re.compile(rf"(?:{'|'.join(STEPS)})\.\d{{1,2}}\.\d{{1,2}}")


def _check_table(given: object) -> None:
    values = given if isinstance(given, tuple) else ()
    if len(values) > MAX_SIZE * MAX_SIZE or not all(math.isfinite(v) and abs(v) <= MAX_ABSOLUTE for v in values):
        raise InvalidSetting(
            f"A table of this page has at most {MAX_SIZE} rows and {MAX_SIZE} columns of numbers from "
            f"−{MAX_ABSOLUTE:g} to {MAX_ABSOLUTE:g}; one in the address was left out."
        )


def _check_cell(given: object) -> None:
    if not _CELL_NAME.fullmatch(str(given)):
        raise InvalidSetting(
            f"“{shorten(str(given))}” names no cell. Write step.row.column, counted from 0: scores.2.1."
        )


def _check_padding(given: object) -> None:
    if not (isinstance(given, tuple) and all(0 <= v < MAX_SIZE for v in given)):
        raise InvalidSetting(f"Padding names tokens from 0 to {MAX_SIZE - 1}.")


_NAMES = tuple(VARIANTS[name].name for name in SCALING_VARIANTS)
_SOURCES = {"tables": "Small tables", "model": "A trained model"}


@dataclass(frozen=True)
class ScaledAttentionState(LabellingComparison):
    """The small tables or the model that they come from, the width of the random vectors, and the training settings."""

    TASKS: ClassVar[tuple[str, ...]] = ("echo",)
    COMPONENT_FIELDS: ClassVar[tuple[str, ...]] = (
        *("width", "q", "k", "v", "draw", "divide"),
        *("mask", "padding", "at"),
    )
    TABLE_FIELDS: ClassVar[tuple[str, ...]] = (*COMPONENT_FIELDS, "source", "words", "model", "say", "layer", "head")

    who: tuple[str, ...] = setting(_NAMES)
    steps: int = setting(0, "Training steps (0 = default)", low=0, high=1_000_000, step=50)
    source: Literal["tables", "model"] = setting("tables", "Q, K and V from", options=_SOURCES)
    words: str = setting("the cat sat down", "Two to six words", check=at_most(MAX_WORDS_CHARACTERS))
    width: int = setting(4, low=MIN_SIZE, high=MAX_SIZE)
    q: tuple[float, ...] = setting((), check=_check_table)  # row by row; empty: drawn with the seed `draw`
    k: tuple[float, ...] = setting((), check=_check_table)
    v: tuple[float, ...] = setting((), check=_check_table)
    draw: int = setting(0, low=0, high=9999)  # a seed; 0: hand-made numbers
    divide: bool = setting(True)
    mask: Literal["none", "causal", "padding"] = setting("none")
    padding: tuple[int, ...] = setting((3,), check=_check_padding)
    at: str = setting("", check=_check_cell)  # the selected cell: step.row.column
    model: str = setting(HeadSelection.model, "Model")
    say: str | None = setting(None, "Text", longest=MAX_TEXT_LENGTH)  # None: an example text of the model
    layer: int = setting(HeadSelection.layer, "Layer", low=0, high=63)
    head: int = setting(HeadSelection.head, "Head", low=0, high=63)
    real: str = setting("", "Real model", longest=80)  # hub:NAME; empty: the first that is open
    wide: int = setting(64, low=1, high=1024)  # d_k of the random vectors

    @property
    def tokens(self) -> list[str]:
        """Return the words of the small tables, two to six."""
        words = self.words.split()[:MAX_SIZE]
        return words + [f"word {i + 1}" for i in range(len(words), MIN_SIZE)]

    @property
    def input_problems(self) -> list[str]:
        """Return messages about words and tables that could not be used."""
        count, messages = len(self.words.split()), []
        if not MIN_SIZE <= count <= MAX_SIZE:
            first = f"; the first {MAX_SIZE} are shown" * (count > MAX_SIZE)
            words = f"{count or 'no'} word{'s' * (count != 1)}"
            messages.append(f"The sentence has {words}; the tables hold {MIN_SIZE} to {MAX_SIZE}{first}.")
        if broken := [name.upper() for name in "qkv" if len(getattr(self, name)) % self.width]:
            messages.append(
                f"The numbers of {' and '.join(broken)} do not fill rows of {self.width}; the default numbers are "
                f"shown. Give a multiple of {self.width} numbers, or another width."
            )
        return messages

    @property
    def component_state(self) -> dict[str, object]:
        """The fields that the component sets; a table that does not fit the width is left empty."""
        return super().component_state | {name: () for name in "qkv" if len(getattr(self, name)) % self.width}

    def with_token_count(self, count: int) -> ScaledAttentionState:
        """Return the state with that many tokens: the last ones are removed, new ones are named by their number."""
        words = self.tokens[:count]
        words += [f"word{i + 1}" for i in range(len(words), min(count, MAX_SIZE))]
        padding = tuple(i for i in self.padding if i < len(words)) or (len(words) - 1,)
        return replace(self, words=" ".join(words), padding=padding) if len(words) >= MIN_SIZE else self

    def with_model(self, model: str, examples: tuple[str, ...] = ()) -> ScaledAttentionState:
        """Return the state with another model at its first head. A typed text stays; one of the `examples`
        does not.
        """
        return replace(self, model=model, layer=0, head=0, at="", say=None if self.say in examples else self.say)
