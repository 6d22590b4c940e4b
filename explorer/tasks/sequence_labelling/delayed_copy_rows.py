"""Rows of the delayed-copy task as tensors, and the exact match of a model."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Generator, Tensor, nn

from explorer.seeds import generator
from explorer.tasks.sequence_labelling.delayed_copy import DelayedCopyConfig, evaluation_lengths
from explorer.tasks.sequence_labelling.rows import Rows, masked_mean, score

FINAL_ROWS_PER_LENGTH, INTERIM_ROWS_PER_LENGTH = 100, 16  # in the last and in earlier evaluations


def batch(config: DelayedCopyConfig, seed: int, order: int, step: int, size: int) -> Rows:
    """Return the training batch of one replica and step: new digits, all lengths about equally often.

    `order` is the seed of the batches, `step` is counted from 0, `size` is the number of rows.
    """
    rng = generator(seed, f"echo/{order}/{step}")
    share = (torch.arange(size) + torch.rand((), generator=rng)) / size  # systematic sampling with one random number
    lengths = config.shortest + (share * (config.longest - config.shortest + 1)).long()
    return draw_rows(config, lengths.clamp_max(config.longest).tolist(), rng)


def evaluation_rows(config: DelayedCopyConfig, lengths: Sequence[int], count: int, seed: int = 0) -> Rows:
    """Return `count` rows of each length in the order of the lengths, equal for all models."""
    return draw_rows(config, [n for n in lengths for _ in range(count)], generator(seed, "echo/asked"))


def draw_rows(config: DelayedCopyConfig, lengths: Sequence[int], rng: Generator) -> Rows:
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


def evaluate(config: DelayedCopyConfig, model: nn.Module, replicas: int, whole: bool) -> dict[str, Tensor]:
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
