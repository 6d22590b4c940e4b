"""Rows of a tale as tensors, and what a model makes of them."""

from __future__ import annotations

import random
from functools import lru_cache

import torch
from jaxtyping import Int
from torch import Tensor, nn

from explorer.seeds import generator
from explorer.tasks.labelled import Rows, everywhere, leaks
from explorer.tasks.tale import LETTERS, TaleConfig, sentence

TOLD = 10_000  # sentences of a tale
ASKED = 48  # fresh rows


@lru_cache(maxsize=32)
def tale(name: str) -> Int[Tensor, " letters"]:
    """The ids of all letters of one tale; another name, another tale."""
    draw = random.Random(f"tale/{name}")
    ids = {letter: i for i, letter in enumerate(LETTERS)}
    return torch.tensor([ids[letter] for _ in range(TOLD) for letter in sentence(draw)])


def batch(config: TaleConfig, seed: int, order: int, step: int, size: int) -> Rows:
    """What one replica reads in one step, out of the tale of its seed."""
    return _rows(config, tale(f"told/{seed}"), size, generator(seed, f"tale/{order}/{step}"))


def fresh(config: TaleConfig, count: int, seed: int = 0) -> Rows:
    """Rows of a tale that no training reads, the same for every model that is asked."""
    return _rows(config, tale("asked"), count, generator(seed, "tale/asked"))


def _rows(config: TaleConfig, letters: Int[Tensor, " letters"], count: int, drawn: torch.Generator) -> Rows:
    begins = torch.randint(len(letters) - config.length, (count, 1), generator=drawn)
    rows = letters[begins + torch.arange(config.length + 1)]
    return everywhere(rows[:, :-1], rows[:, 1:])


def examine(config: TaleConfig, model: nn.Module, replicas: int, whole: bool) -> dict[str, Tensor]:
    """The loss when a row is read at once, as in training, and when it is read as in generation."""
    return leaks(model, fresh(config, ASKED), replicas)
