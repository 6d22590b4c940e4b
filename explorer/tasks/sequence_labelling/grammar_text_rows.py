"""Rows of grammar text as tensors, and the losses of a model on them."""

from __future__ import annotations

import random
from functools import lru_cache

import torch
from jaxtyping import Int
from torch import Tensor, nn

from explorer.seeds import generator
from explorer.tasks.sequence_labelling.grammar_text import LETTERS, GrammarTextConfig, draw_sentence
from explorer.tasks.sequence_labelling.rows import Rows, prefix_losses, unmasked_rows

SENTENCES_PER_TEXT = 10_000
EVALUATION_ROWS = 48


@lru_cache(maxsize=32)
def generate_text(name: str) -> Int[Tensor, " letters"]:
    """Return the letter ids of a random text, which is determined by its name."""
    rng = random.Random(f"tale/{name}")
    ids = {letter: i for i, letter in enumerate(LETTERS)}
    return torch.tensor([ids[letter] for _ in range(SENTENCES_PER_TEXT) for letter in draw_sentence(rng)])


def batch(config: GrammarTextConfig, seed: int, order: int, step: int, size: int) -> Rows:
    """Return the training batch of one replica and step, cut from the text of its seed.

    `order` is the seed of the batches, `step` is counted from 0, `size` is the number of rows.
    """
    return _draw_rows(config, generate_text(f"told/{seed}"), size, generator(seed, f"tale/{order}/{step}"))


def evaluation_rows(config: GrammarTextConfig, count: int, seed: int = 0) -> Rows:
    """Return rows of a text that is not used for training, equal for all models."""
    return _draw_rows(config, generate_text("asked"), count, generator(seed, "tale/asked"))


def _draw_rows(config: GrammarTextConfig, letters: Int[Tensor, " letters"], count: int, rng: torch.Generator) -> Rows:
    starts = torch.randint(len(letters) - config.length, (count, 1), generator=rng)
    rows = letters[starts + torch.arange(config.length + 1)]
    return unmasked_rows(rows[:, :-1], rows[:, 1:])


def evaluate(config: GrammarTextConfig, model: nn.Module, replicas: int, whole: bool) -> dict[str, Tensor]:
    """Return the loss of whole rows, as in training, and of their prefixes, as in generation."""
    return prefix_losses(model, evaluation_rows(config, EVALUATION_ROWS), replicas)
