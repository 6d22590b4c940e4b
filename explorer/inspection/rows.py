"""How a text becomes rows to learn from: the first batches of a training, token by token, and where they come from."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from torch import Tensor

from explorer.tasks import corpora
from explorer.tasks.text import TextConfig
from explorer.tasks.tokens import Tokens, tokens_of
from explorer.tasks.windows import Batch, Blocks, Prefixes, Sentences, TextData, text_data

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
    steps_per_pass: int
    goes_on: bool  # whether a row goes on where the same row of the last step ended


def cut(config: TextConfig, rows: int = 4, steps: int = 3) -> Cut:
    """The first batches, of so many rows each, as training draws them. Raises TextError."""
    data = text_data(config)
    there = _places(config)
    batches = []
    for step in range(steps):
        batch, places = data.batch(SEED, 0, step, rows), there.batch(SEED, 0, step, rows).ids
        batches.append(tuple(_row(data, batch, places, i) for i in range(len(batch.ids))))
    total = len(tokens_of(config, corpora.text_of(config)).arrays["training"])
    return Cut(tuple(batches), total, data.steps_per_pass(rows), config.batches == "contiguous")


def _places(config: TextConfig) -> TextData:
    """The same rows of another text, each of whose tokens is the number of its place: so rows say where they are."""
    text = corpora.text_of(config)
    made = tokens_of(config, text)
    numbered = _FIRST + np.arange(len(made.arrays["training"]))
    kind = {"blocks": Blocks, "sentences": Sentences, "prefixes": Prefixes}[config.rows]
    return kind(config, text, Tokens(made.tokenizer, {**made.arrays, "training": numbered}))


def _row(data: TextData, batch: Batch, places: Tensor, i: int) -> Row:
    line = places[i].tolist()
    ids, targets = batch.ids[i].tolist(), batch.targets[i].tolist()
    asked = [True] * len(line) if batch.mask is None else batch.mask[i].tolist()
    read = len(line)
    if data.config.rows != "blocks":  # where the places no longer grow, there is padding
        read = next((t for t in range(1, len(line)) if line[t] != line[t - 1] + 1), len(line))
    names = data.tokenizer.tokens
    cells = []
    for t in range(len(line)):
        # A row of a prefix has one target; of a line, also those that stand between it and the next token it reads.
        known = asked[t] or (data.config.rows != "prefixes" and t < read - 1)
        cells.append(Cell(names[ids[t]] if t < read else "", names[targets[t]] if known else "", asked[t]))
    return Row(line[0] - _FIRST, tuple(cells))


def as_rows(config: TextConfig, rows: str) -> TextConfig:
    """The same text in other rows, split honestly."""
    split = "end" if rows == "blocks" else "sentences"
    batches = config.batches if rows == "blocks" else "random"
    return replace(config, rows=rows, split=split, batches=batches)
