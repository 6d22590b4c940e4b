from __future__ import annotations

from dataclasses import replace

import pytest

from explorer.inspection.rows import Rows, as_rows, cut
from explorer.tasks import corpora
from explorer.tasks.text import TextConfig
from explorer.tasks.tokens import lines_of

TEXT = TextConfig(corpus="repeats", size=3_000, context=8)
CHARACTERS = corpora.text_of(TEXT)


@pytest.mark.parametrize("batches", ["random", "contiguous"])
def test_a_block_is_read_where_it_says_and_asks_everywhere_for_the_next_token(batches: str) -> None:
    found = cut(replace(as_rows(TEXT, "blocks"), **{"batches": batches}))
    training = CHARACTERS[:2700]
    assert found.tokens == len(training) and found.targets == len(training) - 1
    assert [len(batch) for batch in found.batches] == [4, 4, 4]
    for row in (row for batch in found.batches for row in batch):
        ring = training[:-1] * 2  # a row that goes on may begin the text anew
        assert "".join(cell.token for cell in row.cells) == ring[row.place : row.place + 8]
        assert [cell.target for cell in row.cells[:-1]] == [cell.token for cell in row.cells[1:]]
        assert row.asked == 8
    assert found.goes_on == (batches == "contiguous")


def test_contiguous_rows_go_on_where_they_ended_and_random_ones_do_not() -> None:
    for batches, goes_on in (("contiguous", True), ("random", False)):
        found = cut(replace(as_rows(TEXT, "blocks"), **{"batches": batches}))
        places = [[row.place for row in batch] for batch in found.batches]
        assert all((b - a) % (found.tokens - 1) == 8 for a, b in zip(*places[:2], strict=True)) == goes_on


@pytest.mark.parametrize("context", [3, 40, 120])
def test_a_line_is_read_from_its_first_token_then_comes_padding(context: int) -> None:
    lines = lines_of(CHARACTERS)
    found = cut(replace(as_rows(TEXT, "sentences"), context=context), rows=6)
    for row in found.batches[0]:
        read = "".join(cell.token for cell in row.cells)
        line = next(line for i, line in enumerate(lines) if sum(map(len, lines[:i])) == row.place)
        assert line.startswith(read)
        assert len(read) == min(len(line), context)
        assert [bool(cell.token) for cell in row.cells] == [True] * len(read) + [False] * (context - len(read))
        assert row.asked == min(len(line) - 1, context)
        assert [cell.target for cell in row.cells if cell.asked] == list(line[1 : row.asked + 1])


def test_a_prefix_asks_one_question_at_its_last_place() -> None:
    lines = lines_of(CHARACTERS)
    found = cut(replace(as_rows(TEXT, "prefixes"), context=30), rows=6)
    assert found.rows == found.targets
    for row in found.batches[0]:
        assert [cell.asked for cell in row.cells] == [False] * 29 + [True]
        assert [bool(cell.target) for cell in row.cells] == [False] * 29 + [True]
        read = "".join(cell.token for cell in row.cells)
        assert "".join(lines)[row.place :].startswith(read + row.cells[-1].target)


@pytest.mark.parametrize("rows", ["sentences", "prefixes"])
def test_padding_is_never_taken_for_the_first_token_of_the_text(rows: Rows) -> None:
    text = TextConfig(corpus="own", text=corpora.keep("ab cd ef gh ij klm nop\n" * 12), tokenizer="bpe", context=12)
    found = cut(as_rows(text, rows), rows=200)
    for row in found.batches[0]:
        there = [bool(cell.token) for cell in row.cells]
        assert there == sorted(there, reverse=True)
        assert "<pad>" not in [cell.token for cell in row.cells]
        assert sum(there) == 7 if rows == "sentences" else 1 <= sum(there) <= 6


def test_rows_of_lines_are_split_by_line_and_never_go_on() -> None:
    contiguous = replace(as_rows(TEXT, "blocks"), batches="contiguous")
    assert as_rows(contiguous, "sentences").split == "sentences"
    assert as_rows(contiguous, "prefixes").batches == "random"
    assert as_rows(contiguous, "blocks") == contiguous
