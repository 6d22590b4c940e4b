"""Preview of training batches: the rows of the first batches of a text, token by token, with their positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from explorer.tasks.text import corpora
from explorer.tasks.text import rows as text_rows
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.token_arrays import Tokens, load_tokens

Rows: TypeAlias = Literal["blocks", "sentences", "prefixes"]
SEED = 0  # of the training whose batches are previewed
_ID_OFFSET = 2  # added to positions so that they differ from padding ids


@dataclass(frozen=True)
class PreviewToken:
    """One position of a row."""

    token: str  # the input token; empty: padding
    target: str  # the next token; empty: none
    in_loss: bool  # whether the target counts in the loss


@dataclass(frozen=True)
class PreviewRow:
    """One row of a batch."""

    position: int  # of its first token in the training tokens
    cells: tuple[PreviewToken, ...]

    @property
    def loss_positions(self) -> int:
        """The number of targets that count in the loss."""
        return sum(cell.in_loss for cell in self.cells)


@dataclass(frozen=True)
class BatchPreview:
    """The first batches of a training."""

    batches: tuple[tuple[PreviewRow, ...], ...]  # by step
    tokens: int  # in the training part
    rows: int  # needed to contain every target once
    targets: int
    rows_continue: bool  # whether each row continues the same row of the previous batch


def preview_batches(config: TextConfig, rows: int = 4, steps: int = 3) -> BatchPreview:
    """Return the first `steps` batches of `rows` rows as training draws them. Raises TextError."""
    data = text_rows.text_data(config)
    text = corpora.load_text(config)
    tokens_of_text = load_tokens(config, text)
    # The same rows of a text whose tokens are their own positions show where each row comes from.
    total = len(tokens_of_text.arrays["training"])
    numbered = Tokens(tokens_of_text.tokenizer, {**tokens_of_text.arrays, "training": _ID_OFFSET + np.arange(total)})
    position_data = type(data)(config, text, numbered)
    batches = []
    for step in range(steps):
        batch, positions = data.batch(SEED, 0, step, rows), position_data.batch(SEED, 0, step, rows).ids.tolist()
        ids, targets = batch.ids.tolist(), batch.targets.tolist()
        loss_mask = [[True] * len(row) for row in ids] if batch.mask is None else batch.mask.tolist()
        rows_of_batch = zip(positions, ids, targets, loss_mask, strict=True)
        batches.append(
            tuple(_preview_row(config.rows, tokens_of_text.tokenizer.tokens, *line) for line in rows_of_batch)
        )
    return BatchPreview(
        tuple(batches), total, data.training_rows, data.training_targets, config.batches == "contiguous"
    )


def _preview_row(
    rows: str, names: Sequence[str], positions: list[int], ids: list[int], targets: list[int], loss_mask: list[bool]
) -> PreviewRow:
    length = len(ids)
    if rows != "blocks":  # padding begins where the positions stop growing
        length = next((t for t in range(1, len(ids)) if positions[t] != positions[t - 1] + 1), len(ids))
    cells = []
    for t in range(len(ids)):
        # A prefix has one target; a line also shows the tokens that are the next inputs.
        shown = loss_mask[t] or (rows != "prefixes" and t < length - 1)
        cells.append(
            PreviewToken(names[ids[t]] if t < length else "", names[targets[t]] if shown else "", loss_mask[t])
        )
    return PreviewRow(positions[0] - _ID_OFFSET, tuple(cells))


def with_rows(config: TextConfig, rows: Rows) -> TextConfig:
    """Return the configuration with other rows and a split without leakage."""
    if rows == "blocks":
        return replace(config, rows=rows, split="end")
    return replace(config, rows=rows, split="sentences", batches="random")
