"""The random-symbols task (`noise` in stored runs): predict the next of independent random symbols.

Nothing can be learned: a uniform prediction has a loss of ln(symbols) nats, and no causal model has a lower one. A
lower loss shows that the model sees later symbols.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from explorer.lazy_libraries import torch
from explorer.models.settings import setting
from explorer.seeds import generator
from explorer.tasks.sequence_labelling.config import PAD, NextTokenConfig
from explorer.tasks.sequence_labelling.rows import Rows, prefix_losses, unmasked_rows

VERSION = 1
LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class RandomSymbolsConfig(NextTokenConfig):
    """The number of different symbols, and the length of a row."""

    symbols: int = setting(19, "Different symbols; each is as likely as any other.", 2, 26, label="Different symbols")
    length: int = setting(12, "Symbols of a row that are asked for.", 2, 64, label="Length of a row")

    @property
    def vocabulary(self) -> tuple[str, ...]:
        return (*LETTERS[: self.symbols], PAD)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(LETTERS[: self.symbols])

    @property
    def loss_floor(self) -> float:
        """The lowest possible loss of a causal model, in nats."""
        return math.log(self.symbols)


EVALUATION_ROWS = 256


def batch(config: RandomSymbolsConfig, seed: int, order: int, step: int, size: int) -> Rows:
    """Return the training batch of one replica and step: new symbols."""
    return _draw_rows(config, size, generator(seed, f"noise/{order}/{step}"))


def evaluation_rows(config: RandomSymbolsConfig, count: int, seed: int = 0) -> Rows:
    """Return rows for evaluation, drawn independently of training and equal for all models."""
    return _draw_rows(config, count, generator(seed, "noise/asked"))


def _draw_rows(config: RandomSymbolsConfig, size: int, rng: torch.Generator) -> Rows:
    symbols = torch.randint(config.symbols, (size, config.length + 1), generator=rng)
    return unmasked_rows(symbols[:, :-1], symbols[:, 1:])


def evaluate(
    config: RandomSymbolsConfig, model: torch.nn.Module, replicas: int, whole: bool
) -> dict[str, torch.Tensor]:
    """Return the loss of whole rows, as in training, and of their prefixes, as in generation."""
    return prefix_losses(model, evaluation_rows(config, EVALUATION_ROWS), replicas)
