"""Word vectors, for an exported file."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from explorer.export.templates.common import batches, ids_of, stored
from explorer.models.word_vectors import negative_sampling_loss

OPTIONS: dict[str, float] = {}


def losses(model: nn.Module) -> Iterator[Tensor]:
    """Yield the mean loss of each batch in nats per row: a true neighbour is told from noise words."""
    for batch in batches():
        yield negative_sampling_loss(model(batch["inputs"], batch["present"].float(), batch["words"]))


def predict(models: list[Any], given: argparse.Namespace) -> str:
    """Return the words with the highest cosine similarity to a word, as the mean over the seeds."""
    words: list[str] = stored()[1]["words"]
    (word,) = ids_of([given.text], words)
    vectors = [F.normalize(model.embedding.weight, dim=-1) for model in models]
    cosines = torch.stack([unit @ unit[word] for unit in vectors]).mean(0)
    cosines[[0, word]] = -2  # row 0 stands for no word
    return "\n".join(f"{cosines[i]:.4f}  {words[i]}" for i in cosines.argsort(descending=True)[:6].tolist())
