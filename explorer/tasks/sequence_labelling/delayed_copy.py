"""The delayed-copy task (`echo` in stored runs): digits, a separator, and the same digits again.

Only the positions after the separator are in the loss. To predict a digit a model has to attend to a position that is
as many tokens away as there are digits, so it needs positional information, also at lengths that were not trained.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from explorer.lazy_libraries import torch
from explorer.models.settings import setting
from explorer.seeds import generator
from explorer.tasks.sequence_labelling.config import PAD, LabellingConfig
from explorer.tasks.sequence_labelling.rows import Rows, masked_mean, score, spread_lengths

VERSION = 1
DIGITS = "0123456789"
SEPARATOR = "|"
EXTRA_DIGITS = 8  # by which the longest evaluated row exceeds the longest trained row


@dataclass(frozen=True)
class DelayedCopyConfig(LabellingConfig):
    """Number of digits, and the order in which they are repeated."""

    shortest: int = setting(1, "Digits in the shortest row that is trained.", 1, 32, label="Shortest row")
    longest: int = setting(12, "Digits in the longest row that is trained.", 1, 32, label="Longest row")
    symbols: int = setting(10, "Different digits.", 2, 10, label="Different digits")
    again: Literal["copy", "reverse"] = setting(
        "copy", "Said again as they were, or from the last to the first.", label="Order of the copy"
    )

    metrics = ("exact", "loss")

    def __post_init__(self) -> None:
        if self.shortest > self.longest:
            raise ValueError(f"shortest = {self.shortest} is more than longest = {self.longest}")

    @property
    def vocabulary(self) -> tuple[str, ...]:
        return (*DIGITS[: self.symbols], SEPARATOR, PAD)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(DIGITS[: self.symbols])

    @property
    def max_length(self) -> int:
        return 2 * (self.longest + EXTRA_DIGITS)

    @property
    def answers(self) -> dict[str, int]:
        return {"by_length": len(evaluation_lengths(self))}


def evaluation_lengths(config: DelayedCopyConfig) -> tuple[int, ...]:
    """Return the lengths of the final evaluation: from 1 to a few digits more than were trained."""
    return tuple(range(1, config.longest + EXTRA_DIGITS + 1))


FINAL_ROWS_PER_LENGTH, INTERIM_ROWS_PER_LENGTH = 100, 16  # in the last and in earlier evaluations


def batch(config: DelayedCopyConfig, seed: int, order: int, step: int, size: int) -> Rows:
    """Return the training batch of one replica and step: new digits, all lengths about equally often."""
    rng = generator(seed, f"echo/{order}/{step}")
    return draw_rows(config, spread_lengths(config.shortest, config.longest, size, rng), rng)


def evaluation_rows(config: DelayedCopyConfig, lengths: Sequence[int], count: int, seed: int = 0) -> Rows:
    """Return `count` rows of each length in the order of the lengths, equal for all models."""
    return draw_rows(config, [n for n in lengths for _ in range(count)], generator(seed, "echo/asked"))


def draw_rows(config: DelayedCopyConfig, lengths: Sequence[int], rng: torch.Generator) -> Rows:
    """Return rows of random digits of these lengths."""
    longest = max(lengths)
    digits = torch.randint(config.symbols, (len(lengths), longest), generator=rng)
    # The token at position t of a row of n digits: digit t, the separator at n, then the first n - 1 repeated digits.
    position, n = torch.arange(2 * longest), torch.tensor(lengths)[:, None]
    copied_from = (2 * n - position if config.again == "reverse" else position - n - 1).clamp(0, longest - 1)
    first_half = torch.where(
        position < n, digits.gather(1, position.clamp_max(longest - 1).expand(len(lengths), -1)), config.symbols
    )
    ids = torch.where((position > n) & (position < 2 * n), digits.gather(1, copied_from), first_half)
    ids = ids.masked_fill(position >= 2 * n, len(config.vocabulary) - 1)
    target_from = (2 * n - 1 - position if config.again == "reverse" else position - n).clamp(0, longest - 1)
    return Rows(ids, digits.gather(1, target_from), (position >= n) & (position < 2 * n))


def evaluate(config: DelayedCopyConfig, model: torch.nn.Module, replicas: int, whole: bool) -> dict[str, torch.Tensor]:
    """Return the share of rows with all digits correct over the trained lengths and, if `whole`, by length.

    For a causal model one forward pass gives the result of greedy decoding: as long as all generated digits are
    correct, they equal the digits of the row.
    """
    lengths = evaluation_lengths(config) if whole else tuple(range(config.shortest, config.longest + 1))
    rows = evaluation_rows(config, lengths, FINAL_ROWS_PER_LENGTH if whole else INTERIM_ROWS_PER_LENGTH)
    correct, losses = score(model, rows, replicas)
    exact = (correct | ~rows.mask).all(dim=-1).float().view(replicas, len(lengths), -1).mean(dim=-1)
    trained = torch.tensor([config.shortest <= n <= config.longest for n in lengths])
    trained_mask = rows.mask & trained.repeat_interleave(len(rows.ids) // len(lengths))[:, None]
    return {
        "exact": exact[:, trained].mean(dim=-1),
        "loss": masked_mean(losses, trained_mask),
        "by_length": exact if whole else torch.full((replicas, len(evaluation_lengths(config))), math.nan),
    }
