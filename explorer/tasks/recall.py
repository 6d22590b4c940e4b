"""The recall task: predict the first symbol of a sequence of random symbols after its end.

The other symbols carry no information about the first, so a model has to remember it. By default every batch is drawn
at random: of 50 symbols hardly any sequence occurs twice, while there are only 1,024 of ten.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from explorer.array_types import Int
from explorer.lazy_libraries import torch
from explorer.models.settings import setting
from explorer.seeds import generator

VERSION = 1


@dataclass(frozen=True)
class RecallConfig:
    """Sequence length, number of symbols, and whether training reuses a fixed set of sequences."""

    length: int = setting(50, "Symbols in a sequence (T).", 1, 1_000_000, label="Length of a sequence")
    symbols: int = setting(
        2, "Different symbols; a blind guess is right once in so many.", 2, 26, label="Different symbols"
    )
    sequences: int = setting(
        0, "Sequences shown again and again; 0: fresh ones at every step.", 0, 100_000, label="Training sequences"
    )


MAX_EVALUATED_LENGTH = 1_000


def evaluation_lengths(length: int) -> tuple[int, ...]:
    """Return the lengths of the final evaluation, in ascending order.

    They are the trained length and its neighbours, simple fractions and multiples of it, and lengths from 1 to 1,000
    on a logarithmic scale.
    """
    neighbours = {each for each in range(length - 3, length + 4) if each >= 1}
    logarithmic = {round(10 ** (i / 8)) for i in range(25)}
    multiples = {length * times for times in (2, 4, 10) if length * times <= MAX_EVALUATED_LENGTH}
    return tuple(sorted(neighbours | logarithmic | {length // 5 or 1, length // 2 or 1, *multiples}))


def orderless_accuracy(length: int) -> float:
    """Return the best accuracy of a model that knows how often each of two symbols occurs but not where: it names the
    more frequent one, which is right with probability 1/2 + C(T - 1, (T - 1) // 2) / 2^T.
    """
    above, half = length - 1, (length - 1) // 2
    logarithm = math.lgamma(above + 1) - math.lgamma(half + 1) - math.lgamma(above - half + 1) - length * math.log(2)
    return 0.5 + math.exp(logarithm)


def fixed_sequences(config: RecallConfig, seed: int) -> Int[torch.Tensor, "sequences time"]:
    """Return the fixed training sequences of a run with `sequences` > 0."""
    rng = generator(seed, f"recall/own/{config.length}")
    return torch.randint(config.symbols, (config.sequences, config.length), generator=rng)


def batch(config: RecallConfig, seed: int, order: int, step: int, size: int) -> Int[torch.Tensor, "batch time"]:
    """Return the batch of one replica and step: new sequences, or a sample of the fixed ones (at most all)."""
    rng = generator(seed, f"recall/{order}/{step}")
    if not config.sequences:
        return torch.randint(config.symbols, (size, config.length), generator=rng)
    fixed = fixed_sequences(config, seed)
    return fixed if size >= config.sequences else fixed[torch.randperm(config.sequences, generator=rng)[:size]]


def evaluation_sequences(config: RecallConfig, length: int, count: int) -> Int[torch.Tensor, "count time"]:
    """Return sequences for evaluation, drawn independently of training and equal for all models."""
    rng = generator(0, f"recall/asked/{length}")
    return torch.randint(config.symbols, (count, length), generator=rng)
