"""The state of the page on induction heads: the row, the training settings, the heads that are shown and removed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import ClassVar, Literal

from explorer.experiments.labelling import INDUCTION_VARIANTS, VARIANTS
from explorer.tasks.sequence_labelling.induction import LETTERS, InductionConfig
from explorer.tokenization.words import Reading, fold_word, read_characters
from explorer.ui.state.experiment_state import LabellingComparison
from explorer.ui.state.fields import setting
from explorer.ui.training.model_input import check_heads

MAX_CHARACTERS = 60  # of a typed row, with spaces
DRAWN_SYMBOLS = 8  # of each copy in a drawn row
_TITLES = {VARIANTS[name].name: VARIANTS[name].title for name in INDUCTION_VARIANTS}
ROLE_TITLES: Mapping[str, str] = {  # of a head, in a sentence; the keys are those of `find_roles`
    "previous": "the previous-token head",
    "previous_control": "another head of layer 1",
    "induction": "the induction head",
    "induction_control": "another head of layer 2",
}
_ROLE_OPTIONS = {
    "previous": "Previous-token head",
    "previous_control": "Another head of layer 1",
    "induction": "Induction head",
    "induction_control": "Another head of layer 2",
}
_HEAD_FIELDS = ("layer", "head", "off", "flat", "unplaced")  # which head is enlarged, and what is changed
_REPLACEMENTS = {"zero": "zero", "mean": "its mean"}


@dataclass(frozen=True)
class InductionState(LabellingComparison):
    """A row of symbols, the trained models, a seed whose heads are shown, and a head that is removed in every seed."""

    TASKS: ClassVar[tuple[str, ...]] = ("induction",)

    who: tuple[str, ...] = setting(tuple(_TITLES), "Models", options=_TITLES)
    steps: int = setting(0, "Training steps (0 = default, 800)", low=0, high=1_000_000, step=100)
    row: str | None = setting(None, "Row of symbols", longest=MAX_CHARACTERS)  # None: a drawn row
    draw: int = setting(0, low=0, high=999)  # which row is drawn
    look: str = setting("two", "Model", longest=40)  # whose heads are shown
    replica: int = setting(0, "Seed", low=0, high=15)  # whose heads are shown
    step: int | None = setting(None, low=0, high=1e9)  # of the training; None: its end
    layer: int | None = setting(None, low=0, high=23)  # of the enlarged head; None: the induction head
    head: int | None = setting(None, low=0, high=15)
    at: int | None = setting(None, low=0, high=MAX_CHARACTERS)  # query position; None: the last
    view: Literal["lines", "matrix"] = setting("matrix")
    scale: Literal["one", "row"] = setting("one")
    sort: Literal["place", "previous", "itself", "first", "same", "after_same", "spread", "worth"] = setting("place")
    off: tuple[str, ...] = setting((), check=check_heads)  # heads of this seed whose output is zero
    flat: tuple[str, ...] = setting((), check=check_heads)  # heads of this seed with uniform attention
    unplaced: bool = setting(False)  # without positions
    without: Literal["previous", "previous_control", "induction", "induction_control"] = setting(
        "previous", "Removed head", options=_ROLE_OPTIONS
    )
    real: str = setting("", "Real model", longest=80)  # hub:NAME; empty: the first that is open
    by: Literal["zero", "mean"] = setting("zero", "Its output is replaced by", options=_REPLACEMENTS)

    @property
    def text(self) -> str:
        """The symbols of the typed row, or a drawn row: random symbols, and the same symbols again."""
        typed = self._reading.text
        symbols = LETTERS[: InductionConfig().symbols]
        drawn = "".join(Random(f"induction/{self.draw}").sample(symbols, DRAWN_SYMBOLS)) * 2
        return typed if len(typed) > 1 else drawn

    @property
    def unread(self) -> str:
        """A sentence about what the models do not read of the typed row; empty if they read everything."""
        if self.row is None:
            return ""
        one = f"A row needs two symbols. Shown is “{self.text}”." if len(self._reading.tokens) == 1 else ""
        return f"{self._reading.describe_unread(self.text)} {one}".strip()

    @property
    def _reading(self) -> Reading:
        task = InductionConfig()
        return read_characters("".join(fold_word(self.row or "").split()), LETTERS[: task.symbols], task.max_length)

    @property
    def shown_model(self) -> str:
        """The name of the model whose heads are shown: the chosen one if it is selected, otherwise the first."""
        return self.look if self.look in self.variants else next(iter(self.variants))

    @property
    def is_ablated(self) -> bool:
        """Whether a head of the shown seed is changed."""
        return bool(self.off or self.flat or self.unplaced)

    def with_text(self, text: str) -> InductionState:
        """Return the state with a typed row."""
        return replace(self, row=text, at=None)

    def with_next_draw(self) -> InductionState:
        """Return the state with another drawn row."""
        return replace(self, row=None, draw=(self.draw + 1) % 1_000, at=None)

    def with_model(self, name: str) -> InductionState:
        """Return the state with the heads of another model, unchanged and after training."""
        return replace(self.with_defaults("step", *_HEAD_FIELDS), look=name) if name != self.look else self

    def with_replica(self, replica: int) -> InductionState:
        """Return the state with the heads of another seed, unchanged; the training step stays."""
        return replace(self.with_defaults(*_HEAD_FIELDS), replica=replica)
