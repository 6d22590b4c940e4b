"""How a text becomes rows to learn from: the first batches of a training, token by token, and where they come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from explorer.tasks import corpora
from explorer.tasks.text import TextConfig
from explorer.tasks.tokens import Tokens, tokens_of

Rows: TypeAlias = Literal["blocks", "sentences", "prefixes"]
SEED = 0  # of the training whose batches are shown
_FIRST = 2  # the number of the first place: those below are ids of padding


@dataclass(frozen=True)
class Cell:
    """One place of a row."""

    token: str  # what is read there; empty: padding
    target: str  # the token that comes next; empty: there is none
    asked: bool  # whether the loss asks for it


@dataclass(frozen=True)
class Row:
    """One row of a batch."""

    place: int  # of its first token, counted in the tokens to learn from
    cells: tuple[Cell, ...]

    @property
    def asked(self) -> int:
        """How many answers are asked of it."""
        return sum(cell.asked for cell in self.cells)


@dataclass(frozen=True)
class Cut:
    """The first batches of a training."""

    batches: tuple[tuple[Row, ...], ...]  # by step
    tokens: int  # to learn from
    rows: int  # that hold every target once
    targets: int
    goes_on: bool  # whether a row goes on where the same row of the last step ended


def cut(config: TextConfig, rows: int = 4, steps: int = 3) -> Cut:
    """The first batches, of so many rows each, as training draws them. Raises TextError."""
    from explorer.tasks import windows  # here: a page that only shows the results must not wait for torch

    data = windows.text_data(config)
    text = corpora.text_of(config)
    made = tokens_of(config, text)
    # The same rows of another text, each of whose tokens is the number of its place: so rows say where they are.
    total = len(made.arrays["training"])
    numbered = Tokens(made.tokenizer, {**made.arrays, "training": _FIRST + np.arange(total)})
    there = type(data)(config, text, numbered)
    batches = []
    for step in range(steps):
        batch, places = data.batch(SEED, 0, step, rows), there.batch(SEED, 0, step, rows).ids.tolist()
        ids, targets = batch.ids.tolist(), batch.targets.tolist()
        asked = [[True] * len(row) for row in ids] if batch.mask is None else batch.mask.tolist()
        lines = zip(places, ids, targets, asked, strict=True)
        batches.append(tuple(_row(config.rows, made.tokenizer.tokens, *line) for line in lines))
    return Cut(tuple(batches), total, data.training_rows, data.training_targets, config.batches == "contiguous")


def _row(
    rows: str, names: Sequence[str], places: list[int], ids: list[int], targets: list[int], asked: list[bool]
) -> Row:
    read = len(ids)
    if rows != "blocks":  # where the places no longer grow, there is padding
        read = next((t for t in range(1, len(ids)) if places[t] != places[t - 1] + 1), len(ids))
    cells = []
    for t in range(len(ids)):
        # A row of a prefix has one target; of a line, also those that stand between it and the next token it reads.
        known = asked[t] or (rows != "prefixes" and t < read - 1)
        cells.append(Cell(names[ids[t]] if t < read else "", names[targets[t]] if known else "", asked[t]))
    return Row(places[0] - _FIRST, tuple(cells))


def as_rows(config: TextConfig, rows: Rows) -> TextConfig:
    """The same text in other rows, split honestly."""
    if rows == "blocks":
        return replace(config, rows=rows, split="end")
    return replace(config, rows=rows, split="sentences", batches="random")
