"""Recall of the first symbol of a sequence, for an exported file."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from explorer.export.templates.common import batches, describe, ids_of, stored

OPTIONS: dict[str, float] = {}


def losses(model: nn.Module) -> Iterator[Tensor]:
    """Yield the mean loss of each batch in nats per sequence: the first symbol has to be recalled."""
    for batch in batches():
        yield F.cross_entropy(model(batch["ids"]), batch["ids"][:, 0])


def predict(models: list[nn.Module], given: argparse.Namespace) -> str:
    """Return the probability of each symbol to be the first one of a sequence, as the mean over the seeds."""
    symbols: list[str] = stored()[1]["symbols"]
    ids = torch.tensor([ids_of("".join(given.text.lower().split()), symbols)])
    return describe(symbols, torch.stack([model(ids).softmax(-1)[0] for model in models]).mean(0))
