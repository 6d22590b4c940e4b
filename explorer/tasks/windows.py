"""Rows of tokens for a language model: what training draws, and what is held out from it.

    text_data(config).batch(seed, order, step, batch_size)      a batch to learn from; follows from its arguments
    text_data(config).held_out()                                every held-out target once

In every row, `targets` are `ids` shifted by one: the token at each place, and the one that comes next. `TextData` has
four kinds, one for each way to cut and to split (see `TextConfig`): Blocks, Windows, Sentences, Prefixes.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Int, Integer
from numpy import ndarray
from torch import Generator, Tensor

from explorer.errors import TextError
from explorer.seeds import generator
from explorer.tasks import corpora
from explorer.tasks import tokens as token_arrays
from explorer.tasks.text import TextConfig
from explorer.tasks.tokens import Once, Tokens

_MOST_SHUFFLED = 2**27  # bytes of remembered orders of rows
_MOST_WHOLE = 30_000_000  # ids in one batch of everything


class Batch(NamedTuple):
    """Rows to read, and the token that follows at each place."""

    ids: Int[Tensor, "batch time"]
    targets: Int[Tensor, "batch time"]
    mask: Bool[Tensor, "batch time"] | None = None  # which targets count; None: all of them


class TextData(ABC):
    """A text cut into rows, and split. Shared by all who train on it; every method may be called from any thread.

    Training has `training_rows` rows that hold each of its `training_targets` once (a random batch of blocks may begin
    anywhere between them), and so has the held-out part.
    """

    training_rows: int
    training_targets: int
    held_out_rows: int
    held_out_targets: int
    characters_per_token: float  # of the held-out targets; bits per character = nats a token / this / ln 2
    unknown_rate: float  # share of the held-out targets that the tokenizer does not know

    def __init__(self, config: TextConfig, text: str, made: Tokens) -> None:
        self.config = config
        self.tokenizer = made.tokenizer
        self.vocabulary = len(made.tokenizer.tokens)
        self.padding = made.tokenizer.padding or 0  # where nothing counts any token will do
        self.characters = len(text)
        self.tokens = sum(len(array) for name, array in made.arrays.items() if name in ("training", "held_out"))

    @abstractmethod
    def steps_per_pass(self, batch_size: int) -> int:
        """Batches after which as many targets were read as there are to learn from."""

    @abstractmethod
    def batch(self, seed: int, order: int, step: int, batch_size: int) -> Batch:
        """The batch of a step (counted from 0), for ever the same. Raises TextError."""

    def starts_cold(self, step: int, batch_size: int) -> bool:
        """Whether this step's rows begin anew, and do not go on where those of the last step ended."""
        return True

    def held_out(self, targets: int | None = None, rows: int = 256) -> Iterator[Batch]:
        """Every held-out target once; or an evenly spread part with about so many. In batches of so many rows."""
        for chosen in _spread(self.held_out_rows, self.held_out_targets, targets, rows):
            yield self._held_out(chosen)

    def trained_on(self, targets: int, rows: int = 256) -> Iterator[Batch]:
        """An evenly spread part of the training targets, always the same, for the training loss."""
        for chosen in _spread(self.training_rows, self.training_targets, targets, rows):
            yield self._training(chosen)

    def held_out_lanes(self, lanes: int, length: int, targets: int | None = None) -> Iterator[Batch]:
        """The held-out part read side by side in lanes, piece after piece, by a model that carries its state on.

        Every held-out target once; or about so many of them, from the beginning of each lane.
        """
        raise ValueError(f"rows = {self.config.rows} with split = {self.config.split} are never read on: each is cold")

    @abstractmethod
    def whole_training(self) -> Batch:
        """Everything there is to learn from, at once, for counting. Raises TextError."""

    @abstractmethod
    def _held_out(self, rows: Int[ndarray, " rows"]) -> Batch: ...

    @abstractmethod
    def _training(self, rows: Int[ndarray, " rows"]) -> Batch: ...

    def _unknown(self, targets: Integer[ndarray, " targets"]) -> float:
        return 0.0 if self.tokenizer.unknown is None else float((targets == self.tokenizer.unknown).mean())


class Stream:
    """The tokens of a text one after the other. Target t is token t + 1, read after token t."""

    def __init__(self, ids: Integer[ndarray, " tokens"], padding: int) -> None:
        self.ids, self.padding = ids, padding
        self.targets = max(len(ids) - 1, 0)

    def rows(self, starts: Int[ndarray, " rows"], length: int) -> Batch:
        """Rows of so many targets, from these places on."""
        cut = torch.from_numpy(self.ids[starts[:, None] + np.arange(length + 1)].astype(np.int64))
        return Batch(cut[:, :-1].contiguous(), cut[:, 1:].contiguous())

    def rows_until(self, starts: Int[ndarray, " rows"], ends: Int[ndarray, " rows"], length: int) -> Batch:
        """The same, but each row has no targets from its end on: padded and masked."""
        places = starts[:, None] + np.arange(length)
        inside = places < ends[:, None]
        if inside.all():
            return self.rows(starts, length)
        places = np.where(inside, places, 0)
        ids = np.where(inside, self.ids[places].astype(np.int64), self.padding)
        targets = np.where(inside, self.ids[places + 1].astype(np.int64), self.padding)
        return Batch(torch.from_numpy(ids), torch.from_numpy(targets), torch.from_numpy(inside))

    def ring(self, starts: Int[ndarray, " rows"], length: int) -> Batch:
        """The same, but after the last target comes the first one: a row may begin anew in its midst."""
        places = (starts[:, None] + np.arange(length)) % self.targets
        ids, targets = self.ids[places].astype(np.int64), self.ids[places + 1].astype(np.int64)
        return Batch(torch.from_numpy(ids), torch.from_numpy(targets))

    def blocks(self, blocks: Int[ndarray, " rows"], length: int) -> Batch:
        """Some of the consecutive blocks that the stream falls into; the last one may be short."""
        return self.rows_until(blocks * length, np.full(len(blocks), self.targets), length)


class Blocks(TextData):
    """Blocks of the stream; its end is held out."""

    def __init__(self, config: TextConfig, text: str, made: Tokens) -> None:
        super().__init__(config, text, made)
        self.tokens -= 1  # the held-out part repeats the last token before it
        self._learned = Stream(made.arrays["training"], self.padding)
        self._asked = Stream(made.arrays["held_out"], self.padding)
        context = config.context
        self.training_targets, self.held_out_targets = self._learned.targets, self._asked.targets
        _check_context(context, self.training_targets)
        if not self.held_out_targets:
            raise TextError(
                f"The last {config.held_out:.0%} of this text hold no token to be asked about.",
                "Give more text, hold out more of it, or choose smaller tokens.",
            )
        self.training_rows = math.ceil(self.training_targets / context)
        self.held_out_rows = math.ceil(self.held_out_targets / context)
        read = text.lower() if config.lower else text
        self.characters_per_token = len(token_arrays.parts(read, config.held_out)[1]) / self.held_out_targets
        self.unknown_rate = self._unknown(self._asked.ids[1:])

    def steps_per_pass(self, batch_size: int) -> int:
        if self.config.batches == "contiguous":
            lane, piece = self._lanes(batch_size)
            return lane // piece
        return math.ceil(self.training_targets / (batch_size * self.config.context))

    def batch(self, seed: int, order: int, step: int, batch_size: int) -> Batch:
        if self.config.batches == "contiguous":
            return self._next_pieces(seed, order, step, batch_size)
        places = self.training_targets - self.config.context + 1
        starts = torch.randint(places, (batch_size,), generator=generator(seed, f"rows/{order}/{step}"))
        return self._learned.rows(starts.numpy(), self.config.context)

    def starts_cold(self, step: int, batch_size: int) -> bool:
        return self.config.batches == "random" or step % self.steps_per_pass(batch_size) == 0

    def _lanes(self, batch_size: int) -> tuple[int, int]:
        """How many targets there are for each lane, and in each piece of it."""
        lane = self.training_targets // batch_size
        if not lane:
            raise TextError(
                f"A batch of {batch_size:,} rows that go on needs as many tokens to learn from; this text has "
                f"{self.training_targets:,}.",
                "Give more text, or a smaller batch.",
            )
        return lane, min(self.config.context, lane)

    def _next_pieces(self, seed: int, order: int, step: int, batch_size: int) -> Batch:
        """The next piece of each lane. Every pass begins at another place, and reads the text as a ring."""
        lane, piece = self._lanes(batch_size)
        passed, at = divmod(step, lane // piece)
        lane -= lane % piece
        first = torch.randint(self.training_targets, (), generator=generator(seed, f"lanes/{order}/{passed}"))
        return self._learned.ring(int(first) + np.arange(batch_size) * lane + at * piece, piece)

    def held_out_lanes(self, lanes: int, length: int, targets: int | None = None) -> Iterator[Batch]:
        lane = math.ceil(self.held_out_targets / lanes)
        starts = np.arange(lanes) * lane
        ends = np.minimum(starts + lane, self.held_out_targets)
        read = lane if targets is None else min(lane, math.ceil(targets / lanes))
        for at in range(0, read, length):
            yield self._asked.rows_until(starts + at, ends, length)

    def whole_training(self) -> Batch:
        return self._learned.rows(np.zeros(1, dtype=np.int64), self.training_targets)

    def _held_out(self, rows: Int[ndarray, " rows"]) -> Batch:
        return self._asked.blocks(rows, self.config.context)

    def _training(self, rows: Int[ndarray, " rows"]) -> Batch:
        return self._learned.blocks(rows, self.config.context)


class Windows(TextData):
    """Blocks at every place of the text overlap; some at random are held out, with about that share of all targets.

    A leak: no held-out window is ever drawn in training, but windows that begin a token earlier or later are.
    """

    def __init__(self, config: TextConfig, text: str, made: Tokens) -> None:
        super().__init__(config, text, made)
        context = config.context
        self._stream = Stream(made.arrays["training"], self.padding)
        _check_context(context + 1, self._stream.targets)  # one window to learn from, one to be asked about
        windows = self._stream.targets - context + 1
        self.held_out_rows = min(max(1, round(config.held_out * self._stream.targets / context)), windows - 1)
        self.training_rows = windows - self.held_out_rows
        shuffled = torch.randperm(windows, generator=Generator().manual_seed(config.split_seed))
        self._held_out_starts = np.sort(shuffled[: self.held_out_rows].numpy())
        # How many windows that are not held out begin before each one that is.
        self._free_before = self._held_out_starts - np.arange(self.held_out_rows)
        self.held_out_targets = self.held_out_rows * context
        self.training_targets = self.training_rows * context
        self.characters_per_token = len(text.lower() if config.lower else text) / self.tokens
        self.unknown_rate = self._unknown(self._stream.ids)

    def steps_per_pass(self, batch_size: int) -> int:
        return math.ceil(self._stream.targets / (batch_size * self.config.context))

    def batch(self, seed: int, order: int, step: int, batch_size: int) -> Batch:
        rows = torch.randint(self.training_rows, (batch_size,), generator=generator(seed, f"rows/{order}/{step}"))
        return self._training(rows.numpy())

    def whole_training(self) -> Batch:
        """The whole text: whatever is held out is also in a window to learn from."""
        return self._stream.rows(np.zeros(1, dtype=np.int64), self._stream.targets)

    def _held_out(self, rows: Int[ndarray, " rows"]) -> Batch:
        return self._stream.rows(self._held_out_starts[rows], self.config.context)

    def _training(self, rows: Int[ndarray, " rows"]) -> Batch:
        return self._stream.rows(rows + np.searchsorted(self._free_before, rows, side="right"), self.config.context)


class Sentences(TextData):
    """Lines, each from its first token; whole ones are held out, or single targets. Padding is masked.

    The pairs (line, position) are counted line by line: all targets of the first line, then those of the second.
    """

    def __init__(self, config: TextConfig, text: str, made: Tokens) -> None:
        super().__init__(config, text, made)
        self._ids, lengths = made.arrays["training"], made.arrays["lengths"].astype(np.int64)
        firsts = np.cumsum(lengths) - lengths
        asking = lengths >= 2
        # Of each line: where its first token lies, how many it has, how many targets.
        self._firsts, self._lengths = firsts[asking], lengths[asking]
        if len(self._lengths) < 2:
            raise TextError(
                "Fewer than two lines of this text have two tokens: nothing can be held out.",
                "Choose smaller tokens, rows = blocks, or another text.",
            )
        self._targets = np.minimum(self._lengths, config.context + 1) - 1
        self._first_pairs = np.cumsum(self._targets) - self._targets
        self._line_of_pair = np.repeat(np.arange(len(self._lengths), dtype=np.int32), self._targets)
        # Of each pair: whether it is learned from, whether it is asked about.
        self._learned = self._split()
        self._asked = ~self._learned
        self._training_rows, self._held_out_rows = self._rows_of(self._learned), self._rows_of(self._asked)
        self.training_rows, self.held_out_rows = len(self._training_rows), len(self._held_out_rows)
        self.training_targets = int(self._learned.sum())
        self.held_out_targets = len(self._learned) - self.training_targets
        remembered = max(2, min(64, _MOST_SHUFFLED // (4 * self.training_rows)))
        self._shuffled = lru_cache(remembered)(partial(_shuffled, self.training_rows))
        asked = self._places(np.flatnonzero(self._asked)) + 1
        self.characters_per_token = int(made.arrays["characters"][asked].sum(dtype=np.int64)) / self.held_out_targets
        self.unknown_rate = self._unknown(self._ids[asked])

    def _split(self) -> Bool[ndarray, " pairs"]:
        """Shuffle, and take the first ones to learn from: the assignment's own split, but with a seed of its own."""
        whole = self.config.split == "sentences"
        count = len(self._targets) if whole else len(self._line_of_pair)
        shuffled = torch.randperm(count, generator=Generator().manual_seed(self.config.split_seed)).numpy()
        learned = np.zeros(count, dtype=bool)
        learned[shuffled[: min(max(1, int((1 - self.config.held_out) * count)), count - 1)]] = True
        return learned[self._line_of_pair] if whole else learned

    def _lines_of(self, pairs: Bool[ndarray, " pairs"]) -> Int[ndarray, " lines"]:
        return np.flatnonzero(np.bincount(self._line_of_pair, weights=pairs)).astype(np.int32)

    def _rows_of(self, pairs: Bool[ndarray, " pairs"]) -> Int[ndarray, " rows"]:
        """The rows that hold any of these pairs: here a row is a line."""
        return self._lines_of(pairs)

    def _places(self, pairs: Int[ndarray, " pairs"]) -> Int[ndarray, " pairs"]:
        """Where the last token lies that a pair reads."""
        lines = self._line_of_pair[pairs]
        places: Int[ndarray, " pairs"] = self._firsts[lines] + pairs - self._first_pairs[lines]
        return places

    def steps_per_pass(self, batch_size: int) -> int:
        return math.ceil(self.training_rows / batch_size)

    def batch(self, seed: int, order: int, step: int, batch_size: int) -> Batch:
        """Every row once in a pass, in an order drawn for it; the last batch of a pass may be smaller."""
        passed, at = divmod(step, self.steps_per_pass(batch_size))
        shuffled = self._shuffled(seed, f"rows/{order}/{passed}")
        return self._training(shuffled[at * batch_size : (at + 1) * batch_size])

    def whole_training(self) -> Batch:
        """All lines to learn from, as wide as the longest of them."""
        lines = self._lines_of(self._learned)
        width = int(self._targets[lines].max())
        if len(lines) * width > _MOST_WHOLE:
            raise TextError(
                f"{len(lines):,} lines of up to {width:,} tokens are too much to count at once.",
                "Choose a shorter context, rows = blocks, or less text.",
            )
        return self._read_lines(lines, self._learned, width)

    def _held_out(self, rows: Int[ndarray, " rows"]) -> Batch:
        return self._read_lines(self._held_out_rows[rows], self._asked, self.config.context)

    def _training(self, rows: Int[ndarray, " rows"]) -> Batch:
        return self._read_lines(self._training_rows[rows], self._learned, self.config.context)

    def _read_lines(self, lines: Int[ndarray, " rows"], counted: Bool[ndarray, " pairs"], width: int) -> Batch:
        """Lines with all their tokens, and of their targets those that count."""
        along = np.arange(width + 1)
        there = along < self._lengths[lines][:, None]
        places = np.where(there, self._firsts[lines][:, None] + along, 0)
        ids = np.where(there, self._ids[places].astype(np.int64), self.padding)
        asked = there[:, 1:]
        pairs = np.where(asked, self._first_pairs[lines][:, None] + along[:-1], 0)
        return _batch(ids[:, :-1], ids[:, 1:], asked & counted[pairs])


class Prefixes(Sentences):
    """The same pairs, but each is a row of its own, as in the assignment: what stands before the target, padding up to
    the full width, and the answer read off at the last place, whatever stands there."""

    def _rows_of(self, pairs: Bool[ndarray, " pairs"]) -> Int[ndarray, " rows"]:
        return np.flatnonzero(pairs).astype(np.int32)

    def _held_out(self, rows: Int[ndarray, " rows"]) -> Batch:
        return self._read_pairs(self._held_out_rows[rows])

    def _training(self, rows: Int[ndarray, " rows"]) -> Batch:
        return self._read_pairs(self._training_rows[rows])

    def _read_pairs(self, pairs: Int[ndarray, " rows"]) -> Batch:
        firsts, lasts = self._firsts[self._line_of_pair[pairs]][:, None], self._places(pairs)[:, None]
        places = firsts + np.arange(self.config.context)
        ids = np.where(places <= lasts, self._ids[np.minimum(places, lasts)].astype(np.int64), self.padding)
        targets = np.full(ids.shape, self.padding)
        targets[:, -1] = self._ids[lasts[:, 0] + 1]
        mask = np.zeros(ids.shape, dtype=bool)
        mask[:, -1] = True
        return _batch(ids, targets, mask)


_data: Once[TextConfig, TextData] = Once(8)


def text_data(config: TextConfig) -> TextData:
    """The rows of a configuration, made once. Raises TextError, also NeedsText and CorpusMissing."""
    return _data.get(config, lambda: _text_data(config))


def forget(sha: str) -> None:
    """Drop a visitor's own text and all that was made of it: their session ended."""
    corpora.forget(sha)
    token_arrays.forget(sha)
    _data.forget(lambda config: config.text == sha)


def _text_data(config: TextConfig) -> TextData:
    text = corpora.text_of(config)
    made = token_arrays.tokens_of(config, text)
    if config.rows == "blocks":
        return (Blocks if config.split == "end" else Windows)(config, text, made)
    return (Sentences if config.rows == "sentences" else Prefixes)(config, text, made)


def _batch(
    ids: Int[ndarray, "batch time"], targets: Int[ndarray, "batch time"], mask: Bool[ndarray, "batch time"]
) -> Batch:
    return Batch(*(torch.from_numpy(np.ascontiguousarray(array)) for array in (ids, targets, mask)))


def _shuffled(rows: int, seed: int, purpose: str) -> Int[ndarray, " rows"]:
    return torch.randperm(rows, generator=generator(seed, purpose)).numpy().astype(np.int32)  # many are remembered


def _check_context(context: int, targets: int) -> None:
    if targets < context:
        raise TextError(
            f"This text gives {targets + 1:,} tokens to learn from, and rows of this context need at least "
            f"{context + 1:,}.",
            "Give a shorter context, or more text.",
        )


def _spread(rows: int, targets: int, wanted: int | None, batch: int) -> Iterator[Int[ndarray, " batch"]]:
    """All rows, or evenly spread ones that hold about so many of all the targets; in batches."""
    count = rows if wanted is None else min(rows, max(1, round(rows * wanted / targets)))
    for at in range(0, count, batch):
        yield np.arange(at, min(at + batch, count)) * rows // count
