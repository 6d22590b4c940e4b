from __future__ import annotations

from dataclasses import replace

import pytest

from explorer.inspection.language.batch_preview import Rows, preview_batches, with_rows
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.token_arrays import sentence_lines

TEXT = TextConfig(corpus="repeats", size=3_000, context=8)
CHARACTERS = corpora.load_text(TEXT)
LINES = sentence_lines(CHARACTERS)


@pytest.mark.parametrize("batches", ["random", "contiguous"])
def test_a_block_starts_at_its_position_and_has_a_target_everywhere(batches: str) -> None:
    preview = preview_batches(replace(with_rows(TEXT, "blocks"), **{"batches": batches}))
    training = CHARACTERS[:2700]
    assert (preview.tokens, preview.targets, [len(batch) for batch in preview.batches]) == (2700, 2699, [4, 4, 4])
    for row in (row for batch in preview.batches for row in batch):
        ring = training[:-1] * 2  # a continued row may start again at the beginning of the text
        assert "".join(cell.token for cell in row.cells) == ring[row.position : row.position + 8]
        assert [cell.target for cell in row.cells[:-1]] == [cell.token for cell in row.cells[1:]]
    places = [[row.position for row in batch] for batch in preview.batches]
    goes_on = all((b - a) % 2699 == 8 for a, b in zip(*places[:2], strict=True))
    assert preview.rows_continue == goes_on == (batches == "contiguous")


@pytest.mark.parametrize("context", [3, 120])
def test_a_line_starts_at_its_first_token_and_ends_with_padding(context: int) -> None:
    preview = preview_batches(replace(with_rows(TEXT, "sentences"), context=context), rows=6)
    for row in preview.batches[0]:
        line = next(line for i, line in enumerate(LINES) if sum(map(len, LINES[:i])) == row.position)
        length = min(len(line), context)
        assert [cell.token for cell in row.cells] == [*line[:length], *[""] * (context - length)]
        assert row.loss_positions == min(len(line) - 1, context)
        assert [cell.target for cell in row.cells if cell.in_loss] == list(line[1 : row.loss_positions + 1])


def test_a_prefix_has_one_target_at_its_last_position() -> None:
    preview = preview_batches(replace(with_rows(TEXT, "prefixes"), context=30), rows=6)
    assert preview.rows == preview.targets
    for row in preview.batches[0]:
        assert [(cell.in_loss, bool(cell.target)) for cell in row.cells] == [(False, False)] * 29 + [(True, True)]
        read = "".join(cell.token for cell in row.cells) + row.cells[-1].target
        assert "".join(LINES)[row.position :].startswith(read)
    contiguous = replace(with_rows(TEXT, "blocks"), batches="contiguous")
    assert with_rows(contiguous, "sentences").split == "sentences"
    assert with_rows(contiguous, "prefixes").batches == "random" and with_rows(contiguous, "blocks") == contiguous


@pytest.mark.parametrize("rows", ["sentences", "prefixes"])
def test_padding_is_distinguished_from_the_first_token(rows: Rows) -> None:
    own = corpora.store_text("ab cd ef gh ij klm nop\n" * 12)
    text = TextConfig(corpus="own", text=own, tokenizer="bpe", context=12)
    for row in preview_batches(with_rows(text, rows), rows=200).batches[0]:
        has_token = [bool(cell.token) for cell in row.cells]
        assert has_token == sorted(has_token, reverse=True) and "<pad>" not in [cell.token for cell in row.cells]
        assert sum(has_token) == 7 if rows == "sentences" else 1 <= sum(has_token) <= 6
