from __future__ import annotations

import random
from typing import Any

from explorer.inspection.language.line_overlap import LineOverlap, is_sorted, measure_line_overlap
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig

WORDS = [first + second for first in "abcdefghij" for second in "klmnopqrst"]


def own(lines: list[str], **settings: Any) -> TextConfig:
    return TextConfig(corpus="own", text=corpora.store_text("\n".join(lines) + "\n"), **{"held_out": 0.5} | settings)


def test_lines_of_both_parts_are_counted() -> None:
    long, other = "a line of more than twenty characters", "another one of more than twenty characters"
    training = ["KING:", long, "", "queen:", "x" * 40]
    held_out = ["KING:", long, other, "Queen:", "  KING: "]
    text = "\n".join(training) + "\n"
    config = own([*training, *held_out], held_out=1 - (len(text) + 0.5) / (len(text) + len("\n".join(held_out)) + 1))
    assert measure_line_overlap(config) == LineOverlap(5, 3, 2, 1)
    lower = TextConfig(corpus="own", text=config.text, held_out=config.held_out, lower=True)
    found = measure_line_overlap(lower)
    assert found == LineOverlap(5, 4, 2, 1)
    assert (found.repeated_share, found.long_repeated_share) == (0.8, 0.5)
    assert LineOverlap(0, 0, 0, 0).repeated_share == LineOverlap(0, 0, 0, 0).long_repeated_share == 0


def test_a_line_that_the_cut_divides_belongs_to_no_part_and_whole_lines_are_compared_as_they_are_split() -> None:
    config = own(["abcd"] * 10, held_out=0.45)  # the cut is at character 27 of 50, in the sixth line
    assert measure_line_overlap(config) == LineOverlap(4, 4, 0, 0)
    assert measure_line_overlap(own(["abcd" * 20])) == LineOverlap(0, 0, 0, 0), "one line, which the cut divides"
    lines = [f"{word} is the first of several words" for word in WORDS]
    settings = {"rows": "sentences", "split": "sentences", "held_out": 0.2, "test": 0.5}
    assert measure_line_overlap(own(lines, **settings)) == LineOverlap(20, 0, 20, 0)
    assert measure_line_overlap(own(lines * 2, **settings | {"held_out": 0.01})) == LineOverlap(2, 2, 2, 2)
    assert measure_line_overlap(own(WORDS, split="windows")) is None, "both parts share their lines"


def test_sorted_lines_are_detected() -> None:
    names = [word.capitalize() if index % 2 else word for index, word in enumerate(WORDS)]
    assert is_sorted("\n".join(names))
    assert not is_sorted("\n".join(reversed(names)))
    assert not is_sorted("\n".join(random.Random(0).sample(names, len(names))))
    assert is_sorted("\n\n".join([*names[50:53], *names])), "one of 102 pairs descends"
    assert not is_sorted("\n".join(names[:20])), "too few lines"
    assert not is_sorted("the same line\n" * 100)
