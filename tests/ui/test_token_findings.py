"""Every sentence is held against the numbers it was made from, also where the message is false."""

from __future__ import annotations

import math
from typing import Any

import pytest

from explorer.inspection.leaks import Leak
from explorer.inspection.rows import Cell, Cut, Row
from explorer.inspection.tokens import Fitted, Kind, fitted
from explorer.tasks.text import TextConfig
from explorer.ui.token_findings import asked, first_merges, four_ways, in_all, leak, leaks_heading, origin, rate, ratio

PER_TOKEN: dict[Kind, float] = {"char": 1.0, "word": 3.81, "bpe": 2.49, "bytes": 1.92}
NONE: dict[Kind, float] = dict.fromkeys(PER_TOKEN, 0.0)


def test_rates_and_ratios_are_written_for_a_person() -> None:
    assert [rate(share) for share in (0.0, 0.0001, 0.2158, 1.0, math.nan)] == [
        "none",
        "< 0.1\u00a0%",
        "21.6\u00a0%",
        "100.0\u00a0%",
        "–",
    ]
    assert [ratio(value) for value in (2.4912, math.nan)] == ["2.49", "–"]


def test_four_ways_names_what_each_holds_and_loses() -> None:
    said = four_ways("Tiny Shakespeare", PER_TOKEN, {**NONE, "word": 0.2158}, ["char", "bytes"])
    assert "a token of BPE holds 2.49 characters, one of byte-level BPE 1.92." in said
    assert "A word holds 3.81, but 21.6\u00a0% of them are “<unk>”." in said
    assert said.endswith("Only characters and byte-level BPE give the text back.")
    assert "none is unknown" in four_ways("Toy", PER_TOKEN, NONE, ["bytes"])
    assert four_ways("Toy", PER_TOKEN, NONE, ["bytes"]).endswith("Only byte-level BPE gives the text back.")
    assert four_ways("Toy", PER_TOKEN, NONE, list(PER_TOKEN)).endswith("All four give this text back as it was.")
    assert four_ways("Toy", PER_TOKEN, NONE, []).endswith("None of them gives the text back as it was.")


def test_the_merges_are_told_with_their_counts() -> None:
    bpe: Fitted = fitted(TextConfig(corpus="brackets", size=5_000))["bpe"]
    said = first_merges(bpe, bpe.least + 10)
    assert f"{bpe.uses[0]:,} times" in said
    assert f"After 10 merges {bpe.lengths[0]:,} tokens have become {bpe.lengths[10]:,}." in said
    assert "merge" not in first_merges(bpe, 2).split("become")[0].split("tokens of the")[-1]
    assert "nothing is ever merged" in first_merges(fitted(TextConfig(corpus="toy", size=1_000))["char"], 9)


def rows_of(asked: list[list[bool]], places: list[int], **more: Any) -> Cut:
    batch = tuple(
        Row(place, tuple(Cell("a" if each or t == 0 else "", "b" * each, each) for t, each in enumerate(row)))
        for place, row in zip(places, asked, strict=True)
    )
    return Cut((batch,) * 3, **{"tokens": 100, "rows": 7, "targets": 70, "goes_on": False, **more})


def test_questions_and_padding_are_counted() -> None:
    every = rows_of([[True] * 4] * 2, [3, 9])
    assert asked(every, "blocks", 4).startswith("Two rows, 8 places, 8 questions: every position")
    some = rows_of([[True, True, False, False]], [3])
    assert asked(some, "sentences", 4) == (
        "One row, 4 places, 2 questions: every token of a line is asked for the next; 2 places are padding."
    )
    last = rows_of([[False, False, True]], [3])
    assert "1 question: only the last place of a row is asked; 1 place is padding" in asked(last, "prefixes", 3)
    assert "70 targets, and they need 7 rows, 10.0 targets a row." in in_all(every, "blocks")
    assert "they need 7 rows: one each." in in_all(every, "prefixes")


def test_where_rows_come_from_is_said_for_both_orders() -> None:
    assert origin(rows_of([[True]], [1_234])).startswith(
        "Row 1 begins at token 1,234, 1,234 and 1,234: every step some"
    )
    assert "goes on where it ended" in origin(rows_of([[True]], [3], goes_on=True))


@pytest.mark.parametrize(
    ("honest", "leaky", "said"),
    [
        (2.19, 0.82, "0.82 bits a character, where an unread end of the text would cost 2.19. The leak flatters the"),
        (2.19, 0.82, "same counts by 63%."),
        (2.00, 1.99, "hardly matters"),
        (2.00, 2.50, "even the harder one, by 25%."),
        (0.004, 0.001, "hardly matters"),
    ],
)
def test_a_leak_is_told_as_measured(honest: float, leaky: float, said: str) -> None:
    assert said in leak(Leak("blocks", honest, leaky))


def test_the_heading_tells_the_largest_leak_or_that_there_is_none() -> None:
    large, none = Leak("blocks", 2.19, 0.82), Leak("sentences", 2.0, 2.0)
    assert "Split into overlapping windows" in leaks_heading([large, none])
    assert "seems to need 0.82 bits a character. Asked honestly it needs 2.19." in leaks_heading([none, large])
    assert "no leak flatters" in leaks_heading([none, Leak("blocks", problem="too short")])
    assert "no leak flatters" in leaks_heading([Leak("blocks", 0.034, 0.031)])
    assert "too short" in leaks_heading([Leak("blocks", problem="x")])
    assert leak(Leak("sentences", problem="No line is long.")) == (
        "No line is long. So this leak cannot be measured here; another text may show it."
    )
