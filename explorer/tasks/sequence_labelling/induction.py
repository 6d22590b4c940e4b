"""The induction task: random symbols, and then the same symbols again; the model predicts the next one.

No symbol occurs twice in the first copy, and the length of a row varies, so that neither frequencies nor positions tell
how the second copy continues. A model that finds the earlier occurrence of the current symbol and predicts the symbol
after it makes no mistake there (Elhage et al. 2021, A mathematical framework for Transformer circuits; Olsson et al.
2022, In-context learning and induction heads).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from explorer.models.settings import setting
from explorer.tasks.sequence_labelling.config import PAD, LabellingConfig

VERSION = 1
LETTERS = "abcdefghijklmnopqrstuvwxyz"
ROLES = ("previous", "previous_control", "induction", "induction_control")  # of heads, see `find_roles`


@dataclass(frozen=True)
class InductionConfig(LabellingConfig):
    """The number of different symbols, and the lengths of the first copy."""

    symbols: int = setting(24, "Different symbols; none occurs twice in a copy.", 3, 26, label="Different symbols")
    shortest: int = setting(6, "Symbols of the shortest copy.", 3, 26, label="Shortest copy")
    longest: int = setting(12, "Symbols of the longest copy.", 3, 26, label="Longest copy")

    def __post_init__(self) -> None:
        if self.shortest > self.longest:
            raise ValueError(f"shortest = {self.shortest} is more than longest = {self.longest}")
        if self.longest > self.symbols:
            raise ValueError(f"longest = {self.longest} is more than symbols = {self.symbols}")

    @property
    def vocabulary(self) -> tuple[str, ...]:
        return (*LETTERS[: self.symbols], PAD)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(LETTERS[: self.symbols])

    @property
    def max_length(self) -> int:
        return 2 * self.longest

    @property
    def metrics(self) -> tuple[str, ...]:
        return ("accuracy", "second_copy_loss", "first_copy_loss", "previous_score", "induction_score")

    @property
    def chance_loss(self) -> float:
        """The loss of a uniform prediction, in nats per symbol."""
        return math.log(self.symbols)

    @property
    def known_symbols_loss(self) -> float:
        """The mean loss on the second copy of a uniform prediction over the symbols that the row has."""
        lengths = range(self.shortest, self.longest + 1)
        return sum((n - 1) * math.log(n) for n in lengths) / sum(n - 1 for n in lengths)
