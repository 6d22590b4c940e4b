"""Rows of noise as tensors, and what a model makes of them."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from explorer.seeds import generator
from explorer.tasks.labelled import Rows, asked, everywhere, losses
from explorer.tasks.noise import NoiseConfig

ASKED = 256  # fresh rows


def batch(config: NoiseConfig, seed: int, order: int, step: int, size: int) -> Rows:
    """What one replica reads in one step: fresh symbols, never the same again."""
    drawn = torch.randint(config.symbols, (size, config.length + 1), generator=generator(seed, f"noise/{order}/{step}"))
    return everywhere(drawn[:, :-1], drawn[:, 1:])


def fresh(config: NoiseConfig, count: int, seed: int = 0) -> Rows:
    """Rows that no training draws, the same for every model that is asked."""
    drawn = torch.randint(config.symbols, (count, config.length + 1), generator=generator(seed, "noise/asked"))
    return everywhere(drawn[:, :-1], drawn[:, 1:])


def examine(config: NoiseConfig, model: nn.Module, replicas: int, whole: bool) -> dict[str, Tensor]:
    """The loss when a row is read at once, as in training, and when it is read as in generation: every symbol is
    asked of its prefix alone, whose last place answers. Of a model that looks back only, they are the same."""
    rows = fresh(config, ASKED)
    at_once = losses(asked(model, rows.ids, replicas), rows.wanted.expand(replicas, *rows.wanted.shape))
    by_place, of_prefix = at_once.mean(dim=-2), _of_prefixes(model, rows, replicas)
    return {
        "loss": by_place.mean(dim=-1),
        "prefix_loss": of_prefix.mean(dim=-1),
        "by_place": by_place,
        "prefix_by_place": of_prefix,
    }


def _of_prefixes(model: nn.Module, rows: Rows, replicas: int) -> Float[Tensor, "replicas time"]:
    found = []
    for length in range(1, rows.ids.shape[-1] + 1):
        last = asked(model, rows.ids[:, :length], replicas)[..., -1:, :]
        wanted = rows.wanted[:, length - 1 : length]
        found.append(losses(last, wanted.expand(replicas, *wanted.shape)).mean(dim=-2))
    return torch.cat(found, dim=-1)
