"""Rows of tokens for language models, for training and for evaluation on held-out targets.

    text_data(config).batch(seed, order, step, batch_size)      a training batch, determined by its arguments
    text_data(config).held_out_batches()                        every held-out target once

In every row, `targets` are `ids` shifted by one token. `TextData` has four subclasses, one for each kind of rows and
split (see `TextConfig`): Blocks, Windows, Sentences, Prefixes.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import torch
from jaxtyping import Bool, Int, Integer
from numpy import ndarray
from torch import Generator, Tensor

from explorer.byte_cache import Once, drop_where
from explorer.errors import TextError
from explorer.seeds import generator
from explorer.tasks.text import corpora, token_arrays
from explorer.tasks.text.config import TextConfig, evaluation_rows
from explorer.tasks.text.token_arrays import Tokens

Part: TypeAlias = Literal["validation", "test"]  # of what is held out
_MAX_ORDER_BYTES = 2**27  # bytes of cached permutations of rows
_MAX_FULL_BATCH_IDS = 30_000_000  # ids in a batch of all training targets


class Batch(NamedTuple):
    """Input rows and their targets."""

    ids: Int[Tensor, "batch time"]
    targets: Int[Tensor, "batch time"]
    mask: Bool[Tensor, "batch time"] | None = None  # targets in the loss; None: all

    @property
    def target_count(self) -> int:
        """How many targets are in the loss."""
        return self.targets.numel() if self.mask is None else int(self.mask.sum())

    @property
    def counted_targets(self) -> Int[Tensor, " targets"]:
        """The targets in the loss."""
        return self.targets.flatten() if self.mask is None else self.targets[self.mask]


class TextData(ABC):
    """A text as rows with a train/test split. Shared between trainings; all methods are thread-safe.

    The `training_rows` rows of training contain each of its `training_targets` once (a random batch of blocks may start
    between them); the same holds for the held-out part.

    Here the held-out part is either the validation or the test split; the training part is the same for both.
    """

    training_rows: int
    training_targets: int
    held_out_rows: int
    held_out_targets: int
    characters_per_token: float  # of held-out targets; bits per character = nats per token / this / ln 2
    unknown_rate: float  # share of held-out targets that are the unknown token

    def __init__(self, config: TextConfig, text: str, tokens: Tokens, part: Part = "validation") -> None:
        self.config, self.part = config, part
        self.tokenizer = tokens.tokenizer
        self.vocabulary = len(tokens.tokenizer.tokens)
        self.padding = tokens.tokenizer.padding or 0  # any token is fine where the loss is masked
        self.characters = len(text)
        self.tokens = sum(len(tokens.arrays.get(name, ())) for name in ("training", "held_out", "test"))

    @abstractmethod
    def steps_per_pass(self, batch_size: int) -> int:
        """Return the number of batches that contain as many targets as the training part."""

    @abstractmethod
    def batch(self, seed: int, order: int, step: int, batch_size: int) -> Batch:
        """Return the batch of a step by the seeds of the replica and of the order. Raises TextError."""

    def resets_state(self, step: int, batch_size: int) -> bool:
        """Return whether the recurrent state is reset: whether the rows do not continue those of the last step."""
        return True

    def held_out_batches(self, targets: int | None = None, rows: int = 0) -> Iterator[Batch]:
        """Yield every held-out target once, or about `targets` of them in evenly spaced rows, `rows` in a batch."""
        rows = rows or evaluation_rows(self.config.context)
        for indices in _evenly_spaced_rows(self.held_out_rows, self.held_out_targets, targets, rows):
            yield self._read_rows(indices, is_held_out=True)

    def training_sample(self, targets: int, rows: int = 0) -> Iterator[Batch]:
        """Yield about `targets` training targets in evenly spaced rows, always the same, for the training loss."""
        rows = rows or evaluation_rows(self.config.context)
        for indices in _evenly_spaced_rows(self.training_rows, self.training_targets, targets, rows):
            yield self._read_rows(indices, is_held_out=False)

    def held_out_contiguous(self, rows: int, length: int, targets: int | None = None) -> Iterator[Batch]:
        """Yield the held-out part for a model that carries its recurrent state from batch to batch.

        The part is cut into `rows` parallel rows, which are read `length` tokens at a time. Every held-out target
        occurs once, or about `targets` of them from the start of each row. Raises ValueError for other kinds of rows.
        """
        raise ValueError(f"rows = {self.config.rows} with split = {self.config.split} cannot be read contiguously")

    @abstractmethod
    def full_training_batch(self) -> Batch:
        """Return all training targets in one batch, for counting n-grams. Raises TextError if they are too many."""

    @abstractmethod
    def _read_rows(self, rows: Int[ndarray, " rows"], is_held_out: bool) -> Batch:
        """Return rows of the held-out or of the training part, by index."""

    def _unknown_share(self, targets: Integer[ndarray, " targets"]) -> float:
        return 0.0 if self.tokenizer.unknown is None else float((targets == self.tokenizer.unknown).mean())


class TokenStream:
    """The tokens of a text in order. Target t is token t + 1."""

    def __init__(self, ids: Integer[ndarray, " tokens"], padding: int) -> None:
        self.ids, self.padding = ids, padding
        self.targets = max(len(ids) - 1, 0)

    def read(self, positions: Int[ndarray, "rows time"], ends: Int[ndarray, " rows"] | None = None) -> Batch:
        """Return the tokens at these positions and their targets; padded and masked from the positions `ends` on."""
        inside = None if ends is None else positions < ends[:, None]
        if inside is None or inside.all():
            return Batch(*(torch.from_numpy(self.ids[positions + shift].astype(np.int64)) for shift in (0, 1)))
        positions = np.where(inside, positions, 0)
        ids, targets = (
            np.where(inside, self.ids[positions + shift].astype(np.int64), self.padding) for shift in (0, 1)
        )
        return _to_batch(ids, targets, inside)

    def rows(self, starts: Int[ndarray, " rows"], length: int) -> Batch:
        """Return rows of `length` targets that start at the positions `starts`."""
        return self.read(starts[:, None] + np.arange(length))

    def blocks(self, blocks: Int[ndarray, " rows"], length: int) -> Batch:
        """Return some of the consecutive blocks of the stream, by index; the last block may be short."""
        return self.read((blocks * length)[:, None] + np.arange(length), np.full(len(blocks), self.targets))


class Blocks(TextData):
    """Blocks of the stream; the end of the stream is held out."""

    def __init__(self, config: TextConfig, text: str, tokens: Tokens, part: Part = "validation") -> None:
        super().__init__(config, text, tokens, part)
        self.tokens -= len(tokens.arrays) - 1  # each held-out part repeats the last token before it
        training = tokens.arrays["training"]
        self._training_stream = TokenStream(training[: round(config.training_share * len(training))], self.padding)
        held_out = tokens.arrays.get("held_out" if part == "validation" else "test", np.zeros(0, np.uint8))
        self._held_out_stream = TokenStream(held_out, self.padding)
        context = config.context
        self.training_targets, self.held_out_targets = self._training_stream.targets, self._held_out_stream.targets
        _check_context(context, self.training_targets)
        if not self.held_out_targets:
            raise TextError(
                f"The {part} split at the end of this text holds no token to evaluate."
                if config.test or part == "test"
                else f"The last {config.held_out:.0%} of this text hold no token to evaluate.",
                "Give more text, hold out more of it, or choose smaller tokens.",
            )
        self.training_rows = math.ceil(self.training_targets / context)
        self.held_out_rows = math.ceil(self.held_out_targets / context)
        encoded_text = text.lower() if config.lower else text
        parts = token_arrays.split_stream(encoded_text, config.held_out, config.test)
        self.characters_per_token = len(getattr(parts, part)) / self.held_out_targets
        self.unknown_rate = self._unknown_share(self._held_out_stream.ids[1:])

    def steps_per_pass(self, batch_size: int) -> int:
        if self.config.batches == "contiguous":
            row_length, piece_length = self._row_and_piece_length(batch_size)
            return row_length // piece_length
        return math.ceil(self.training_targets / (batch_size * self.config.context))

    def batch(self, seed: int, order: int, step: int, batch_size: int) -> Batch:
        if self.config.batches == "contiguous":
            return self._next_pieces(seed, order, step, batch_size)
        start_count = self.training_targets - self.config.context + 1
        starts = torch.randint(start_count, (batch_size,), generator=generator(seed, f"rows/{order}/{step}"))
        return self._training_stream.rows(starts.numpy(), self.config.context)

    def resets_state(self, step: int, batch_size: int) -> bool:
        return self.config.batches == "random" or step % self.steps_per_pass(batch_size) == 0

    def _row_and_piece_length(self, batch_size: int) -> tuple[int, int]:
        """Return the targets of each parallel row of a pass, and of a batch's piece. Raises TextError."""
        row_length = self.training_targets // batch_size
        if not row_length:
            raise TextError(
                f"A batch of {batch_size:,} contiguous rows needs as many training tokens; this text has "
                f"{self.training_targets:,}.",
                "Give more text, or a smaller batch.",
            )
        return row_length, min(self.config.context, row_length)

    def _next_pieces(self, seed: int, order: int, step: int, batch_size: int) -> Batch:
        """Return the next piece of each parallel row. Every pass starts at a random position of the circular text."""
        row_length, piece_length = self._row_and_piece_length(batch_size)
        pass_index, index = divmod(step, row_length // piece_length)
        row_length -= row_length % piece_length
        first = torch.randint(self.training_targets, (), generator=generator(seed, f"lanes/{order}/{pass_index}"))
        starts = int(first) + np.arange(batch_size) * row_length + index * piece_length
        stream = self._training_stream  # circular: the first target follows the last one
        return stream.read((starts[:, None] + np.arange(piece_length)) % stream.targets)

    def held_out_contiguous(self, rows: int, length: int, targets: int | None = None) -> Iterator[Batch]:
        row_length = math.ceil(self.held_out_targets / rows)
        starts = np.arange(rows) * row_length
        ends = np.minimum(starts + row_length, self.held_out_targets)
        read_length = row_length if targets is None else min(row_length, math.ceil(targets / rows))
        for offset in range(0, read_length, length):
            yield self._held_out_stream.read((starts + offset)[:, None] + np.arange(length), ends)

    def full_training_batch(self) -> Batch:
        return self._training_stream.rows(np.zeros(1, dtype=np.int64), self.training_targets)

    def _read_rows(self, rows: Int[ndarray, " rows"], is_held_out: bool) -> Batch:
        return (self._held_out_stream if is_held_out else self._training_stream).blocks(rows, self.config.context)


class Windows(TextData):
    """Overlapping blocks at every position, random ones held out; this leaks: training draws their neighbours."""

    def __init__(self, config: TextConfig, text: str, tokens: Tokens, part: Part = "validation") -> None:
        super().__init__(config, text, tokens, part)
        context = config.context
        self._stream = TokenStream(tokens.arrays["training"], self.padding)
        _check_context(context + 1, self._stream.targets)  # one window for training, one for evaluation
        windows = self._stream.targets - context + 1
        held_out = min(max(1, round(config.held_out * self._stream.targets / context)), windows - 1)
        self.training_rows = max(1, round(config.training_share * (windows - held_out)))
        shuffled = torch.randperm(windows, generator=Generator().manual_seed(config.split_seed))[:held_out].numpy()
        # The number of training windows that start before each held-out window.
        self._free_before = np.sort(shuffled) - np.arange(held_out)
        validation = max(1, int((1 - config.test) * held_out))
        self._held_out_starts = np.sort(shuffled[:validation] if part == "validation" else shuffled[validation:])
        self.held_out_rows = len(self._held_out_starts)
        _check_part(part, self.held_out_rows)
        self.held_out_targets = self.held_out_rows * context
        self.training_targets = self.training_rows * context
        self.characters_per_token = len(text.lower() if config.lower else text) / self.tokens
        self.unknown_rate = self._unknown_share(self._stream.ids)

    @property
    def overlap(self) -> float:
        """The share of held-out targets that are also in a training window."""
        context, trained = self.config.context, np.arange(self.training_rows)
        starts = trained + np.searchsorted(self._free_before, trained, "right")
        begins = np.bincount(starts, minlength=self._stream.targets)
        is_read = np.cumsum(begins - np.bincount(starts + context, minlength=len(begins) + 1)[: len(begins)]) > 0
        return float(is_read[self._held_out_starts[:, None] + np.arange(context)].mean())

    def steps_per_pass(self, batch_size: int) -> int:
        return math.ceil(self._read_targets / (batch_size * self.config.context))

    def batch(self, seed: int, order: int, step: int, batch_size: int) -> Batch:
        rows = torch.randint(self.training_rows, (batch_size,), generator=generator(seed, f"rows/{order}/{step}"))
        return self._read_rows(rows.numpy(), is_held_out=False)

    def full_training_batch(self) -> Batch:
        """Return the text up to the last training window: every held-out target there is also in a training window."""
        return self._stream.rows(np.zeros(1, dtype=np.int64), self._read_targets)

    @property
    def _read_targets(self) -> int:
        """The targets from the start of the text to the end of the last training window."""
        if self.config.training_share == 1:
            return self._stream.targets
        last = np.array([self.training_rows - 1])
        return int(last[0] + np.searchsorted(self._free_before, last, side="right")[0]) + self.config.context

    def _read_rows(self, rows: Int[ndarray, " rows"], is_held_out: bool) -> Batch:
        free = self._held_out_starts[rows] if is_held_out else rows + np.searchsorted(self._free_before, rows, "right")
        return self._stream.rows(free, self.config.context)


class Sentences(TextData):
    """Lines, each from its first token and padded; lines or single targets (pairs of line, position) are held out."""

    def __init__(self, config: TextConfig, text: str, tokens: Tokens, part: Part = "validation") -> None:
        super().__init__(config, text, tokens, part)
        # The tokens of all lines, and the number of tokens of each line.
        self.ids, lengths = tokens.arrays["training"], tokens.arrays["lengths"].astype(np.int64)
        firsts = np.cumsum(lengths) - lengths
        has_target = lengths >= 2
        # Of each line: the position of its first token, its number of tokens, its number of targets.
        self._firsts, self._lengths = firsts[has_target], lengths[has_target]
        if len(self._lengths) < 2:
            raise TextError(
                "Fewer than two lines of this text have two tokens: nothing can be held out.",
                "Choose smaller tokens, rows = blocks, or another text.",
            )
        self._targets = np.minimum(self._lengths, config.context + 1) - 1
        self._first_pairs = np.cumsum(self._targets) - self._targets
        self._line_of_pair = np.repeat(np.arange(len(self._lengths), dtype=np.int32), self._targets)
        # Of each pair: whether it is a training target, whether it is one of the held-out part.
        part_of_pair = self._split(has_target)
        self._training_pairs = self._first_lines(part_of_pair == token_arrays.TRAINING)
        self._held_out_pairs = part_of_pair == (token_arrays.VALIDATION if part == "validation" else token_arrays.TEST)
        self._training_rows = self._rows_of(self._training_pairs)
        self._held_out_rows = self._rows_of(self._held_out_pairs)
        self.training_rows, self.held_out_rows = len(self._training_rows), len(self._held_out_rows)
        self.training_targets = int(self._training_pairs.sum())
        self.held_out_targets = int(self._held_out_pairs.sum())
        _check_part(part, self.held_out_targets)
        cached_orders = max(2, min(64, _MAX_ORDER_BYTES // (4 * self.training_rows)))
        self._order_of_pass = lru_cache(cached_orders)(partial(_shuffle_rows, self.training_rows))
        # The positions of the held-out targets among the tokens of all lines.
        self.held_out_positions = self._last_context_positions(np.flatnonzero(self._held_out_pairs)) + 1
        self.characters_per_token = (
            int(tokens.arrays["characters"][self.held_out_positions].sum(dtype=np.int64)) / self.held_out_targets
        )
        self.unknown_rate = self._unknown_share(self.ids[self.held_out_positions])

    def _split(self, has_target: Bool[ndarray, " lines"]) -> Int[ndarray, " pairs"]:
        """Return the part of each pair. `has_target`: which of the lines of the text have any pair."""
        config = self.config
        if config.split == "pairs":
            count = len(self._line_of_pair)
            return token_arrays.split_at_random(count, config.held_out, config.test, config.split_seed)
        # A tokenizer that learns from training lines is trained before it is known which lines have a pair.
        count = len(has_target) if config.tokenizer_from_training else len(self._targets)
        part_of_line = token_arrays.split_at_random(count, config.held_out, config.test, config.split_seed)
        return (part_of_line[has_target] if config.tokenizer_from_training else part_of_line)[self._line_of_pair]

    @property
    def training_positions(self) -> Int[ndarray, " targets"]:
        """The positions of the training targets among the tokens of all lines."""
        return self._last_context_positions(np.flatnonzero(self._training_pairs)) + 1

    def _first_lines(self, pairs: Bool[ndarray, " pairs"]) -> Bool[ndarray, " pairs"]:
        """Return the training pairs of the share of their lines that training reads, from the first line on."""
        if self.config.training_share == 1:
            return pairs
        lines = self._lines_of(pairs)
        last_line = lines[max(1, round(self.config.training_share * len(lines))) - 1]
        return pairs & (self._line_of_pair <= last_line)

    def _lines_of(self, pairs: Bool[ndarray, " pairs"]) -> Int[ndarray, " lines"]:
        return np.flatnonzero(np.bincount(self._line_of_pair, weights=pairs)).astype(np.int32)

    def _rows_of(self, pairs: Bool[ndarray, " pairs"]) -> Int[ndarray, " rows"]:
        """Return the rows that contain any of these pairs; here a row is a line."""
        return self._lines_of(pairs)

    def _last_context_positions(self, pairs: Int[ndarray, " pairs"]) -> Int[ndarray, " pairs"]:
        """Return the positions of the last input token of each pair."""
        lines = self._line_of_pair[pairs]
        return self._firsts[lines] + pairs - self._first_pairs[lines]

    def steps_per_pass(self, batch_size: int) -> int:
        return math.ceil(self.training_rows / batch_size)

    def batch(self, seed: int, order: int, step: int, batch_size: int) -> Batch:
        """Return a batch of a pass over all rows in random order; the last batch of a pass may be smaller."""
        pass_index, index = divmod(step, self.steps_per_pass(batch_size))
        order_of_rows = self._order_of_pass(seed, f"rows/{order}/{pass_index}")
        return self._read_rows(order_of_rows[index * batch_size : (index + 1) * batch_size], is_held_out=False)

    def full_training_batch(self) -> Batch:
        """Return all training lines, padded to the longest one. Raises TextError if they are too many."""
        lines = self._lines_of(self._training_pairs)
        width = int(self._targets[lines].max())
        if len(lines) * width > _MAX_FULL_BATCH_IDS:
            raise TextError(
                f"{len(lines):,} lines of up to {width:,} tokens are too many for one batch.",
                "Choose a shorter context, rows = blocks, or less text.",
            )
        return self._read_lines(lines, self._training_pairs, width)

    def _read_rows(self, rows: Int[ndarray, " rows"], is_held_out: bool) -> Batch:
        lines, pairs = self._training_rows, self._training_pairs
        if is_held_out:
            lines, pairs = self._held_out_rows, self._held_out_pairs
        return self._read_lines(lines[rows], pairs, self.config.context)

    def _read_lines(self, lines: Int[ndarray, " rows"], pair_mask: Bool[ndarray, " pairs"], width: int) -> Batch:
        """Return lines of `width` tokens whose mask has the targets in `pair_mask`."""
        offsets = np.arange(width + 1)
        inside = offsets < self._lengths[lines][:, None]
        positions = np.where(inside, self._firsts[lines][:, None] + offsets, 0)
        ids = np.where(inside, self.ids[positions].astype(np.int64), self.padding)
        has_target = inside[:, 1:]
        pairs = np.where(has_target, self._first_pairs[lines][:, None] + offsets[:-1], 0)
        return _to_batch(ids[:, :-1], ids[:, 1:], has_target & pair_mask[pairs])


class Prefixes(Sentences):
    """The same pairs, each in its own row: the tokens before the target, and padding up to the full width."""

    def _rows_of(self, pairs: Bool[ndarray, " pairs"]) -> Int[ndarray, " rows"]:
        return np.flatnonzero(pairs).astype(np.int32)

    def _read_rows(self, rows: Int[ndarray, " rows"], is_held_out: bool) -> Batch:
        pairs = (self._held_out_rows if is_held_out else self._training_rows)[rows]
        firsts, lasts = self._firsts[self._line_of_pair[pairs]][:, None], self._last_context_positions(pairs)[:, None]
        positions = firsts + np.arange(self.config.context)
        ids = np.where(positions <= lasts, self.ids[np.minimum(positions, lasts)].astype(np.int64), self.padding)
        targets = np.full(ids.shape, self.padding)
        targets[:, -1] = self.ids[lasts[:, 0] + 1]
        mask = np.zeros(ids.shape, dtype=bool)
        mask[:, -1] = True
        return _to_batch(ids, targets, mask)


_data: Once[tuple[TextConfig, Part], TextData] = Once()


def text_data(config: TextConfig, part: Part = "validation") -> TextData:
    """Return the rows of a configuration and a held-out part, computed once. Raises LineageError without the text."""
    if config.corpus == "own":
        corpora.load_text(config)  # the rows are shared by all visitors; only who may read the text gets them
    return _data.get((config, part), lambda: _build_text_data(config, part))


def reset() -> None:
    """Forget the rows of every configuration."""
    _data.drop_where(lambda key: True)


def drop_text_data(sha: str) -> None:
    """Drop the text of a visitor whose session ended, and all that was made of it: tokens, rows, sentences, pairs."""
    corpora.drop_text(sha)

    def is_made_of_it(key: Any) -> bool:
        if not isinstance(key, tuple) or not isinstance(key[0], Once):
            return False
        task = key[1][0] if isinstance(key[1], tuple) else key[1]
        return sha in (task, getattr(task, "text", ""))

    drop_where(is_made_of_it)


def _build_text_data(config: TextConfig, part: Part) -> TextData:
    text = corpora.load_text(config)
    tokens = token_arrays.load_tokens(config, text)
    if config.rows == "blocks":
        return (Blocks if config.split == "end" else Windows)(config, text, tokens, part)
    return (Sentences if config.rows == "sentences" else Prefixes)(config, text, tokens, part)


def _to_batch(
    ids: Int[ndarray, "batch time"], targets: Int[ndarray, "batch time"], mask: Bool[ndarray, "batch time"]
) -> Batch:
    return Batch(*(torch.from_numpy(np.ascontiguousarray(array)) for array in (ids, targets, mask)))


def _shuffle_rows(rows: int, seed: int, purpose: str) -> Int[ndarray, " rows"]:
    order = torch.randperm(rows, generator=generator(seed, purpose)).numpy()
    return order.astype(np.int32)  # small, because many are cached


def _check_context(context: int, targets: int) -> None:
    if targets < context:
        raise TextError(
            f"This text has {targets + 1:,} training tokens; rows with this context need at least {context + 1:,}.",
            "Give a shorter context, or more text.",
        )


def _check_part(part: Part, targets: int) -> None:
    if not targets:
        raise TextError(f"The {part} split of this text is empty.", "Give more text, or hold out more of it.")


def _evenly_spaced_rows(
    rows: int, targets: int, max_targets: int | None, batch_rows: int
) -> Iterator[Int[ndarray, " batch"]]:
    """Yield batches of row indices: all rows, or evenly spaced rows with about `max_targets` of the targets."""
    count = rows if max_targets is None else min(rows, max(1, round(rows * max_targets / targets)))
    for first in range(0, count, batch_rows):
        yield np.arange(first, min(first + batch_rows, count)) * rows // count
