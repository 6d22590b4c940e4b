"""Digits and their echo as tensors, and how much of them a model says right."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Generator, Tensor, nn

from explorer.seeds import generator
from explorer.tasks.echo import EchoConfig, asked_lengths
from explorer.tasks.labelled import Rows, marked, mean_over

PER_LENGTH, FEW = 100, 16  # rows of each length at the end, and on the way


def batch(config: EchoConfig, seed: int, order: int, step: int, size: int) -> Rows:
    """What one replica reads in one step: fresh digits, every length about as often as any other."""
    drawn = generator(seed, f"echo/{order}/{step}")
    share = (torch.arange(size) + torch.rand((), generator=drawn)) / size  # systematic sampling, with one number drawn
    lengths = config.shortest + (share * (config.longest - config.shortest + 1)).long()
    return rows_of(config, lengths.clamp_max(config.longest).tolist(), drawn)


def fresh(config: EchoConfig, lengths: Sequence[int], count: int, seed: int = 0) -> Rows:
    """So many rows of each length, one length after the other, the same for every model that is asked."""
    return rows_of(config, [n for n in lengths for _ in range(count)], generator(seed, "echo/asked"))


def rows_of(config: EchoConfig, lengths: Sequence[int], drawn: Generator) -> Rows:
    """Rows of random digits, of these lengths."""
    longest = max(lengths)
    digits = torch.randint(config.symbols, (len(lengths), longest), generator=drawn)
    # The token at place t of a row of n digits: digit t, the separator at n, then the first n - 1 digits of the echo.
    place, n = torch.arange(2 * longest), torch.tensor(lengths)[:, None]
    echoed = (2 * n - place if config.again == "reverse" else place - n - 1).clamp(0, longest - 1)
    read = torch.where(
        place < n, digits.gather(1, place.clamp_max(longest - 1).expand(len(lengths), -1)), config.symbols
    )
    ids = torch.where((place > n) & (place < 2 * n), digits.gather(1, echoed), read)
    ids = ids.masked_fill(place >= 2 * n, len(config.vocabulary) - 1)
    said = (2 * n - 1 - place if config.again == "reverse" else place - n).clamp(0, longest - 1)
    return Rows(ids, digits.gather(1, said), (place >= n) & (place < 2 * n))


def examine(config: EchoConfig, model: nn.Module, replicas: int, whole: bool) -> dict[str, Tensor]:
    """The share of rows whose every digit is said, over the trained lengths and, at the end, by length.

    One forward tells what greedy decoding would write, if the model looks back only: as long as all that it wrote is
    right, it reads what the row gives.
    """
    lengths = asked_lengths(config) if whole else tuple(range(config.shortest, config.longest + 1))
    rows = fresh(config, lengths, PER_LENGTH if whole else FEW)
    right, surprise = marked(model, rows, replicas)
    exact = (right | ~rows.counted).all(dim=-1).float().view(replicas, len(lengths), -1).mean(dim=-1)
    trained = torch.tensor([config.shortest <= n <= config.longest for n in lengths])
    known = rows.counted & trained.repeat_interleave(len(rows.ids) // len(lengths))[:, None]
    return {
        "exact": exact[:, trained].mean(dim=-1),
        "loss": mean_over(surprise, known),
        "by_length": exact if whole else torch.full((replicas, len(asked_lengths(config))), math.nan),
    }
