"""Properties of a text that make a held-out part easier or harder than it looks: repeated lines, and sorted lines.

A line that occurs both in the training part and in the held-out part can be predicted from memory. In a sorted text,
the held-out end is no sample of the rest: in a list of names it holds the last letters of the alphabet only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.token_arrays import TRAINING, sentence_lines, split_at_random, split_text

LONG_LINE: Final = 20  # characters that a line must exceed to be long: shorter ones, such as names, recur by chance
SORTED_SHARE: Final = 0.95  # of adjacent distinct lines in ascending order, above which a text is sorted
_MIN_PAIRS: Final = 20  # adjacent distinct lines for which the order is judged


@dataclass(frozen=True)
class LineOverlap:
    """How many lines of a held-out part also occur in the training part; empty lines do not count."""

    held_out: int
    repeated: int  # of them, those that occur in the training part
    long_held_out: int  # lines of more than `LONG_LINE` characters
    long_repeated: int

    @property
    def repeated_share(self) -> float:
        """The share of held-out lines that occur in the training part; 0 without lines."""
        return self.repeated / self.held_out if self.held_out else 0.0

    @property
    def long_repeated_share(self) -> float:
        """The same share for long lines."""
        return self.long_repeated / self.long_held_out if self.long_held_out else 0.0


def measure_line_overlap(config: TextConfig) -> LineOverlap | None:
    """Compare the lines of both parts; None for splits whose parts share lines. Raises LineageError without a text."""
    if config.split not in ("end", "sentences"):
        return None
    text = corpora.load_text(config)
    text = text.lower() if config.lower else text
    training, held_out = _end_lines(text, config) if config.split == "end" else _random_lines(text, config)
    known = set(training)
    repeated = [line in known for line in held_out]
    long = [len(line) > LONG_LINE for line in held_out]
    return LineOverlap(len(held_out), sum(repeated), sum(long), sum(map(all, zip(repeated, long, strict=True))))


def _end_lines(text: str, config: TextConfig) -> tuple[list[str], list[str]]:
    """Return the lines of both parts; a line that the cut divides belongs to neither."""
    training, held_out = split_text(text, config.held_out)
    if not training.endswith("\n"):
        training, held_out = training[: training.rfind("\n") + 1], held_out.partition("\n")[2]
    return _text_lines(training), _text_lines(held_out)


def _random_lines(text: str, config: TextConfig) -> tuple[list[str], list[str]]:
    lines = sentence_lines(text)
    parts = split_at_random(len(lines), config.held_out, config.test, config.split_seed)
    return (
        [line for line, part in zip(lines, parts, strict=True) if part == TRAINING],
        [line for line, part in zip(lines, parts, strict=True) if part != TRAINING],
    )


def _text_lines(text: str) -> list[str]:
    return [stripped for line in text.split("\n") if (stripped := line.strip())]


def is_sorted(text: str) -> bool:
    """Return whether the lines of a text are in alphabetical order, regardless of case; a few may be out of order."""
    return ascending_share(_text_lines(text)) > SORTED_SHARE


def ascending_share(lines: Sequence[str]) -> float:
    """Return the share of adjacent distinct lines in ascending order, regardless of case; 0 if they are too few."""
    folded = [line.casefold() for line in lines]
    ascending = [first < second for first, second in pairwise(folded) if first != second]
    return sum(ascending) / len(ascending) if len(ascending) >= _MIN_PAIRS else 0.0
